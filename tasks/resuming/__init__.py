"""What a run that died has finished, and what the next one need not do again."""

"""What joins of fragments on the class attribute hold, and which of them violate the guarantee."""

"""The flows: each reads like the paper's numbered steps."""

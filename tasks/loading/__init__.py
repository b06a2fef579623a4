"""What a table is like: its kinds of columns, their faults, their roles."""

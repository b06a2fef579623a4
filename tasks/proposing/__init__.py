"""A first configuration for a table, from counts of what its columns hold."""

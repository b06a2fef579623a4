"""How much columns tell of each other, from the counts of their joint values."""

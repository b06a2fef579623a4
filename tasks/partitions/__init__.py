"""How records become equivalence classes that satisfy what is required, and what these release."""

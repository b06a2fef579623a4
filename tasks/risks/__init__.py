"""How surely records of a release can be picked out, and what they give away."""

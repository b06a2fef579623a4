"""The strategy that makes joins safe by merging equivalence classes."""

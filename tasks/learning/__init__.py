"""What classifiers learn from equivalence classes."""

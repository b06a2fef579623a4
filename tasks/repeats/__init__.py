"""What the versions of a release tell together."""

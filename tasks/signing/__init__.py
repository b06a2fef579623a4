"""How a release is signed: the key, where it is kept, and what it signs."""

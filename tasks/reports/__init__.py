"""What people read of a release: words, pictures, and the manifest."""

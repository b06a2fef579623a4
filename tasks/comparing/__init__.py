"""Releases side by side, and which one to take."""

"""Releases of some of the records, tested with the others."""

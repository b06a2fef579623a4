"""Attacks on a release that use the published files only."""

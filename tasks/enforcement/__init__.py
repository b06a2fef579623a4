"""Strategies that make joins safe by changing class values."""

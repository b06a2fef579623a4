"""Where a table is not like an earlier release of it."""

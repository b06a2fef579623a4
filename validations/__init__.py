"""The gate: evidence recomputed from the written files, one suite per promise."""

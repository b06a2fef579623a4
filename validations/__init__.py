"""The gate: evidence recomputed from the written files, one suite per promise."""

import os

os.environ.setdefault("GX_ANALYTICS_ENABLED", "false")  # read once, when Great Expectations is imported

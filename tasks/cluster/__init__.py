"""Mapped steps on a Dask cluster: workers read and write files on shared storage, and are told paths only."""

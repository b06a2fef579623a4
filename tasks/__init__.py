"""One module per step: the pure computation first, the thin task last."""

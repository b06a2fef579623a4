"""Tables larger than memory: cut by Mondrian's first cuts out of core, then piece by piece in memory."""

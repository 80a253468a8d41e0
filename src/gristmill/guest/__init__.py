"""Inside the jail: stdlib only, imports nothing of ours, shipped as source, never imported by the host."""

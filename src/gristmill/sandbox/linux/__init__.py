"""The Linux backend: one file per kernel idea. Stdlib only, since half of it runs inside the jail."""

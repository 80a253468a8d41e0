"""The Linux backend: one file per kernel feature. Standard library only, since half of it runs inside the jail."""

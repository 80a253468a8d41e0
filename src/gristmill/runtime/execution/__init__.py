"""The story of one execution."""

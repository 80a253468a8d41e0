"""One file per group of HTTP routes."""

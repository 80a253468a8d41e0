"""Room 2: what tools exist."""

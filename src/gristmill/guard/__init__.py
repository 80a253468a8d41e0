"""Room 3: what is allowed."""

"""Room 5: what outlives one execution."""

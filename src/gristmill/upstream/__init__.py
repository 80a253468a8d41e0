"""Room 1: talk to tool servers."""

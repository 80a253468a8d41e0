"""Room 6: make it short."""

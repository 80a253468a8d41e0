"""Room 4: run code where it can hurt nobody."""

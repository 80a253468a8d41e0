"""OAuth logins, and the stores for their tokens."""

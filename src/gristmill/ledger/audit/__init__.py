"""The audit: a signed hash chain of records about everything that happened."""

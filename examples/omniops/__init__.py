"""Omniops: the back office of a shop. Three servers: product search, commerce, analytics."""

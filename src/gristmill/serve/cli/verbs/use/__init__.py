"""Verbs that find tools and run code, and measure both."""

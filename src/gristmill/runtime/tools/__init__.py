"""The tools that servers offer now: library, discovery, search."""

"""One script per peer, each run in that peer's own environment; what they share is standard library only."""

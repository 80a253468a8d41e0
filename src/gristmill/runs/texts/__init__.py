"""What a model reads: outcomes, plans, and tools in the formats of providers."""

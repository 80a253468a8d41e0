"""The loop in which a model writes programs: what every door with a model in front of it shares."""

"""Room 6, shaping: makes reports short enough for a model."""

"""The configuration: `tree` checks and holds all values, `sources` reads files and environment, `sections` defines the keys."""

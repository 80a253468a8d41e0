"""JSON Schema as types: reading schemas, checking values against them, explaining what does not fit."""

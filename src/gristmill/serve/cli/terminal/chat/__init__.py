"""A conversation with a model, as a person at a terminal sees it."""

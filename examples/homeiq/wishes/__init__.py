"""Wishes about a house in plain words become automations: by a program that a model writes, or by the model alone."""

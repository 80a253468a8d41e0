"""Sandboxes: what the machine offers, the packages in them, and how they are opened."""

"""Replaces personal data and secrets by placeholders, and restores the values where the policy allows it."""

"""Result types that are learned from real results."""

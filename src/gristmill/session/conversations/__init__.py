"""Conversations with a model: their messages, what each turn cost, and which process works on them."""

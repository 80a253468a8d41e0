"""The story of one tool call: the broker and all layers."""

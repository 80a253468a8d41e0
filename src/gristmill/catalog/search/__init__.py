"""The search over tools: index, rankers and the text of an answer."""

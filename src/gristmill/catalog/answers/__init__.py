"""The text of a search's answer: signatures, result types, duplicates, what is needed before."""

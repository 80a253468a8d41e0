"""The numbers that ranking goes by: the same whether arrays do the sums (`fuse`, `rank_dense`) or plain Python does (`plain`)."""

MEANING_WEIGHT = (1.2, 2.2)
"""How much meaning counts against words when the words are sure of a tool, and when they are not."""
SURE_FROM = (6.0, 12.0)
"""By how many standard deviations the best lexical match stands out: unsure below the first, sure above the second."""
FLAT = 1e-6
"""Scores that spread less than this are no opinion."""
DECIMALS = 4
"""Scores are rounded to these: sums of the same numbers in another order may differ in the last bit, and ties must be ties."""
TOOL_STEPS, QUERY_STEPS = 1 << 12, 1 << 11
"""Steps of a vector's numbers. Products have 2**23 steps and vectors length one, so sums stay below the 2**24 of a float32."""
LARGE = 10_000
"""From this many tools on, all are compared in the leading dimensions and only the best of them in all dimensions."""
MAX_QUERY_CHARS = 4_000
"""A longer question is read this far."""

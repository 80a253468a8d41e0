"""Offers what a search finds, and the first sentence of a description as searches show it."""

from gristmill.catalog.answers.first_sentences import take_first_sentence
from gristmill.catalog.search.search_hits import DetailLevel, SearchHit

__all__ = ["DetailLevel", "SearchHit", "take_first_sentence"]

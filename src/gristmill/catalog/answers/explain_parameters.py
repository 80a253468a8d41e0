"""Explains parameters: one line for each whose description says more than what stands beside it."""

from collections.abc import Collection

from gristmill.catalog.answers.first_sentences import cut_text, split_sentences, take_first_sentence
from gristmill.catalog.search.search_terms import split_words, stem_word
from gristmill.catalog.types.loose_schema import read_parameter_descriptions, read_parameter_schemas
from gristmill.model import Tool

_CHARS = 100
_NAME_CHARS = 80
_FILLERS = frozenset(
    stem_word(word)
    for word in (
        "a an the this that these those of to for from in on at by with as into is are be been will can should must which whose "
        "it its and or if name named value set specified specify given provide provided used use using parameter argument field "
        "true false otherwise whether"
    ).split()
)
"""Words that say nothing about a parameter that its name and type do not say."""


def explain_parameters(tool: Tool, names: Collection[str], *, said: str | None) -> list[str]:
    """Returns one line per parameter; ``said`` is what the answer says about the tool above them. None: explain all."""
    known = None if said is None else _stem_words(f"{tool.name} {said} {' '.join(read_parameter_schemas(tool))}")
    found = ((name, text) for name, text in read_parameter_descriptions(tool).items() if name in names)
    written = ((name, _choose_sentence(text, known)) for name, text in found)
    return [f"{take_first_sentence(name, _NAME_CHARS)}: {sentence}" for name, sentence in written if sentence]


def _choose_sentence(text: str, known: Collection[str] | None) -> str:
    """Returns the first sentence with a word that is not ``known``; empty if there is none."""
    if known is None:
        return take_first_sentence(text, _CHARS)
    told = {*known, *_FILLERS}
    return next((cut_text(each, _CHARS) for each in split_sentences(text) if not _stem_words(each) <= told), "")


def _stem_words(text: str) -> frozenset[str]:
    return frozenset(map(stem_word, split_words(text)))

"""Reads a question: its clauses, each of which may ask for a tool of its own, and the class of verb that a text begins with."""

import re
from functools import lru_cache

from gristmill.catalog.search.search_terms import STOP_WORDS, extract_terms, split_words, stem_word
from gristmill.model import Tool

MAX_CLAUSES = 8
MIN_CLAUSE_TERMS = 2
_VERB_WORDS = 6  # a verb that comes later is rarely the one that is asked for
_HUMP = re.compile(r"(?<=[a-z])(?=[A-Z])")
_BREAK = re.compile(
    r"[.!?;\n]+\s|[,:]\s|[\u3002\uff01\uff1f\uff1b\uff0c\u3001]|\s(?:and then|and|then|also|but|so that|as well as|plus)\s",
    re.IGNORECASE,
)
_CLASSES = {
    "read": "list get show find read fetch search look lookup retrieve view query browse display see check describe inspect "
    "obtain return load open provide discover locate what which who where when how tell give",
    "create": "create add new make insert register generate build compose write post draft set",
    "update": "update edit modify change rename adjust replace patch alter revise",
    "delete": "delete remove erase drop clear cancel destroy discard purge unset",
    "send": "send email message notify share forward reply submit publish",
    "run": "run execute start launch trigger invoke play turn",
    "stop": "stop halt pause end terminate kill disable off",
    "compute": "calculate compute convert count sum estimate solve evaluate measure",
    "move": "move transfer copy migrate upload download export import sync",
    "book": "book reserve schedule order buy purchase pay",
}
VERB_CLASSES = {verb: name for name, verbs in reversed(_CLASSES.items()) for verb in verbs.split()}
"""The class of each verb; verbs of one class stand for each other: a question that says *list* means ``get_expenses`` too."""

_SYNONYMS = (
    "list get show read fetch retrieve view display",
    "search find lookup browse",
    "create add new make insert",
    "update edit modify change",
    "delete remove erase",
)
SYNONYM_GROUPS = {verb: number for number, verbs in enumerate(_SYNONYMS, 1) for verb in verbs.split()}
"""Verbs that are taken for the same word, by group; only verbs that are hardly ever nouns in the name of a tool."""


@lru_cache(maxsize=65_536)
def read_key_words(text: str) -> frozenset[str]:
    """Returns what a short text names: the stems of its words, with one word for all verbs that mean the same."""
    words = (word for word in split_words(_HUMP.sub(" ", text[:200])) if word not in STOP_WORDS)
    return frozenset(f"verb {SYNONYM_GROUPS[word]}" if word in SYNONYM_GROUPS else stem_word(word) for word in words)


def split_clauses(question: str) -> list[str]:
    """Returns the clauses of a question that has several; empty if it has one."""
    parts = [part.strip() for part in _BREAK.split(question)]
    clauses = [part for part in parts if len(extract_terms(part)) >= MIN_CLAUSE_TERMS]
    return clauses[:MAX_CLAUSES] if len(clauses) > 1 else []


@lru_cache(maxsize=65_536)
def find_verb_class(text: str) -> str | None:
    """Returns the class of the first verb near the beginning of ``text``; None if there is none."""
    words = split_words(text[:200])[:_VERB_WORDS]
    return next((VERB_CLASSES[word] for word in words if word in VERB_CLASSES), None)


def read_verb_class(tool: Tool) -> str | None:
    """Returns the class of the verb in the tool's name; without one, what its annotations say about reading and deleting."""
    found = find_verb_class(tool.name)
    if found is not None:
        return found
    if tool.annotations.get("destructiveHint") is True and tool.annotations.get("readOnlyHint") is not True:
        return "delete"
    return "read" if tool.annotations.get("readOnlyHint") is True else None

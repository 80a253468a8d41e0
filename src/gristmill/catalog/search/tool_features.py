"""Compares a question with a few candidates in ways that are too dear for every tool: word by word, by verb, by phrase.

Vectors are kept as eight-bit numbers with one scale each. Sums of their products are exact, so equal tools get equal numbers.
"""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import chain
from typing import Any, Self

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from gristmill.catalog.search.question_parts import (
    SYNONYM_GROUPS,
    find_verb_class,
    read_key_words,
    read_verb_class,
    split_clauses,
)
from gristmill.catalog.search.rankers.rank_lexical import LexicalRanker, list_search_fields
from gristmill.catalog.search.rankers.word_vectors import load_shipped_vectors
from gristmill.catalog.search.search_terms import STOP_WORDS, split_words
from gristmill.model import Tool

MAX_TOOL_WORDS = 60
VERB_SHARE = 0.5
"""How much of its weight a verb such as *list* keeps: what is listed says more."""
MAX_QUESTION_WORDS = 48
FIRST_CHARS = 300
LONGEST_NAMING = 60
"""Letters of a clause that may be nothing but the name of a tool."""
LETTER_SHARE = 0.6
"""What a name gains whose words are said letter by letter: *expenses* asks for ``get_expenses``, not for ``get_expense``."""
QUERY_STEPS = 1 << 11
_STEPS = 127
_BATCH_SIZE = 2_000

Floats = NDArray[np.float32]
Ints = NDArray[np.int32]


class ToolFeatures(Struct, frozen=True, kw_only=True):
    """The vectors of all words of all tools, which words each tool has, and the vector of its first sentence."""

    words: Mapping[str, int]
    vectors: NDArray[np.int8]
    scales: Floats
    idf: Floats
    groups: NDArray[np.int8]
    """For each word the number of its group of synonymous verbs, or 0."""
    starts: NDArray[np.int64]
    """Where the words of each tool begin in ``members``; those of its name come first."""
    named: Ints
    """How many of the words of each tool are words of its name."""
    members: Ints
    first: NDArray[np.int8]
    first_scales: Floats

    @classmethod
    def build(cls, tools: Sequence[Tool], lexical: LexicalRanker) -> Self:
        """Reads the words of every tool."""
        known: dict[str, int] = {}
        lists: list[list[int]] = []
        named: list[int] = []
        for tool in tools:
            _, name, description, parameters, _ = list_search_fields(tool)
            own = [known.setdefault(word, len(known)) for word in list_content_words(name)] or [known.setdefault("", len(known))]
            rest = (known.setdefault(word, len(known)) for word in list_content_words(f"{description} {parameters}"))
            lists.append(list(dict.fromkeys([*own, *rest])))
            named.append(len(own))
        vectors, scales = _embed_compactly(list(known))
        first, first_scales = _embed_compactly([_take_beginning(tool.description) for tool in tools])
        return cls(
            words=known,
            vectors=vectors,
            scales=scales,
            idf=np.array(
                [lexical.weigh_word(word) * (VERB_SHARE if word in SYNONYM_GROUPS else 1) for word in known], np.float32
            ),
            groups=np.array([SYNONYM_GROUPS.get(word, 0) for word in known], np.int8),
            starts=np.concatenate(([0], np.cumsum([len(each) for each in lists]))).astype(np.int64),
            named=np.array(named, np.int32),
            members=np.fromiter(chain.from_iterable(lists), np.int32),
            first=first,
            first_scales=first_scales,
        )

    def compare(self, query: str, tools: Sequence[Tool], places: NDArray[np.int64], lexical: LexicalRanker) -> dict[str, Floats]:
        """Returns the features of the tools at ``places``, by name."""
        clauses = split_clauses(query) or [query]
        asked = list_content_words(query)[:MAX_QUESTION_WORDS]
        found = self._match_words(asked, places, lexical)
        beginnings = self.first[places].astype(np.float32) @ _embed_question(clauses).T
        found["first sentence"] = beginnings.max(axis=1) * self.first_scales[places]
        verbs = {verb for clause in clauses if (verb := find_verb_class(clause))}
        said = f" {' '.join(split_words(query))} "
        chosen: list[Tool] = [tools[int(place)] for place in places]
        found["verb"] = np.array([_compare_verbs(verbs, read_verb_class(tool)) for tool in chosen], np.float32)
        found["named"] = np.array([_measure_naming(clauses, tool) for tool in chosen], np.float32)
        found["words said"] = lexical.read_coverage(query)[places].astype(np.float32)
        found["phrase"] = np.array([_is_said(tool.name, said) for tool in chosen], np.float32)
        return found

    def _match_words(self, asked: Sequence[str], places: NDArray[np.int64], lexical: LexicalRanker) -> dict[str, Floats]:
        """Matches each word of the question with the nearest word of each tool, and each word of a name with the question."""
        if not asked:
            return {name: np.zeros(len(places), np.float32) for name in ("near words", "name said")}
        lengths = self.starts[places + 1] - self.starts[places]
        begins = np.concatenate(([0], np.cumsum(lengths)[:-1]))
        inside = np.arange(int(lengths.sum())) - np.repeat(begins, lengths)
        members = self.members[np.repeat(self.starts[places], lengths) + inside]
        used, where = np.unique(members, return_inverse=True)
        near = (self.vectors[used].astype(np.float32) @ _embed_question(asked).T) * self.scales[used, None]
        groups = np.array([SYNONYM_GROUPS.get(word, 0) for word in asked], np.int8)
        near[(self.groups[used][:, None] == groups) & (groups > 0)] = 1
        near = np.square(np.maximum(near, 0))[where]
        weights = np.array([lexical.weigh_word(word) for word in asked], np.float32) * np.where(groups > 0, VERB_SHARE, 1).astype(
            np.float32
        )
        best = np.maximum.reduceat(near, begins, axis=0)
        of_name = inside < np.repeat(self.named[places], lengths)
        idf = np.where(of_name, self.idf[members], np.float32(0))
        return {
            "near words": (best @ weights / weights.sum()).astype(np.float32),
            "name said": (
                np.add.reduceat(near.max(axis=1) * idf, begins) / np.maximum(np.add.reduceat(idf, begins), 1e-6)
            ).astype(np.float32),
        }

    def state(self) -> dict[str, NDArray[Any]]:
        """Returns everything as arrays, for the index file."""
        arrays: dict[str, NDArray[Any]] = {
            name: getattr(self, name)
            for name in ("vectors", "scales", "idf", "groups", "starts", "named", "members", "first", "first_scales")
        }
        return {"words": np.frombuffer("\n".join(self.words).encode(), np.uint8), **arrays}

    @classmethod
    def restore(cls, state: Mapping[str, NDArray[Any]]) -> Self:
        """Returns the features that had this ``state``. Raises KeyError if a part is missing."""
        words = state["words"].tobytes().decode().split("\n")
        return cls(
            words={word: i for i, word in enumerate(words)},
            vectors=state["vectors"],
            scales=state["scales"],
            idf=state["idf"],
            groups=state["groups"],
            starts=state["starts"],
            named=state["named"],
            members=state["members"],
            first=state["first"],
            first_scales=state["first_scales"],
        )


def list_content_words(text: str) -> list[str]:
    """Returns the first different words of ``text`` that are not stop words."""
    return list(dict.fromkeys(word for word in split_words(text) if word not in STOP_WORDS))[:MAX_TOOL_WORDS]


def _measure_naming(clauses: Sequence[str], tool: Tool) -> float:
    """Returns 1 if a clause says the tool's name and nothing else but that of its server; more if letter by letter."""
    own, server = read_key_words(tool.name), read_key_words(tool.server)
    for clause in clauses:
        asked = read_key_words(clause) if len(clause) <= LONGEST_NAMING else frozenset[str]()
        if asked and (asked == own or asked | server == own | server):
            return 1.0 + LETTER_SHARE * _share(tool, clause)
    return 0.0


def _share(tool: Tool, clause: str) -> float:
    own, said = set(_write_phrase(tool.name).split()), set(split_words(clause))
    return len(own & said) / max(len(own), 1)


def _compare_verbs(asked: set[str], own: str | None) -> float:
    if not asked or own is None:
        return 0.0
    return 1.0 if own in asked else -1.0


@lru_cache(maxsize=65_536)
def _write_phrase(name: str) -> str:
    return " ".join(split_words(name[:100].replace("_", " ").replace("-", " ")))


def _is_said(name: str, said: str) -> bool:
    phrase = _write_phrase(name)
    return len(phrase) > 3 and f" {phrase} " in said


def _take_beginning(text: str) -> str:
    return text.strip()[: FIRST_CHARS * 4].split(". ", 1)[0][:FIRST_CHARS]


def _embed_question(texts: Sequence[str]) -> Floats:
    return np.rint(load_shipped_vectors().embed(texts) * QUERY_STEPS).astype(np.float32)


def _embed_compactly(texts: Sequence[str]) -> tuple[NDArray[np.int8], Floats]:
    """Returns unit vectors as eight-bit numbers, and the factor that turns a product with a question's into a cosine."""
    width = load_shipped_vectors().width
    rows, scales = np.zeros((len(texts), width), np.int8), np.zeros(len(texts), np.float32)
    for start in range(0, len(texts), _BATCH_SIZE):
        exact = load_shipped_vectors().embed(texts[start : start + _BATCH_SIZE])
        largest = np.maximum(np.abs(exact).max(axis=1, initial=0.0), 1e-9)
        rows[start : start + len(exact)] = np.rint(exact / largest[:, None] * _STEPS)
        scales[start : start + len(exact)] = largest / _STEPS / QUERY_STEPS
    return rows, scales

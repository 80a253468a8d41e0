"""Ranks tools by words: BM25F over the five fields of a tool, stored as postings whose weights only need to be added up."""

from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any, Self

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from gristmill.catalog.search.search_terms import extract_terms, stem_word
from gristmill.catalog.types.loose_schema import list_result_fields, read_parameter_descriptions, read_parameter_schemas
from gristmill.model import Tool

WEIGHTS = (1.0, 2.0, 1.0, 1.0, 0.5)
"""The weights of server, name, description, parameter names and parameter descriptions."""
LENGTH_PENALTY = (0.3, 0.3, 0.5, 0.3, 0.5)
SATURATION = 2.0
UNKNOWN_IDF = 5.0
"""How much a word counts that no tool has."""

Floats = NDArray[np.float32]
Ints = NDArray[np.int32]


class LexicalRanker(Struct, frozen=True, kw_only=True):
    """For each term the tools that contain it, and the score that a match adds."""

    size: int
    terms: Mapping[str, int]
    starts: NDArray[np.int64]
    tools: Ints
    worth: Floats
    idf: Floats

    @classmethod
    def build(cls, tools: Sequence[Tool]) -> Self:
        """Reads every field of every tool."""
        known: dict[str, int] = {}
        term, tool, weight = _read_tokens(tools, known)
        count, width = max(len(tools), 1), max(len(known), 1)
        # One key per (term, tool), sorted by term: equal keys form one posting, and their weights add up.
        keys, inverse = np.unique(term * count + tool, return_inverse=True)
        frequency = np.bincount(inverse, weights=weight, minlength=len(keys))
        posting_term = keys // count
        held = np.bincount(posting_term, minlength=width)
        idf = np.log1p((len(tools) - held + 0.5) / (held + 0.5))
        return cls(
            size=len(tools),
            terms=known,
            starts=np.concatenate(([0], np.cumsum(held))).astype(np.int64),
            tools=(keys % count).astype(np.int32),
            worth=(idf[posting_term] * frequency / (SATURATION + frequency)).astype(np.float32),
            idf=idf.astype(np.float32),
        )

    def scores(self, query: str) -> NDArray[np.float64]:
        """Returns one number per tool; zero if no term matches."""
        scores = np.zeros(self.size)
        for term in dict.fromkeys(extract_terms(query)):
            known = self.terms.get(term)
            if known is not None:
                postings = slice(self.starts[known], self.starts[known + 1])
                scores[self.tools[postings]] += self.worth[postings]
        return scores

    def read_coverage(self, query: str) -> NDArray[np.float64]:
        """Returns for each tool the share of the question's words that it has; rare words count more."""
        found, total = np.zeros(self.size), 0.0
        for term in dict.fromkeys(extract_terms(query)):
            known = self.terms.get(term)
            if known is not None:
                found[self.tools[self.starts[known] : self.starts[known + 1]]] += self.idf[known]
            total += float(self.idf[known]) if known is not None else UNKNOWN_IDF
        return found / max(total, 1e-6)

    def weigh_word(self, word: str) -> float:
        """Returns how much a word counts: the rarer, the more."""
        known = self.terms.get(stem_word(word))
        return float(self.idf[known]) if known is not None else UNKNOWN_IDF

    def state(self) -> dict[str, NDArray[Any]]:
        """Returns everything as arrays, for the index file."""
        text = "\n".join(self.terms).encode()
        return {
            "terms": np.frombuffer(text, np.uint8),
            "starts": self.starts,
            "tools": self.tools,
            "worth": self.worth,
            "idf": self.idf,
            "size": np.array(self.size),
        }

    @classmethod
    def restore(cls, state: Mapping[str, NDArray[Any]]) -> Self:
        """Returns the ranker that had this ``state``."""
        text = state["terms"].tobytes().decode()
        return cls(
            size=int(state["size"]),
            terms={term: i for i, term in enumerate(text.split("\n"))} if text else {},
            starts=state["starts"],
            tools=state["tools"],
            worth=state["worth"],
            idf=state["idf"],
        )


def list_search_fields(tool: Tool) -> tuple[str, str, str, str, str]:
    """Returns the texts of a tool in the order of ``WEIGHTS``."""
    return (
        tool.server,
        f"{tool.name} {tool.title or read_annotated_title(tool)}",
        f"{tool.description} {' '.join(list_result_fields(tool))}".rstrip(),
        " ".join(read_parameter_schemas(tool)),
        " ".join(read_parameter_descriptions(tool).values()),
    )


def read_annotated_title(tool: Tool) -> str:
    """Returns the title in the annotations, where older servers put it."""
    title = tool.annotations.get("title")
    return title if isinstance(title, str) else ""


def _read_tokens(
    tools: Sequence[Tool], known: dict[str, int]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
    """Returns term, tool and weight of every word; fills ``known`` with the terms found."""
    read = [
        [[known.setdefault(term, len(known)) for term in extract_terms(text)] for text in list_search_fields(tool)]
        for tool in tools
    ]
    term_parts: list[NDArray[np.int64]] = []
    tool_parts: list[NDArray[np.int64]] = []
    weight_parts: list[NDArray[np.float64]] = []
    for field, (weight, penalty) in enumerate(zip(WEIGHTS, LENGTH_PENALTY, strict=True)):
        lengths = np.array([len(texts[field]) for texts in read], np.int64)
        average = max(float(lengths.mean()) if len(lengths) else 0.0, 1e-9)
        per_tool = weight / (1 - penalty + penalty * lengths / average)
        term_parts.append(np.fromiter(chain.from_iterable(texts[field] for texts in read), np.int64))
        tool_parts.append(np.repeat(np.arange(len(tools)), lengths))
        weight_parts.append(np.repeat(per_tool, lengths).astype(np.float64))
    return np.concatenate(term_parts), np.concatenate(tool_parts), np.concatenate(weight_parts)

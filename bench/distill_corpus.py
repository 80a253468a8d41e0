"""Texts to distil from: what API references, a dictionary and a home hub's labels say. None of it is shipped.

Sources: the AWS and Google API references (the wheels ``botocore`` and ``google-api-python-client``, Apache-2.0), the
labels of Home Assistant (Apache-2.0), WordNet 3.0 (its own permissive licence; Debian's ``wordnet-base``).
No benchmark data.
"""

import gzip
import json
import random
import re
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

MAX_CHARS = 200
TEXTS = 36_000
_PART = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+")
Pair = tuple[str, str]


def corpus(folder: Path, vocabulary: frozenset[str]) -> list[str]:
    """All texts in a fixed shuffled order: two descriptions, one name, one loose sentence, and again."""
    pairs, texts = set[Pair](), set[str]()
    for found in (_google(folder), _aws(folder), _wordnet(folder, vocabulary), _home_assistant(folder)):
        for item in found:
            pairs.add(item) if isinstance(item, tuple) else texts.add(item)
    named = sorted(pair for pair in pairs if len(pair[0]) > 1 and len(pair[1]) > 8)
    loose = sorted(text for text in texts if len(text) > 12)
    random.Random(0).shuffle(named)
    random.Random(0).shuffle(loose)
    mixed: list[str] = []
    for one, two, text in zip(named[::2], named[1::2], loose[:TEXTS], strict=False):
        mixed += [one[1], two[1], one[0], text]
    return [text[:MAX_CHARS] for text in mixed]


def _google(folder: Path) -> Iterator[Pair | str]:
    with _wheel(folder, "google_api_python_client") as wheel:
        newest = {Path(name).name.split(".")[0]: name for name in wheel.namelist() if re.search(r"documents/.*\.json$", name)}
        for name in newest.values():
            document = json.loads(wheel.read(name))
            if document.get("description"):
                yield _plain(f"{document.get('title', '')} {document['description']}")
            yield from _google_methods(document, document.get("title", ""))


def _google_methods(node: Mapping[str, Any], title: str) -> Iterator[Pair | str]:
    for resource in node.get("resources", {}).values():
        for method in resource.get("methods", {}).values():
            if method.get("description"):
                yield f"{title} {_split(method['id'].split('.', 1)[-1])}", _sentences(_plain(method["description"]), 2)
                for name, schema in method.get("parameters", {}).items():
                    if schema.get("description") and "$" not in name:
                        yield f"{_split(name)} {_sentences(_plain(schema['description']), 1)[:150]}"
        yield from _google_methods(resource, title)


def _aws(folder: Path) -> Iterator[Pair | str]:
    with _wheel(folder, "botocore") as wheel:
        newest = {name.split("/")[2]: name for name in wheel.namelist() if name.endswith("service-2.json.gz")}
        for name in newest.values():
            service = json.loads(gzip.decompress(wheel.read(name)))
            if service.get("documentation"):
                yield _sentences(_plain(service["documentation"]), 3)
            for operation, content in service["operations"].items():
                if content.get("documentation"):
                    title = service["metadata"].get("serviceId", "")
                    yield f"{title} {_split(operation)}", _sentences(_plain(content["documentation"]), 2)


def _wordnet(folder: Path, vocabulary: frozenset[str]) -> Iterator[Pair | str]:
    for part in ("noun", "verb", "adj", "adv"):
        (path,) = folder.glob(f"**/wordnet/data.{part}")
        for line in path.read_text(encoding="latin1").splitlines():
            if line.startswith("  "):
                continue  # the licence
            head, gloss = line.split(" | ", 1)
            words = head.split()
            lemmas = [word.split("(")[0].replace("_", " ").lower() for word in words[4 : 4 + 2 * int(words[3], 16) : 2]]
            if vocabulary.isdisjoint(lemmas):
                continue  # only words the table has a vector for
            meaning, *examples = (text.strip() for text in re.split(r';\s*(?=")', gloss.strip()))
            yield ", ".join(lemmas), meaning
            yield from (example.strip('"; ') for example in examples)


def _home_assistant(folder: Path) -> Iterator[Pair | str]:
    with _wheel(folder, "homeassistant") as wheel:
        for name in wheel.namelist():
            if name.endswith("strings.json"):
                yield from _labels(json.loads(wheel.read(name)))


def _labels(node: Any) -> Iterator[Pair | str]:
    if isinstance(node, str) and len(node) > 40:
        yield node
    if isinstance(node, dict):
        label: dict[str, Any] = node  # pyright: ignore[reportUnknownVariableType]
        if isinstance(label.get("name"), str) and isinstance(label.get("description"), str):
            yield label["name"], label["description"]
        for value in label.values():
            yield from _labels(value)


def _wheel(folder: Path, name: str) -> zipfile.ZipFile:
    (path,) = folder.glob(f"{name}-*.whl")
    return zipfile.ZipFile(path)


def _plain(markup: str) -> str:
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", markup)).strip()


def _sentences(text: str, count: int) -> str:
    return " ".join(re.split(r"(?<=[.!?])\s+", text)[:count])[:300]


def _split(name: str) -> str:
    return " ".join(_PART.findall(name)).lower()

"""Reads the built pages once into memory: a request can get these files and no others, however its path is written."""

import gzip
import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

STATIC = Path(__file__).parent / "static"
"""Where `tools/pages.py` puts the pages that it builds from `dashboard/`; the wheel contains them."""
PAGE = "index.html"
_KINDS = {".html": "text/html; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8"}
_HASHED = re.compile(r"-[A-Z0-9]{8}\.(js|css)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Asset:
    """One file of the bundle; ``packed`` is its body with gzip. ``is_fixed``: its name holds a hash of its content, so that it
    never changes under that name."""

    body: bytes
    packed: bytes
    kind: str
    tag: str
    is_fixed: bool


def load_bundle(folder: Path = STATIC) -> Mapping[str, Asset]:
    """Returns every file of the bundle by its name; an empty mapping if the bundle was not built."""
    if not (folder / PAGE).is_file():
        return {}
    return {path.name: _load_asset(path) for path in sorted(folder.iterdir()) if path.suffix in _KINDS}


def _load_asset(path: Path) -> Asset:
    body = path.read_bytes()
    return Asset(
        body=body,
        packed=gzip.compress(body, mtime=0),
        kind=_KINDS[path.suffix],
        tag=f'"{hashlib.sha256(body).hexdigest()[:32]}"',
        is_fixed=_HASHED.search(path.name) is not None,
    )

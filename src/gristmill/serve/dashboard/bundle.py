"""The built pages as values, read once: what is not among them cannot be asked for, whatever a path looks like."""

import gzip
import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

STATIC = Path(__file__).parent / "static"
"""Where `tools/pages.py` puts what it builds from `dashboard/`; it comes with the wheel."""
PAGE = "index.html"
_KINDS = {".html": "text/html; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8"}
_HASHED = re.compile(r"-[A-Z0-9]{8}\.(js|css)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Asset:
    """One file; ``packed`` is the same with gzip. One whose name holds a hash of its content never changes."""

    body: bytes
    packed: bytes
    kind: str
    tag: str
    is_fixed: bool


def load_bundle(folder: Path = STATIC) -> Mapping[str, Asset]:
    """Every file of the bundle by its name; nothing where none was built."""
    if not (folder / PAGE).is_file():
        return {}
    return {path.name: _asset(path) for path in sorted(folder.iterdir()) if path.suffix in _KINDS}


def _asset(path: Path) -> Asset:
    body = path.read_bytes()
    return Asset(
        body=body,
        packed=gzip.compress(body, mtime=0),
        kind=_KINDS[path.suffix],
        tag=f'"{hashlib.sha256(body).hexdigest()[:32]}"',
        is_fixed=_HASHED.search(path.name) is not None,
    )

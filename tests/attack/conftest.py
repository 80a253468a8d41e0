"""One gateway per level for all attacks, and what they are after."""

import os
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.attack.wall import Wall, opened, secret


@dataclass(frozen=True)
class Canary:
    """A file of the host's that no code may read or change."""

    path: Path
    secret: str


@pytest.fixture(scope="session")
def namespaces(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Wall]:
    """The strong level."""
    with opened(tmp_path_factory.mktemp("namespaces"), "namespaces") as wall:
        yield wall


def open_to_others(path: Path) -> bool:
    """True when file modes let everybody get at ``path``."""
    return all(folder.stat().st_mode & 0o001 for folder in path.parents) and bool(path.stat().st_mode & 0o004)


@pytest.fixture(scope="session")
def landlock(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Wall]:
    """The level without namespaces. As root it runs as nobody, who must be able to reach the interpreter."""
    if os.geteuid() == 0 and not open_to_others(Path(os.path.realpath(sys.executable))):
        pytest.skip("allowed: nobody can reach this interpreter; tools/attack.py tests this level from a copy")
    with opened(tmp_path_factory.mktemp("landlock"), "landlock") as wall:
        yield wall


@pytest.fixture(params=["namespaces", "landlock"])
def wall(request: pytest.FixtureRequest) -> Wall:
    """Each level in turn: what both promise."""
    return request.getfixturevalue(request.param)


@pytest.fixture
def public() -> Iterator[Path]:
    """A folder that file modes open to everybody: only the wall keeps code out of it."""
    with tempfile.TemporaryDirectory(prefix="gristmill-public-") as name:
        folder = Path(name)
        folder.chmod(0o777)
        yield folder


@pytest.fixture
def canary(public: Path) -> Canary:
    """A file with a secret that everybody could read and write."""
    value = secret()
    path = public / "secret.txt"
    path.write_text(value)
    path.chmod(0o666)
    return Canary(path, value)

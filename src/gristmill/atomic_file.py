"""Replaces files: a reader sees the whole old file or the whole new one, and a failure leaves the old one as it was."""

import os
import tempfile
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from pathlib import Path
from typing import IO


@contextmanager
def replace_file(path: Path, *, sync: bool = False) -> Generator[IO[bytes]]:
    """Opens a draft beside ``path``, readable by its owner only, and moves it to ``path`` when the block ends without an error.

    With ``sync`` the content is on the disk before that, so that it survives a loss of power.

    Raises:
        OSError: the file cannot be written.
    """
    # A short name: ``path`` may have the longest name that the file system allows.
    with tempfile.NamedTemporaryFile(prefix=".draft-", suffix=path.suffix, dir=path.parent, delete=False) as draft:
        try:
            yield draft.file
            if sync:
                draft.flush()
                os.fsync(draft.fileno())
            draft.close()
            os.replace(draft.name, path)
        except BaseException:
            Path(draft.name).unlink(missing_ok=True)
            raise


def write_atomically(path: Path, parts: Iterable[bytes | memoryview], *, sync: bool = False) -> None:
    """Writes ``parts``, one after the other, to ``path``; makes its folder, for its owner only, where there is none.

    Raises:
        OSError: the file cannot be written.
    """
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with replace_file(path, sync=sync) as file:
        file.writelines(parts)

"""The vocabulary of the static word table: which pieces there are, and which of them a word is made of. Needs no arrays."""

from collections.abc import Callable
from pathlib import Path

FOLDER = Path(__file__).parent / "static"
_LONGEST_PIECE = 18  # letters, in the vocabulary
_FEW = 200


def read_pieces(folder: Path = FOLDER) -> bytes:
    """Every piece, one a line, in the order of the table's rows."""
    return (folder / "pieces.txt").read_bytes()


def numbered(lines: bytes) -> dict[str, int]:
    """Each line and its number."""
    return {line: i for i, line in enumerate(lines.decode().split("\n"))} if lines else {}


class Lines:
    """The number of a line, looked for in the text itself: a table of all of them takes longer than to find a few."""

    def __init__(self, lines: bytes) -> None:
        self._lines, self._asked = b"\n" + lines + b"\n", 0
        self._all: dict[str, int] | None = None

    def get(self, line: str) -> int | None:
        """Its number, or nothing if there is no such line."""
        self._asked += 1
        if self._asked > _FEW and self._all is None:
            self._all = numbered(self._lines[1:-1])
        if self._all is not None:
            return self._all.get(line)
        at = self._lines.find(b"\n" + line.encode(errors="surrogatepass") + b"\n")
        return self._lines.count(b"\n", 0, at) if at >= 0 and "\n" not in line else None


def split_word(row_of: Callable[[str], int | None], word: str) -> tuple[int, ...]:
    """The rows of a word's pieces: a greedy split, as the model's own tokenizer does it; nothing if a part is unknown."""
    found: list[int] = []
    start = 0
    while start < len(word):
        prefix = "##" if start else ""
        longest = min(len(word), start + _LONGEST_PIECE)
        rows = ((end, row_of(prefix + word[start:end])) for end in range(longest, start, -1))
        start, row = next(((end, row) for end, row in rows if row is not None), (start, None))
        if row is None:
            return ()
        found.append(row)
    return tuple(found)

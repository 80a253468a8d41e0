"""Makes text from servers safe to show: finds or removes characters that cannot be seen. Imports nothing of the catalog."""

import re

_HIDDEN = (
    "\x00-\x08\x0b-\x1f\x7f-\x9f"  # control characters except tab and newline
    "\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f"  # soft hyphen, joiners, fillers
    "\u200b-\u200f\u202a-\u202e\u2060-\u206f"  # zero width, bidi embeddings, overrides and isolates
    "\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\uffff"  # fillers, variation selectors, byte order mark, noncharacters
    "\ud800-\udfff\ue000-\uf8ff"  # lone surrogates, private use
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"  # shorthand and musical format controls
    "\U000e0000-\U000e0fff\U000f0000-\U0010ffff"  # tag characters, more selectors, private planes
)
_HIDDEN_RUN = re.compile(f"[{_HIDDEN}]+")
_BREAKS = re.compile("\r\n?|[\u2028\u2029\x0b\x0c\x85]")
_BLANKS = re.compile(r"\s+")


def find_hidden_runs(text: str) -> tuple[str, ...]:
    """Returns the runs of characters in ``text`` that a reader would not see, escaped, in order."""
    return tuple(run.encode("unicode_escape").decode("ascii") for run in _HIDDEN_RUN.findall(_BREAKS.sub("\n", text)))


def clean_text(text: str, *, limit: int = 4_000) -> str:
    """Returns ``text`` without hidden characters, with its lines kept, cut at ``limit`` characters."""
    # Cut first, so that a hostile megabyte does not cost a megabyte of work.
    text = _HIDDEN_RUN.sub("", _BREAKS.sub("\n", text[: 2 * limit])).strip()
    return text if len(text) <= limit else text[: limit - 1].rstrip() + "…"


def clean_to_one_line(text: str, *, limit: int = 200) -> str:
    """Returns ``text`` without hidden characters, on a single line, cut at ``limit`` characters."""
    if len(text) <= limit and text.isascii() and text.isprintable():
        return text.strip()
    return clean_text(_BLANKS.sub(" ", clean_text(text, limit=2 * limit)), limit=limit)

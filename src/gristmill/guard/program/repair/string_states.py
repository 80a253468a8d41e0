"""Splits a text that may not be Python into what stands inside of quoted strings and what stands outside of them.

A tokenizer cannot do this: it stops at the first flaw, and only flawed texts come here.
"""

import re
from collections.abc import Callable

_STRING = re.compile(r"""('''|\"\"\")(?:\\.|(?!\1).)*?\1|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|\#[^\n]*""", re.DOTALL)


def replace_outside_strings(text: str, change: Callable[[str], str]) -> str:
    """Returns ``text`` with ``change`` applied to every part outside of complete strings and comments."""
    parts: list[str] = []
    end = 0
    for found in _STRING.finditer(text):
        parts += change(text[end : found.start()]), found[0]
        end = found.end()
    parts.append(change(text[end:]))
    return "".join(parts)

"""Parses TypeScript with tree-sitter. The parser comes with the extra `typescript`; without it nothing here can be used."""

from collections.abc import Iterator
from functools import cache

import tree_sitter_typescript
from tree_sitter import Language, Node, Parser

MOST_NODES = 400_000
"""How many nodes of a program are looked at; a longer one runs unchecked."""


@cache
def _get_parser() -> Parser:
    return Parser(Language(tree_sitter_typescript.language_typescript()))


def parse_typescript(code: bytes) -> Node:
    """Parses a program; the tree of one with mistakes holds nodes of the type ``ERROR``."""
    return _get_parser().parse(code).root_node


def walk_nodes(root: Node) -> Iterator[Node]:
    """Yields the nodes below ``root`` in the order of the text, without recursion: a program may be nested deeply."""
    stack, count = [root], 0
    while stack and count < MOST_NODES:
        node = stack.pop()
        count += 1
        yield node
        stack.extend(reversed(node.children))


def read_text(node: Node) -> str:
    """Returns the text of a node."""
    return (node.text or b"").decode("utf-8", "replace")


def read_string(node: Node) -> str:
    """Returns what a string literal says, without its quotes."""
    return read_text(node)[1:-1]

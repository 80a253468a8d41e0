"""Parses conditions on the arguments of a call: ``amount < 100 and repo in ["a", "b"]``. They never run as Python code.

A comparison with a missing argument, or of values of different kinds, is *unknown*. It stays unknown through ``and``, ``or``
and ``not`` unless the other side decides. The caller of ``Condition.holds`` decides what unknown means.
"""

import re
from collections.abc import Callable, Mapping
from typing import cast

from msgspec import Struct

from gristmill.errors import ConfigError
from gristmill.guard.policy.condition_words import (
    COMPARISONS,
    FUNCTIONS,
    MISSING,
    UNKNOWN,
    Truth,
    combine_with_and,
    combine_with_or,
    compare_any_item,
    compare_every_item,
)
from gristmill.model import Json

MOST_TOKENS = 400
MOST_NESTING = 40

_Evaluator = Callable[[Mapping[str, Json]], Json]

_TOKEN = re.compile(
    r"""\s*(?:
    (?P<number>-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?\b)
  | (?P<string>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')
  | (?P<quoted>`[^`]+`)
  | (?P<word>[^\W\d]\w*)
  | (?P<mark><=|>=|==|!=|[<>()\[\],.])
    )""",
    re.VERBOSE,
)
_CONSTANTS: dict[str, Json] = {"true": True, "false": False, "null": None}
_WORDS = frozenset({*_CONSTANTS, "and", "or", "not", "in", "exists", "any", "all", *FUNCTIONS, *COMPARISONS})


class Condition(Struct, frozen=True):
    """A parsed condition with its original text."""

    text: str
    _root: _Evaluator

    @classmethod
    def parse(cls, text: str) -> "Condition":
        """Parses ``text``.

        Raises:
            ConfigError: the text is not a condition; the error says where, and what was expected there.
        """
        return cls(text, _Parser(text).parse_whole())

    def holds(self, arguments: Mapping[str, Json]) -> bool | None:
        """Tells whether the condition holds for ``arguments``; None when it is unknown."""
        try:
            found = self._root(arguments)
        except RecursionError:  # an argument is nested too deep
            return None
        return found if isinstance(found, bool) else None


class _Parser:
    def __init__(self, text: str) -> None:
        self._text, self._depth = text, 0
        self._tokens = list(self._split_tokens())
        self._next = 0

    def parse_whole(self) -> _Evaluator:
        root = self._parse_or()
        if self._next < len(self._tokens):
            raise self._build_error("the end, `and` or `or`")
        return root

    def _split_tokens(self) -> list[tuple[str, str, int]]:
        found: list[tuple[str, str, int]] = []
        place = 0
        end = len(self._text.rstrip())
        while place < end:
            token = _TOKEN.match(self._text, place)
            if token is None or len(found) >= MOST_TOKENS:
                where = self._text[place : place + 20].strip()
                raise ConfigError(f"the condition {self._text!r} cannot be read at {where!r}")
            kind = str(token.lastgroup)
            found.append((kind, token[kind], token.start(kind)))
            place = token.end()
        return found

    def _build_error(self, expected: str) -> ConfigError:
        seen = repr(self._text[self._tokens[self._next][2] :][:20]) if self._next < len(self._tokens) else "its end"
        return ConfigError(f"the condition {self._text!r} has {seen} where {expected} is expected")

    def _next_is_one_of(self, *words: str) -> bool:
        if self._next >= len(self._tokens):
            return False
        kind, text, _ = self._tokens[self._next]
        return kind in ("word", "mark") and text in words

    def _take_if_next(self, *words: str) -> str | None:
        if not self._next_is_one_of(*words):
            return None
        self._next += 1
        return self._tokens[self._next - 1][1]

    def _require_mark(self, mark: str) -> None:
        if not self._take_if_next(mark):
            raise self._build_error(f"`{mark}`")

    def _parse_or(self) -> _Evaluator:
        left = self._parse_and()
        while self._take_if_next("or"):
            left = _combine_evaluators(combine_with_or, left, self._parse_and())
        return left

    def _parse_and(self) -> _Evaluator:
        left = self._parse_not()
        while self._take_if_next("and"):
            left = _combine_evaluators(combine_with_and, left, self._parse_not())
        return left

    def _parse_not(self) -> _Evaluator:
        self._depth += 1
        if self._depth > MOST_NESTING:
            raise ConfigError(f"the condition {self._text!r} is nested too deep")
        try:
            return _negate_evaluator(self._parse_not()) if self._take_if_next("not") else self._parse_comparison()
        finally:
            self._depth -= 1

    def _parse_comparison(self) -> _Evaluator:
        if self._take_if_next("exists"):
            path = self._parse_path()
            return lambda arguments: path(arguments) is not MISSING
        if self._next_is_one_of("any", "all"):
            over = compare_every_item if self._take_if_next("any", "all") == "all" else compare_any_item
            self._require_mark("(")
            left = self._parse_operand()
            self._require_mark(")")
            return self._parse_operator(left, over)
        return self._parse_operator(self._parse_operand(), None)

    def _parse_operator(self, left: _Evaluator, over: Callable[..., Json] | None) -> _Evaluator:
        negate = bool(self._take_if_next("not"))
        word = self._take_if_next(*(("in",) if negate else COMPARISONS))
        if word is None:
            if negate or over is not None:
                raise self._build_error("a comparison")
            return left
        compare, right = COMPARISONS[word], self._parse_operand()
        if over is None:
            made: _Evaluator = lambda arguments: compare(left(arguments), right(arguments))  # noqa: E731
        else:
            made = lambda arguments: over(compare, left(arguments), right(arguments))  # noqa: E731
        return _negate_evaluator(made) if negate else made

    def _parse_operand(self) -> _Evaluator:
        if self._take_if_next("("):
            inner = self._parse_or()
            self._require_mark(")")
            return inner
        if self._take_if_next("["):
            return self._parse_list()
        if name := self._take_if_next(*FUNCTIONS):
            function = FUNCTIONS[name]
            self._require_mark("(")
            inner = self._parse_operand()
            self._require_mark(")")
            return lambda arguments: function(inner(arguments))
        return self._parse_literal() or self._parse_path()

    def _parse_literal(self) -> _Evaluator | None:
        if self._next >= len(self._tokens):
            raise self._build_error("an argument or a value")
        kind, text, _ = self._tokens[self._next]
        if kind not in ("number", "string") and not (kind == "word" and text in _CONSTANTS):
            return None
        self._next += 1
        value = _CONSTANTS[text] if kind == "word" else _parse_number(text) if kind == "number" else _unquote_text(text)
        return lambda _arguments: value

    def _parse_list(self) -> _Evaluator:
        items: list[_Evaluator] = []
        while not self._next_is_one_of("]"):
            item = self._parse_literal()
            if item is None:
                raise self._build_error("a text, a number, true, false or null")
            items.append(item)
            if not self._take_if_next(","):
                break
        self._require_mark("]")
        values = [item({}) for item in items]
        return lambda _arguments: values

    def _parse_path(self) -> _Evaluator:
        parts: list[str | int] = [self._parse_name()]
        while mark := self._take_if_next(".", "["):
            if mark == ".":
                parts.append(self._parse_name())
                continue
            kind, text, _ = self._tokens[self._next] if self._next < len(self._tokens) else ("", "", 0)
            if kind not in ("number", "string") or (kind == "number" and not text.isdecimal()):
                raise self._build_error("a position or a quoted name")
            self._next += 1
            parts.append(int(text) if kind == "number" else _unquote_text(text))
            self._require_mark("]")
        return lambda arguments: _read_path(arguments, parts)

    def _parse_name(self) -> str:
        kind, text, _ = self._tokens[self._next] if self._next < len(self._tokens) else ("", "", 0)
        if kind == "quoted":
            self._next += 1
            return text[1:-1]
        if kind != "word" or text in _WORDS:
            raise self._build_error("the name of an argument (in `backquotes` if it is an operator or another reserved word)")
        self._next += 1
        return text


def _read_path(arguments: Mapping[str, Json], parts: list[str | int]) -> Json:
    value: Json = arguments
    for part in parts:
        if isinstance(part, str) and isinstance(value, Mapping):
            value = cast("Mapping[str, Json]", value).get(part, MISSING)
        elif isinstance(part, int) and isinstance(value, list) and part < len(cast("list[Json]", value)):
            value = cast("list[Json]", value)[part]
        else:
            return MISSING
    return value


def _combine_evaluators(join: Callable[[Json, Callable[[], Json]], Truth], left: _Evaluator, right: _Evaluator) -> _Evaluator:
    return lambda arguments: join(left(arguments), lambda: right(arguments))


def _negate_evaluator(inner: _Evaluator) -> _Evaluator:
    def negated(arguments: Mapping[str, Json]) -> Truth:
        value = inner(arguments)
        return not value if isinstance(value, bool) else UNKNOWN

    return negated


def _parse_number(text: str) -> int | float:
    return int(text) if text.lstrip("-").isdecimal() else float(text)


def _unquote_text(text: str) -> str:
    return re.sub(r"\\(.)", r"\1", text[1:-1], flags=re.DOTALL)

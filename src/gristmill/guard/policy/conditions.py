"""Conditions on the arguments of a call: ``amount < 100 and repo in ["a", "b"]``. Read once, never evaluated as Python.

What cannot be told (an argument that is missing, or of another kind than what it is compared with) is *unknown*, and stays so
through ``and``, ``or`` and ``not`` unless the other side decides. Who asks says what unknown means to him.
"""

import re
from collections.abc import Callable, Mapping
from typing import cast

from gristmill.errors import ConfigError
from gristmill.guard.policy.condition_words import COMPARISONS, FUNCTIONS, MISSING, UNKNOWN, Unknown, both, either, every, some
from gristmill.model import Json
from gristmill.values import dataclass

MOST_TOKENS = 400
MOST_NESTING = 40

Truth = bool | Unknown
_Value = Callable[[Mapping[str, Json]], Json]

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


@dataclass(frozen=True, slots=True)
class Condition:
    """A condition as it was written, and the means to ask whether it holds."""

    text: str
    _root: _Value

    @classmethod
    def parse(cls, text: str) -> "Condition":
        """Read ``text``.

        Raises:
            ConfigError: it is no condition; says where and what was expected.
        """
        return cls(text, _Parser(text).whole())

    def holds(self, arguments: Mapping[str, Json]) -> bool | None:
        """Whether it does; None when that cannot be told."""
        try:
            found = self._root(arguments)
        except RecursionError:  # an argument nested without end
            return None
        return found if isinstance(found, bool) else None


class _Parser:
    def __init__(self, text: str) -> None:
        self._text, self._depth = text, 0
        self._tokens = list(self._split())
        self._next = 0

    def whole(self) -> _Value:
        root = self._either()
        if self._next < len(self._tokens):
            raise self._wrong("the end, `and` or `or`")
        return root

    def _split(self) -> list[tuple[str, str, int]]:
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

    def _wrong(self, expected: str) -> ConfigError:
        seen = repr(self._text[self._tokens[self._next][2] :][:20]) if self._next < len(self._tokens) else "its end"
        return ConfigError(f"the condition {self._text!r} has {seen} where {expected} is expected")

    def _peek(self, *words: str) -> bool:
        if self._next >= len(self._tokens):
            return False
        kind, text, _ = self._tokens[self._next]
        return kind in ("word", "mark") and text in words

    def _take(self, *words: str) -> str | None:
        if not self._peek(*words):
            return None
        self._next += 1
        return self._tokens[self._next - 1][1]

    def _need(self, mark: str) -> None:
        if not self._take(mark):
            raise self._wrong(f"`{mark}`")

    def _either(self) -> _Value:
        left = self._both()
        while self._take("or"):
            left = _joined(either, left, self._both())
        return left

    def _both(self) -> _Value:
        left = self._not()
        while self._take("and"):
            left = _joined(both, left, self._not())
        return left

    def _not(self) -> _Value:
        self._depth += 1
        if self._depth > MOST_NESTING:
            raise ConfigError(f"the condition {self._text!r} is nested too deep")
        try:
            return _negated(self._not()) if self._take("not") else self._comparison()
        finally:
            self._depth -= 1

    def _comparison(self) -> _Value:
        if self._take("exists"):
            path = self._path()
            return lambda arguments: path(arguments) is not MISSING
        if self._peek("any", "all"):
            over = every if self._take("any", "all") == "all" else some
            self._need("(")
            left = self._operand()
            self._need(")")
            return self._compared(left, over)
        return self._compared(self._operand(), None)

    def _compared(self, left: _Value, over: Callable[..., Json] | None) -> _Value:
        negate = bool(self._take("not"))
        word = self._take(*(("in",) if negate else COMPARISONS))
        if word is None:
            if negate or over is not None:
                raise self._wrong("a comparison")
            return left
        compare, right = COMPARISONS[word], self._operand()
        if over is None:
            made: _Value = lambda arguments: compare(left(arguments), right(arguments))  # noqa: E731
        else:
            made = lambda arguments: over(compare, left(arguments), right(arguments))  # noqa: E731
        return _negated(made) if negate else made

    def _operand(self) -> _Value:
        if self._take("("):
            inner = self._either()
            self._need(")")
            return inner
        if self._take("["):
            return self._list()
        if name := self._take(*FUNCTIONS):
            function = FUNCTIONS[name]
            self._need("(")
            inner = self._operand()
            self._need(")")
            return lambda arguments: function(inner(arguments))
        return self._literal() or self._path()

    def _literal(self) -> _Value | None:
        if self._next >= len(self._tokens):
            raise self._wrong("an argument or a value")
        kind, text, _ = self._tokens[self._next]
        if kind not in ("number", "string") and not (kind == "word" and text in _CONSTANTS):
            return None
        self._next += 1
        value = _CONSTANTS[text] if kind == "word" else _number(text) if kind == "number" else _unquoted(text)
        return lambda _arguments: value

    def _list(self) -> _Value:
        items: list[_Value] = []
        while not self._peek("]"):
            item = self._literal()
            if item is None:
                raise self._wrong("a text, a number, true, false or null")
            items.append(item)
            if not self._take(","):
                break
        self._need("]")
        values = [item({}) for item in items]
        return lambda _arguments: values

    def _path(self) -> _Value:
        parts: list[str | int] = [self._name()]
        while mark := self._take(".", "["):
            if mark == ".":
                parts.append(self._name())
                continue
            kind, text, _ = self._tokens[self._next] if self._next < len(self._tokens) else ("", "", 0)
            if kind not in ("number", "string") or (kind == "number" and not text.isdecimal()):
                raise self._wrong("a position or a quoted name")
            self._next += 1
            parts.append(int(text) if kind == "number" else _unquoted(text))
            self._need("]")
        return lambda arguments: _walk(arguments, parts)

    def _name(self) -> str:
        kind, text, _ = self._tokens[self._next] if self._next < len(self._tokens) else ("", "", 0)
        if kind == "quoted":
            self._next += 1
            return text[1:-1]
        if kind != "word" or text in _WORDS:
            raise self._wrong("the name of an argument (in `backquotes` if it is a word of the language)")
        self._next += 1
        return text


def _walk(arguments: Mapping[str, Json], parts: list[str | int]) -> Json:
    value: Json = arguments
    for part in parts:
        if isinstance(part, str) and isinstance(value, Mapping):
            value = cast("Mapping[str, Json]", value).get(part, MISSING)
        elif isinstance(part, int) and isinstance(value, list) and part < len(cast("list[Json]", value)):
            value = cast("list[Json]", value)[part]
        else:
            return MISSING
    return value


def _joined(join: Callable[[Json, Callable[[], Json]], Truth], left: _Value, right: _Value) -> _Value:
    return lambda arguments: join(left(arguments), lambda: right(arguments))


def _negated(inner: _Value) -> _Value:
    def negated(arguments: Mapping[str, Json]) -> Truth:
        value = inner(arguments)
        return not value if isinstance(value, bool) else UNKNOWN

    return negated


def _number(text: str) -> int | float:
    return int(text) if text.lstrip("-").isdecimal() else float(text)


def _unquoted(text: str) -> str:
    return re.sub(r"\\(.)", r"\1", text[1:-1], flags=re.DOTALL)

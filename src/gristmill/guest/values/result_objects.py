# pyright: basic, reportArgumentType=false, reportAssignmentType=false, reportAttributeAccessIssue=false
# A program's code is dynamic, and so is the code that runs it: this file is not type-checked strictly.
"""Objects in the results of tools: dictionaries that can also be read as ``row.amount``.

They are made by the JSON decoder, one by one, so making one does as little as possible: the text of an error, for
example, is built only when a program reads it.
"""

import copy
import difflib
import gc
import json
import typing

MOST_KEYS, KEY_CHARACTERS = 20, 60
"""How many keys an error lists, and how much of each."""
_LARGE_TEXT = 100_000
"""The collector of garbage is paused while a text of this length is decoded: it would look at every object again and again."""


class _MissingKey(KeyError):
    """A key that an object of a result does not have. ``args`` is as in any ``KeyError``."""

    def __init__(self, key, holder=()):
        super().__init__(key)
        self.holder = holder

    def __str__(self):
        return f"{self.args[0]!r} is no key of this object{_describe_keys(self.args[0], self.holder)}"

    def __reduce__(self):
        return KeyError, self.args


class _MissingAttribute(AttributeError):
    """An attribute that an object of a result does not have."""

    def __init__(self, name, holder=()):
        super().__init__(name)
        self.holder = holder

    def __str__(self):
        return f"this object has no {self.args[0]!r}{_describe_keys(self.args[0], self.holder)}"

    def __reduce__(self):
        return AttributeError, (str(self),)


for _error, _shown in ((_MissingKey, KeyError), (_MissingAttribute, AttributeError)):
    _error.__name__, _error.__qualname__, _error.__module__ = _shown.__name__, _shown.__qualname__, "builtins"


def _describe_keys(name, holder):
    """Lists the keys that there are, and the nearest one."""
    keys = [key for key in holder if isinstance(key, str)]
    if not keys:
        return ": it is empty"
    shown = ", ".join(key[:KEY_CHARACTERS] for key in keys[:MOST_KEYS])
    more = f" and {len(keys) - MOST_KEYS} more" if len(keys) > MOST_KEYS else ""
    near = find_near_key(name, keys[:1000]) if isinstance(name, str) else None
    return f"; it has {shown}{more}" + (f"; did you mean {near[:KEY_CHARACTERS]!r}?" if near else "")


def find_near_key(name, keys):
    """Returns the key that was probably meant, or None: the same but for case and underscores, or a similar one."""
    plain = {_make_plain_name(key): key for key in reversed(keys)}
    found = plain.get(_make_plain_name(name))
    if found is None:
        similar = difflib.get_close_matches(_make_plain_name(name)[:100], plain, n=1)
        found = plain[similar[0]] if similar else None
    return found


def _make_plain_name(name):
    return name.replace("_", "").replace("-", "").replace(" ", "").lower()


class _DictType(type):
    """The type of ``ResultObject``: it equals ``dict``, for programs that compare types and libraries that look them up."""

    def __eq__(cls, other):
        return other is cls or other is dict

    def __hash__(cls):
        return hash(dict)


class ResultObject(dict, metaclass=_DictType):
    """A dictionary whose keys are attributes too, except those that are names of a dictionary's methods."""

    __slots__ = ()

    def __missing__(self, key):
        raise _MissingKey(key, self)

    def __getattr__(self, name):
        # Names such as __array__ are questions of libraries, and a server must not answer them.
        if name in self and not (name.startswith("__") and name.endswith("__")):
            return self[name]
        raise _MissingAttribute(name, self)

    def __setattr__(self, name, value):
        if hasattr(dict, name) or name.startswith("__"):
            raise AttributeError(f"{name!r} belongs to every dictionary: write [{name!r}] = ...")
        self[name] = value

    def __delattr__(self, name):
        if name not in self or hasattr(dict, name):
            raise _MissingAttribute(name, self)
        del self[name]

    def copy(self):
        """Returns a copy that can be read in both ways, too."""
        return ResultObject(self)

    def __or__(self, other):
        return ResultObject(dict.__or__(self, other)) if isinstance(other, dict) else NotImplemented

    def __ror__(self, other):
        return ResultObject(dict.__ror__(self, other)) if isinstance(other, dict) else NotImplemented

    def __reduce__(self):
        return dict, (dict(self),)  # what is pickled is read where this class does not exist


ResultObject.__name__, ResultObject.__qualname__, ResultObject.__module__ = "dict", "dict", "builtins"

_decode = json.JSONDecoder(strict=False, object_hook=ResultObject).decode


def decode_results(text: str) -> typing.Any:
    """Parses JSON; objects in it are ``ResultObject``."""
    if len(text) < _LARGE_TEXT or not gc.isenabled():
        return _decode(text)
    gc.disable()
    try:
        return _decode(text)
    finally:
        gc.enable()


def install_copies() -> None:
    """Lets ``copy.copy`` and ``copy.deepcopy`` copy these objects as such: they look up the type, which equals ``dict``."""
    if dict in getattr(copy, "_copy_dispatch", ()):  # newer Pythons call the method of the type themselves
        copy._copy_dispatch[dict] = lambda value: value.copy()
    copy_plain = copy._deepcopy_dispatch[dict]

    def copy_deeply(value, memo, deepcopy=copy.deepcopy):
        if type(value) is not ResultObject:
            return copy_plain(value, memo, deepcopy)
        made = memo[id(value)] = ResultObject()
        for key, item in value.items():
            made[deepcopy(key, memo)] = deepcopy(item, memo)
        return made

    copy._deepcopy_dispatch[dict] = copy_deeply

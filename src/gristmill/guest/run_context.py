# pyright: basic, reportArgumentType=false, reportAssignmentType=false, reportAttributeAccessIssue=false
# pyright: reportOptionalMemberAccess=false, reportOptionalSubscript=false
# The agent's code is dynamic, and so is what runs it: strict typing stops at this door.
"""``context``: values that the caller passed along. To be read, not changed, however deep they lie."""


def _refuse(self, *_, **__):
    raise TypeError("context is read-only: make a copy with .copy() to change it")


def _read_only(kind, *changes):
    """A kind of container whose changes are refused; its copies are ordinary ones."""
    copies = {
        "__copy__": kind.copy,
        "__deepcopy__": lambda self, memo: _thawed(self),
        "__reduce__": lambda self: (kind, (kind(self),)),
    }
    return type(kind.__name__, (kind,), {"__slots__": (), **copies, **dict.fromkeys(changes, _refuse)})


_Dict = _read_only(dict, *"__setitem__ __delitem__ __ior__ clear pop popitem setdefault update".split())
_List = _read_only(list, *"__setitem__ __delitem__ __iadd__ __imul__ append clear extend insert pop remove reverse sort".split())


def _frozen(value):
    if type(value) is dict:
        return _Dict({key: _frozen(item) for key, item in value.items()})
    return _List([_frozen(item) for item in value]) if type(value) is list else value


def _thawed(value):
    if isinstance(value, dict):
        return {key: _thawed(item) for key, item in value.items()}
    return [_thawed(item) for item in value] if isinstance(value, list) else value


class Context:
    """``context.user_id`` or ``context["user_id"]``."""

    __slots__ = ("_values",)

    def __init__(self, values):
        object.__setattr__(self, "_values", _frozen(values))

    def __getattr__(self, name):
        try:
            return self._values[name]
        except KeyError:
            raise AttributeError(f"the caller passed no {name!r}; there is: {', '.join(self._values) or 'nothing'}") from None

    def __getitem__(self, name):
        return self._values[name]

    def __setattr__(self, name, value):
        raise AttributeError("context is read-only")

    def __iter__(self):
        return iter(self._values)

    def __contains__(self, name):
        return name in self._values

    def __len__(self):
        return len(self._values)

    def __repr__(self):
        return f"context({', '.join(f'{key}={value!r}' for key, value in self._values.items())})"


EMPTY = Context({})

# pyright: basic, reportArgumentType=false, reportAssignmentType=false, reportAttributeAccessIssue=false
# pyright: reportOptionalMemberAccess=false, reportOptionalSubscript=false
# A program's code is dynamic, and so is the code that runs it: this file is not type-checked strictly.
"""``context``: values that the caller passed to the program. They are read-only at every depth."""


def _refuse_change(self, *_, **__):
    raise TypeError("context is read-only: make a copy with .copy() to change it")


def _make_read_only(kind, *changes):
    """Makes a container type that refuses changes; its copies are ordinary containers."""
    copies = {
        "__copy__": kind.copy,
        "__deepcopy__": lambda self, memo: _thaw_value(self),
        "__reduce__": lambda self: (kind, (kind(self),)),
    }
    return type(kind.__name__, (kind,), {"__slots__": (), **copies, **dict.fromkeys(changes, _refuse_change)})


_ReadOnlyDict = _make_read_only(dict, *"__setitem__ __delitem__ __ior__ clear pop popitem setdefault update".split())
_ReadOnlyList = _make_read_only(
    list, *"__setitem__ __delitem__ __iadd__ __imul__ append clear extend insert pop remove reverse sort".split()
)


def _freeze_value(value):
    if type(value) is dict:
        return _ReadOnlyDict({key: _freeze_value(item) for key, item in value.items()})
    return _ReadOnlyList([_freeze_value(item) for item in value]) if type(value) is list else value


def _thaw_value(value):
    if isinstance(value, dict):
        return {key: _thaw_value(item) for key, item in value.items()}
    return [_thaw_value(item) for item in value] if isinstance(value, list) else value


class RunContext:
    """The caller's values, as ``context.user_id`` or ``context["user_id"]``."""

    __slots__ = ("_values",)

    def __init__(self, values):
        object.__setattr__(self, "_values", _freeze_value(values))

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


EMPTY_CONTEXT = RunContext({})

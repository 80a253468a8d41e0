"""`dataclass` as the standard library has it, but quick to define. Below everything.

A frozen dataclass with slots takes about a millisecond to define, since six methods are compiled for it; two hundred of them
were a third of a cold start. Here one is compiled, the others are the same functions for all. Anything but a frozen dataclass
with slots is left to the standard library.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass
else:
    import dataclasses
    from operator import attrgetter

    def dataclass(cls=None, /, *, frozen=False, slots=False, kw_only=False, eq=True):
        """As ``dataclasses.dataclass``."""

        def make(cls):
            if not (frozen and slots and eq) or "__post_init__" in vars(cls):
                return dataclasses.dataclass(frozen=frozen, slots=slots, kw_only=kw_only, eq=eq)(cls)
            return _value(cls, kw_only=kw_only)

        return make if cls is None else make(cls)

    def _value(cls, *, kw_only):
        made = dataclasses.dataclass(init=False, repr=False, eq=False, slots=True, kw_only=kw_only)(cls)
        own = vars(cls)
        fields = dataclasses.fields(made)
        compared = [field.name for field in fields if field.compare]
        methods = {**_SHARED, "__init__": _init(made, fields), **_compare(compared)}
        for name, method in methods.items():
            if name not in own or (name == "__hash__" and own[name] is None):
                setattr(made, name, method)
        return made

    def _init(made, fields):
        """The one method that is compiled; it writes to the slots directly, past the refusal to assign."""
        scope = {"unset": dataclasses.MISSING}
        positional, named, lines = [], [], ["pass"]
        for field in fields:
            name, value = field.name, field.name
            scope[f"set_{name}"] = getattr(made, name).__set__
            parameter = name
            if field.default is not dataclasses.MISSING:
                scope[f"default_{name}"] = field.default
                parameter = f"{name}=default_{name}"
            elif field.default_factory is not dataclasses.MISSING:
                scope[f"make_{name}"] = field.default_factory
                parameter, value = f"{name}=unset", f"make_{name}() if {name} is unset else {name}"
            (named if field.kw_only else positional).append(parameter)
            lines.append(f"set_{name}(self, {value})")
        star = ["*"] if named else []
        exec(f"def __init__({', '.join(['self', *positional, *star, *named])}):\n " + "\n ".join(lines), scope)  # noqa: S102
        init = scope["__init__"]
        init.__qualname__ = f"{made.__qualname__}.__init__"
        return init

    def _compare(names):
        values = attrgetter(*names) if names else type

        def equal(self, other):
            return values(self) == values(other) if other.__class__ is self.__class__ else NotImplemented

        def hashed(self):
            return hash(values(self))

        return {"__eq__": equal, "__hash__": hashed}

    def _repr(self):
        shown = ", ".join(f"{field.name}={getattr(self, field.name)!r}" for field in dataclasses.fields(self) if field.repr)
        return f"{type(self).__qualname__}({shown})"

    def _refuse_to_set(_, name, _value):
        raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")

    def _refuse_to_delete(_, name):
        raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")

    def _state(self):
        return [getattr(self, field.name) for field in dataclasses.fields(self)]

    def _restore(self, state):
        for field, value in zip(dataclasses.fields(self), state, strict=True):
            object.__setattr__(self, field.name, value)

    _SHARED = {
        "__repr__": _repr, "__setattr__": _refuse_to_set, "__delattr__": _refuse_to_delete,
        "__getstate__": _state, "__setstate__": _restore,
    }  # fmt: skip

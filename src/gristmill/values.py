"""`dataclass` as the standard library has it, but quick to define. Below everything.

A frozen dataclass with slots takes about a millisecond to define, since six methods are compiled for it; two hundred of them
were a third of a cold start. Here those that can be are the same functions for all. Anything but a frozen dataclass with slots
is left to the standard library.
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
        made = dataclasses.dataclass(frozen=True, slots=True, kw_only=kw_only, repr=False, eq=False)(cls)
        own = vars(cls)
        compared = [field.name for field in dataclasses.fields(made) if field.compare]
        for name, method in {"__repr__": _repr, **_compare(compared)}.items():
            if name not in own or (name == "__hash__" and own[name] is None):
                setattr(made, name, method)
        return made

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

"""`dataclass` as the standard library has it, but quick to define. Below everything.

A dataclass with slots takes about a millisecond to define, since six methods are compiled for it; two hundred of them
were a third of a cold start. Here those that can be are the same functions for all, and ``__init__`` is compiled when the first
value is made: a start defines many classes and uses few. A dataclass without slots is left to the standard library.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass
else:
    import dataclasses
    from dataclasses import Field, FrozenInstanceError
    from operator import attrgetter

    def dataclass(cls=None, /, *, frozen=False, slots=False, kw_only=False, eq=True):
        """As ``dataclasses.dataclass``."""

        def make(cls):
            plain = cls.__bases__ == (object,) and "__post_init__" not in vars(cls)
            if not (slots and plain) or any(isinstance(each, Field) and not each.init for each in vars(cls).values()):
                return dataclasses.dataclass(frozen=frozen, slots=slots, kw_only=kw_only, eq=eq)(cls)
            return _value(cls, frozen=frozen, kw_only=kw_only, eq=eq)

        return make if cls is None else make(cls)

    def _value(cls, *, frozen, kw_only, eq):
        if cls.__doc__ is None:
            cls.__doc__ = cls.__name__  # or the standard library would write one, and import `inspect` for it
        dataclasses.dataclass(init=False, repr=False, eq=False, kw_only=kw_only)(cls)
        fields = dataclasses.fields(cls)
        made = _with_slots(cls, [field.name for field in fields])
        compared = _compare([field.name for field in fields if field.compare], frozen=frozen) if eq else {}
        own = vars(cls)
        for name, method in {"__repr__": _repr, **(_FROZEN if frozen else {}), **compared}.items():
            if name not in own or (name == "__hash__" and own[name] is None):
                setattr(made, name, method)
        if "__init__" not in own:
            made.__init__, made.__signature__ = _first(made), _Signature(made)
        made.__dataclass_params__.frozen = frozen  # a class that inherits from it asks
        return made

    def _with_slots(cls, names):
        """The same class anew: slots can only be given to a class when it is made."""
        inside = {name: value for name, value in vars(cls).items() if name not in {*names, "__dict__", "__weakref__"}}
        made = type(cls)(cls.__name__, cls.__bases__, {**inside, "__slots__": tuple(names)})
        made.__qualname__ = cls.__qualname__
        return made

    def _first(cls):
        """What makes the first value: compiles what makes all others."""

        def __init__(self, /, *args, **kwargs):  # noqa: N807
            _compiled(cls)(self, *args, **kwargs)

        return __init__

    def _compiled(cls):
        """The standard library's ``__init__``, from a class with the same fields: those know what they need to be made again."""
        fields = dataclasses.fields(cls)
        inside = {"__module__": cls.__module__, "__doc__": "", "__annotations__": {field.name: field.type for field in fields}}
        twin = type(cls.__name__, (), {**inside, **{field.name: field for field in fields}})
        made = dataclasses.dataclass(frozen=cls.__dataclass_params__.frozen, repr=False, eq=False)(twin).__init__
        made.__qualname__ = f"{cls.__qualname__}.__init__"
        cls.__init__ = made
        cls.__signature__ = None  # none but that of `__init__`; not deleted, since another thread may do the same
        return made

    class _Signature:
        """Whoever asks for the signature before the first value is made gets the true one."""

        def __init__(self, owner):
            self._owner = owner

        def __get__(self, instance, cls):
            _compiled(self._owner)

    def _compare(names, *, frozen):
        values = attrgetter(*names) if names else type

        def equal(self, other):
            return values(self) == values(other) if other.__class__ is self.__class__ else NotImplemented

        def hashed(self):
            return hash(values(self))

        return {"__eq__": equal, "__hash__": hashed if frozen else None}

    def _repr(self):
        shown = ", ".join(f"{field.name}={getattr(self, field.name)!r}" for field in dataclasses.fields(self) if field.repr)
        return f"{type(self).__qualname__}({shown})"

    def _refuse_change(self, name, value):  # noqa: ARG001
        raise FrozenInstanceError(f"cannot assign to field {name!r}")

    def _refuse_removal(self, name):  # noqa: ARG001
        raise FrozenInstanceError(f"cannot delete field {name!r}")

    def _state(self):
        return [getattr(self, field.name) for field in dataclasses.fields(self)]

    def _restore(self, state):
        for field, value in zip(dataclasses.fields(self), state, strict=True):
            object.__setattr__(self, field.name, value)

    _FROZEN = {
        "__setattr__": _refuse_change,
        "__delattr__": _refuse_removal,
        "__getstate__": _state,
        "__setstate__": _restore,
    }

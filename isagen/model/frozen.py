"""Dataclasses that load fast: ninja starts a process for each step of a build, and each makes sixty classes.

`dataclasses` compiles six functions for each class, and loads `inspect` to do so, which takes half of the time of a
step that has little to do. Here only ``__init__`` is compiled, for the fourth value. Type checkers see the
standard module, whose functions work on these classes too.
"""

from __future__ import annotations

from operator import attrgetter

TYPE_CHECKING = False  # as in typing, which takes longer to load than this module
if TYPE_CHECKING:
    from dataclasses import asdict as asdict
    from dataclasses import dataclass as dataclass
    from dataclasses import field as field
    from dataclasses import fields as fields
    from dataclasses import is_dataclass as is_dataclass
    from dataclasses import replace as replace
else:
    MISSING = object()
    # Values of a class that are made before its `__init__` is compiled.
    FEW = 3

    class Field:
        """A field with a default that is made for each value, or with metadata."""

        __slots__ = ("default", "default_factory", "metadata", "name")

        def __init__(self, default=MISSING, default_factory=MISSING, metadata=None):
            self.name = ""
            self.default = default
            self.default_factory = default_factory
            self.metadata = metadata or {}

    field = Field

    class _StandardFields:
        """What functions of the standard module look for in a class, made when they first do."""

        def __get__(self, instance, owner):
            import dataclasses

            def standard(one):
                given = {"default": one.default, "default_factory": one.default_factory}
                given = {name: value for name, value in given.items() if value is not MISSING}
                return dataclasses.field(**given, metadata=one.metadata)

            kinds = owner.__annotations__
            made = [(one.name, kinds[one.name], standard(one)) for one in owner.__frozen_fields__]
            owner.__dataclass_fields__ = dataclasses.make_dataclass(owner.__name__, made).__dataclass_fields__
            return owner.__dataclass_fields__

    def dataclass(cls=None, *, frozen=False, eq=True, slots=False):
        """Make a dataclass of a class without bases, as `dataclasses.dataclass` does."""
        if cls is None:
            return lambda one: dataclass(one, frozen=frozen, eq=eq, slots=slots)
        found = [_field_of(cls, name) for name in cls.__annotations__]
        names = tuple(one.name for one in found)
        if slots:
            body = {name: value for name, value in vars(cls).items() if name not in {*names, "__dict__", "__weakref__"}}
            cls = type(cls)(cls.__name__, cls.__bases__, {**body, "__slots__": names})
        else:
            for one in found:
                if one.default is not MISSING:
                    setattr(cls, one.name, one.default)
                elif one.default_factory is not MISSING:
                    delattr(cls, one.name)
        cls.__frozen_fields__ = tuple(found)
        cls.__dataclass_fields__ = _StandardFields()
        cls.__match_args__ = names
        cls.__init__ = _first_initialiser(cls, found, frozen)
        cls.__repr__ = _repr
        if frozen:
            cls.__setattr__ = _refuse_to_assign
            cls.__delattr__ = _refuse_to_delete
        if eq:
            _add_comparison(cls, names, frozen)
        return cls

    def _field_of(cls, name):
        given = vars(cls).get(name, MISSING)
        one = given if isinstance(given, Field) else Field(given)
        one.name = name
        return one

    def _first_initialiser(cls, found, frozen):
        """Return an ``__init__`` for the first few values: most classes have no more, and compiling one is slower."""
        names = {one.name for one in found}
        store = object.__setattr__ if frozen else setattr
        left = iter(range(FEW))

        def __init__(self, /, *given, **named):  # noqa: N807
            values = {**dict(zip((one.name for one in found), given)), **named}  # noqa: B905
            needed = {one.name for one in found if one.default is MISSING and one.default_factory is MISSING}
            usual = len(given) + len(named) == len(values) and needed <= values.keys() <= names
            if not usual or next(left, None) is None:  # what is wrong is said as Python does
                cls.__init__ = _initialiser(cls, found, frozen)
                cls.__init__(self, *given, **named)
                return
            for one in found:
                if one.name not in values:
                    values[one.name] = one.default if one.default_factory is MISSING else one.default_factory()
                store(self, one.name, values[one.name])
            if hasattr(cls, "__post_init__"):
                self.__post_init__()

        return __init__

    def _initialiser(cls, found, frozen):
        """Compile ``__init__``, whose parameters are the fields."""
        scope = {"_set": object.__setattr__, "_missing": MISSING}
        parameters = ["self"]
        lines = []
        for one in found:
            name = one.name
            value = name
            if one.default_factory is not MISSING:
                scope[f"_make_{name}"] = one.default_factory
                parameters.append(f"{name}=_missing")
                value = f"_make_{name}() if {name} is _missing else {name}"
            elif one.default is not MISSING:
                scope[f"_default_{name}"] = one.default
                parameters.append(f"{name}=_default_{name}")
            else:
                parameters.append(name)
            lines.append(f" _set(self, {name!r}, {value})" if frozen else f" self.{name} = {value}")
        if hasattr(cls, "__post_init__"):
            lines.append(" self.__post_init__()")
        exec(f"def __init__({', '.join(parameters)}):\n" + ("\n".join(lines) or " pass"), scope)
        scope["__init__"].__qualname__ = f"{cls.__qualname__}.__init__"
        return scope["__init__"]

    def _add_comparison(cls, names, frozen):
        values = attrgetter(*names) if names else lambda one: ()

        def __eq__(self, other):  # noqa: N807
            return values(self) == values(other) if other.__class__ is self.__class__ else NotImplemented

        def __hash__(self):  # noqa: N807
            return hash(values(self))

        if "__eq__" not in vars(cls):
            cls.__eq__ = __eq__
        if vars(cls).get("__hash__") is None:
            cls.__hash__ = __hash__ if frozen else None

    def _repr(self):
        parts = (f"{one.name}={getattr(self, one.name)!r}" for one in self.__frozen_fields__)
        return f"{type(self).__qualname__}({', '.join(parts)})"

    def _refuse_to_assign(self, name, value):
        from dataclasses import FrozenInstanceError

        raise FrozenInstanceError(f"cannot assign to field {name!r}")

    def _refuse_to_delete(self, name):
        from dataclasses import FrozenInstanceError

        raise FrozenInstanceError(f"cannot delete field {name!r}")

    def fields(kind):
        """Return the fields of a class, or of the class of a value; each has a name, a default and metadata."""
        return kind.__frozen_fields__

    def is_dataclass(value):
        """Return whether a class, or a value, is of this module."""
        return hasattr(value, "__frozen_fields__")

    def replace(value, **changes):
        """Return a value with some fields changed."""
        for one in value.__frozen_fields__:
            if one.name not in changes:
                changes[one.name] = getattr(value, one.name)
        return type(value)(**changes)

    def asdict(value):
        """Return a value as a dictionary, with dictionaries for the values in it."""
        return {one.name: _plain(getattr(value, one.name)) for one in value.__frozen_fields__}

    def _plain(value):
        if is_dataclass(value):
            return asdict(value)
        if isinstance(value, (list, tuple)):
            return type(value)([_plain(one) for one in value])
        if isinstance(value, dict):
            return {_plain(key): _plain(one) for key, one in value.items()}
        return value

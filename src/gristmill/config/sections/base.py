"""What every section of the configuration is: frozen, and refusing unknown keys. Ground below all other `config_*` modules."""

from typing import Any

from pydantic import BaseModel, ConfigDict, Field


class Section(BaseModel):
    """One table of the configuration."""

    # Built when first used: `Config` builds all its sections in one go, and each alone would cost a start as much again.
    # Pydantic is not asked to read the sentences below the fields: it would parse every source file at every start.
    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True, defer_build=True)


def defaults() -> Any:
    """The default of a field that is itself a section: all its defaults, made by the section that holds it."""
    return Field(default_factory=dict, validate_default=True)


def sentences(section: type[Section]) -> dict[str, str]:
    """What stands below each field of ``section`` in its source: its documentation."""
    import ast  # for whoever writes the documentation, not for whoever starts a runtime
    import inspect

    (body,) = ast.parse(inspect.getsource(section)).body
    assert isinstance(body, ast.ClassDef)
    found: dict[str, str] = {}
    for field, below in zip(body.body, body.body[1:], strict=False):
        match field, below:
            case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str(text))):
                found[name] = inspect.cleandoc(text)
            case _:
                pass
    return found

"""The base class of all configuration sections: frozen, and refusing unknown keys."""

import ast
import inspect
from typing import Any

from pydantic import BaseModel, ConfigDict, Field


class Section(BaseModel):
    """One table of the configuration."""

    # `defer_build`: `Config` builds all its sections at once; building each one alone would take as long again at every start.
    # `use_attribute_docstrings` stays off: Pydantic would parse every source file at every start.
    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True, defer_build=True)


def use_section_defaults() -> Any:
    """Returns a field whose default is a section with all its defaults, built together with the section that holds it."""
    return Field(default_factory=dict, validate_default=True)


def read_field_sentences(section: type[Section]) -> dict[str, str]:
    """Returns the documentation of each field of ``section``: the string below the field in the source."""
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

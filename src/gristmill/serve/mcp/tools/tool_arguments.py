"""Checks the arguments of the tools. A wrong argument gives a tool error that the model can read and correct, not a protocol
error."""

from typing import Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from gristmill.harmless_text import neutralize_text

LONGEST_QUERY = 2_000

T = TypeVar("T", bound=BaseModel)


class WrongArguments(ValueError):
    """The arguments of a tool call are not valid; the text says which and why."""


class _Arguments(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)


class SearchArguments(_Arguments):
    """Arguments of ``search_tools``."""

    query: str = Field(max_length=LONGEST_QUERY)
    detail_level: Literal["name_only", "with_description", "full"] | None = None
    limit: int = Field(default=5, ge=1, le=100)
    server: str | None = Field(default=None, max_length=64)


class ExecuteArguments(_Arguments):
    """Arguments of ``execute_code``."""

    code: str | None = None
    session: str | None = Field(default=None, max_length=128)
    resume: str | None = Field(default=None, max_length=128)
    background: bool = False
    timeout: float | None = Field(default=None, gt=0, le=86_400)
    budget: int | None = Field(default=None, ge=1, le=100_000)
    language: Literal["python", "typescript"] | None = None


class CallArguments(_Arguments):
    """Arguments of ``call_tool``."""

    tool: str = Field(max_length=256)
    arguments: dict[str, Any] = Field(default_factory=dict[str, Any])
    session: str | None = Field(default=None, max_length=128)


def check_arguments(kind: type[T], arguments: dict[str, Any] | None) -> T:
    """Returns the arguments as a value of the type ``kind``.

    Raises:
        WrongArguments: the arguments are not valid.
    """
    try:
        # Several clients send null for arguments that are not given.
        return kind.model_validate({name: value for name, value in (arguments or {}).items() if value is not None})
    except ValidationError as error:
        problems = [
            f"{'.'.join(map(str, problem['loc']))}: {problem['msg']}"
            for problem in error.errors(include_url=False, include_input=False, include_context=False)[:5]
        ]
        known = ", ".join(kind.model_fields)
        raise WrongArguments(neutralize_text(f"wrong arguments: {'; '.join(problems)}. Known are: {known}")) from None

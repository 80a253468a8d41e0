"""The `shaping` section of the configuration: what may go back to the model. Ground below `config`, which reads the files."""

from typing import Literal

from pydantic import Field

from gristmill.config.sections.base import Section


class ShapingConfig(Section):
    """What goes back of one execution, in tokens of o200k. What does not fit stays in the session's workspace."""

    output_tokens: int = Field(default=500, ge=100, le=10_000_000)
    """Tokens of what the code printed."""
    result_tokens: int = Field(default=2_000, ge=100, le=10_000_000)
    """Tokens of the result as JSON without spaces."""
    error_tokens: int = Field(default=400, ge=100, le=10_000_000)
    """Tokens of the error; its last lines are kept."""
    strategy: Literal["summarize", "head_tail", "sample", "schema_only", "full"] = "summarize"
    """How that which does not fit is made short, where a call does not say; `full` sends all of it."""

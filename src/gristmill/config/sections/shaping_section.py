"""The `shaping` section of the configuration: how much of an outcome goes back to the model."""

from typing import Literal

from pydantic import Field

from gristmill.config.sections.base import Section


class ShapingConfig(Section):
    """How much of an outcome goes back to the model, in o200k tokens. The rest stays in the session's workspace."""

    output_tokens: int = Field(default=500, ge=100, le=10_000_000)
    """Tokens of the printed output."""
    result_tokens: int = Field(default=2_000, ge=100, le=10_000_000)
    """Tokens of the result as JSON without spaces."""
    error_tokens: int = Field(default=400, ge=100, le=10_000_000)
    """Tokens of the error; its last lines are kept."""
    strategy: Literal["summarize", "head_tail", "sample", "schema_only", "full"] = "summarize"
    """How parts that do not fit are shortened, if the request does not say; `full` sends everything."""

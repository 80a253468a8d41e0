"""Gristmill under the name that LangChain's integrations have: the names of ``gristmill.serve.langchain``."""

from typing import TYPE_CHECKING, Any

from gristmill.serve import langchain as door
from gristmill.serve.langchain import CodeModeMiddleware, GristmillToolkit, MCPCodeExecutionChain

if TYPE_CHECKING:
    from gristmill.serve.langchain import GristmillSandbox

__all__ = ["CodeModeMiddleware", "GristmillSandbox", "GristmillToolkit", "MCPCodeExecutionChain"]


def __getattr__(name: str) -> Any:
    # The sandbox for Deep Agents needs an extra of its own: the door loads it, or says what to install.
    if name != "GristmillSandbox":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return door.GristmillSandbox

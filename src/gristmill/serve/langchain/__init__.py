"""The door for LangChain and LangGraph: a toolkit, a middleware for agents, and a chain.

It translates and decides nothing. Only this folder imports LangChain, which the extra ``gristmill[langchain]`` installs.
The sandbox for Deep Agents needs the extra ``gristmill[deepagents]``, so it is loaded when it is asked for.
"""

from typing import TYPE_CHECKING, Any

from gristmill.serve.langchain.code_chain import MCPCodeExecutionChain
from gristmill.serve.langchain.code_mode import CodeModeMiddleware
from gristmill.serve.langchain.toolkit import GristmillToolkit

if TYPE_CHECKING:
    from gristmill.serve.langchain.deep_sandbox import GristmillSandbox

__all__ = ["CodeModeMiddleware", "GristmillSandbox", "GristmillToolkit", "MCPCodeExecutionChain"]


def __getattr__(name: str) -> Any:
    if name != "GristmillSandbox":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        from gristmill.serve.langchain.deep_sandbox import GristmillSandbox
    except ModuleNotFoundError as error:
        missing = str(error.name).partition(".")[0]
        raise ImportError(f"GristmillSandbox needs {missing}: pip install 'gristmill[deepagents]'") from error
    return GristmillSandbox

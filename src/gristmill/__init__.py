"""Gristmill: an MCP code-execution gateway. The public names and nothing else."""

__version__ = "0.1.0"

TYPE_CHECKING = False  # as in `typing`, which the jail's launcher would load for this name alone
if TYPE_CHECKING:
    from gristmill.blocking import BlockingRuntime
    from gristmill.config.tree import Config, load_config
    from gristmill.errors import ConfigError, Error, LimitExceeded, NotFound, Refused, SandboxError, UpstreamError
    from gristmill.events import Event
    from gristmill.model import Execution, Handler, Layer, Limits, Outcome, Tool, ToolCall, ToolResult, Usage
    from gristmill.runtime.runtime import Runtime, Session
    from gristmill.sandbox.base import Pool, Sandbox

_HOME = {
    "BlockingRuntime": "blocking",
    "Config": "config.tree",
    "ConfigError": "errors",
    "Error": "errors",
    "Event": "events",
    "Execution": "model",
    "Handler": "model",
    "Layer": "model",
    "LimitExceeded": "errors",
    "Limits": "model",
    "NotFound": "errors",
    "Outcome": "model",
    "Pool": "sandbox.base",
    "Refused": "errors",
    "Runtime": "runtime.runtime",
    "Sandbox": "sandbox.base",
    "SandboxError": "errors",
    "Session": "runtime.runtime",
    "Tool": "model",
    "ToolCall": "model",
    "ToolResult": "model",
    "UpstreamError": "errors",
    "Usage": "model",
    "load_config": "config.tree",
}

__all__ = [
    "BlockingRuntime",
    "Config",
    "ConfigError",
    "Error",
    "Event",
    "Execution",
    "Handler",
    "Layer",
    "LimitExceeded",
    "Limits",
    "NotFound",
    "Outcome",
    "Pool",
    "Refused",
    "Runtime",
    "Sandbox",
    "SandboxError",
    "Session",
    "Tool",
    "ToolCall",
    "ToolResult",
    "UpstreamError",
    "Usage",
    "load_config",
]


def __getattr__(name: str) -> object:
    # Lazy, so that `gristmill --help` and the jail's launcher, which imports only gristmill.sandbox.linux under
    # `python -I -S`, pay for nothing they do not use.
    if name not in _HOME:
        raise AttributeError(f"module 'gristmill' has no attribute {name!r}")
    import importlib

    return getattr(importlib.import_module(f"gristmill.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return __all__

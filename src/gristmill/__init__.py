"""Gristmill, an MCP code-execution gateway. This module exports the public names and holds nothing else."""

import importlib

__version__ = "0.2.0"

TYPE_CHECKING = False  # set here: the jail's launcher would otherwise import `typing` only for this name
if TYPE_CHECKING:
    from gristmill.blocking import BlockingRuntime
    from gristmill.config.tree import Config, load_config
    from gristmill.errors import ConfigError, Error, LimitExceeded, NotFound, Refused, SandboxError, UpstreamError
    from gristmill.events import Event
    from gristmill.model import Execution, Handler, Identity, Layer, Limits, Outcome, Tool, ToolCall, ToolResult, Usage
    from gristmill.runtime.runtime import Runtime, Session
    from gristmill.runtime.values.sandbox_values import Pool, Sandbox

# The module that offers each public name, below `gristmill`.
_HOME = {
    "BlockingRuntime": "blocking",
    "Config": "config.tree",
    "ConfigError": "errors",
    "Error": "errors",
    "Event": "events",
    "Execution": "model",
    "Handler": "model",
    "Identity": "model",
    "Layer": "model",
    "LimitExceeded": "errors",
    "Limits": "model",
    "NotFound": "errors",
    "Outcome": "model",
    "Pool": "runtime.values.sandbox_values",
    "Refused": "errors",
    "Runtime": "runtime.runtime",
    "Sandbox": "runtime.values.sandbox_values",
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
    "Identity",
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
    # Names are imported on first use, so that `gristmill --help` and the jail's launcher (which imports only
    # gristmill.sandbox.linux, under `python -I -S`) do not import modules that they do not need.
    if name not in _HOME:
        raise AttributeError(f"module 'gristmill' has no attribute {name!r}")
    return getattr(importlib.import_module(f"gristmill.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return __all__

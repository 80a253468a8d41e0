"""Decides which language a program is written in, and prepares one in TypeScript for its sandbox."""

from msgspec.structs import replace

from gristmill.catalog.catalog import Catalog
from gristmill.guard.program.repair.javascript import looks_like_javascript
from gristmill.model import Report
from gristmill.runtime.execution.execution_state import ExecutionState
from gristmill.runtime.open.sandboxes.typescript_sandboxes import TypeScriptSandboxes

_JAVASCRIPT_GLOBALS = frozenset(
    "Array Atomics BigInt Boolean Buffer Date Deno Error Intl JSON Map Math Number Object Promise Proxy Reflect RegExp Set "
    "Symbol String Temporal URL WeakMap codemode console context crypto fetch global globalThis mcp navigator performance "
    "process self servers tools".split()
)
"""Names that mean something else in JavaScript than a server."""


def is_typescript(run: ExecutionState) -> bool:
    """Returns whether the program of ``run`` is to be run as TypeScript."""
    return run.execution.language == "typescript"


def switch_to_typescript(run: ExecutionState, report: Report, sandboxes: TypeScriptSandboxes) -> bool:
    """Returns whether a program that is no Python is run as TypeScript; nothing of it has run, since it did not parse."""
    if run.execution.language is not None or report.error_type != "SyntaxError" or report.status != "failed":
        return False
    if not looks_like_javascript(run.execution.code) or not sandboxes.installed:
        return False
    run.execution = replace(run.execution, language="typescript")
    return True


def prepare_program(catalog: Catalog, run: ExecutionState) -> str:
    """Returns the module that the guest for TypeScript imports."""
    from gristmill.guard.program.typescript.prepare_typescript import prepare_typescript  # an extra that few programs need

    servers = frozenset(catalog.modules.values()) - _JAVASCRIPT_GLOBALS
    return prepare_typescript(run.execution.code, servers=servers, keeps_names=run.space is not None)

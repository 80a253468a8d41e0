"""Runs inside a plain child process: a program from standard input, tools over the pipes, the value of the last expression back.

Modes: ``snippet`` has the tools as functions in the same process; ``pipe`` calls them in the parent, one JSON line each way.
"""

import ast
import asyncio
import inspect
import json
import os
import sys
import types

here, mode, packages = sys.argv[1], sys.argv[2], sys.argv[3]
sys.path.append(packages)


def servers(functions):
    """``from servers import crm``."""
    package = types.ModuleType("servers")
    for key, function in functions.items():
        server, tool = key.split(".")
        module = sys.modules.setdefault(f"servers.{server}", types.ModuleType(f"servers.{server}"))
        setattr(module, tool, function)
        setattr(package, server, module)
    sys.modules["servers"] = package


def load(code):
    """The program with its last expression kept."""
    tree = compile(code, "<code>", "exec", ast.PyCF_ONLY_AST | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    last = tree.body[-1] if tree.body else None
    if isinstance(last, ast.Expr):
        tree.body[-1] = ast.copy_location(ast.Assign([ast.Name("__result__", ast.Store())], last.value), last)
    return compile(ast.fix_missing_locations(tree), "<code>", "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)


def run(code):
    """Its value."""
    scope = {"__name__": "__main__"}
    compiled = load(code)
    if compiled.co_flags & inspect.CO_COROUTINE:
        asyncio.run(eval(compiled, scope))
    else:
        exec(compiled, scope)
    return scope.get("__result__")


def over_the_pipe(tool):
    """A tool that lives in the parent."""

    def call(**arguments):
        out.write(json.dumps([tool, arguments]) + "\n")
        out.flush()
        return json.loads(sys.stdin.readline())

    return call


out = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)
if mode == "snippet":
    sys.path.append(here)
    import toolset

    servers(toolset.TOOLS)
    program = sys.stdin.read()
else:
    servers({key: over_the_pipe(key) for key in ("bench.echo", "bench.rows")})
    program = json.loads(sys.stdin.readline())
value = run(program)
out.write(json.dumps({"result": value}) + "\n")
out.flush()

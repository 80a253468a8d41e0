# pyright: basic, reportArgumentType=false, reportAssignmentType=false, reportAttributeAccessIssue=false
# pyright: reportOptionalMemberAccess=false, reportOptionalSubscript=false
# The agent's code is dynamic, and so is what runs it: strict typing stops at this door.
"""The agent's text becomes a code object: last expression kept, ``return`` and ``await`` at top level accepted."""

import ast
import builtins
import linecache

from gristmill.guest.asyncio_loops import aiter_any, awaitable
from gristmill.guest.parallel_sites import parallel_sites

RESULT = "__result__"
_FLAGS = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
_HELPERS = {"__awaitable__": awaitable, "__aiter_any__": aiter_any}


class Return(BaseException):
    """A ``return`` at top level: leaves the program with a value."""

    def __init__(self, value=None):
        super().__init__()
        self.value = value


def load(code, name):
    """Compile ``code``; returns the code object and the places where calls run in parallel.

    Raises:
        SyntaxError: with line and column in the agent's own text.
    """
    linecache.cache[name] = (len(code), None, code.splitlines(keepends=True), name)
    tree = compile(code, name, "exec", _FLAGS | ast.PyCF_ONLY_AST, dont_inherit=True)
    sites, rewritten = (), False
    if "await" in code or "asyncio" in code:
        sites = parallel_sites(tree)
        tree, rewritten = _Tolerant().visit(tree), True
    if "return" in code:
        tree, rewritten = _Returns().visit(tree), True
    if tree.body and isinstance(tree.body[-1], ast.Expr):
        last = tree.body[-1]
        target = ast.copy_location(ast.Name(RESULT, ast.Store()), last)
        tree.body[-1] = ast.copy_location(ast.Assign([target], last.value), last)
    if rewritten:
        ast.fix_missing_locations(tree)
    return compile(tree, name, "exec", _FLAGS, dont_inherit=True), sites


class _Tolerant(ast.NodeTransformer):
    """``await x`` also takes a plain value, ``async for`` also a plain list: models mix the two."""

    def visit_Await(self, node):
        self.generic_visit(node)
        node.value = _call("__awaitable__", node.value)
        return node

    def _async_iteration(self, node):
        self.generic_visit(node)
        node.iter = _call("__aiter_any__", node.iter)
        return node

    visit_AsyncFor = _async_iteration  # noqa: N815

    def visit_comprehension(self, node):
        return self._async_iteration(node) if node.is_async else self.generic_visit(node)


class _Returns(ast.NodeTransformer):
    """``return x`` outside a function becomes ``raise Return(x)``."""

    def _keep(self, node):
        return node

    visit_FunctionDef = visit_AsyncFunctionDef = visit_Lambda = visit_ClassDef = _keep  # noqa: N815

    def visit_Return(self, node):
        value = node.value or ast.Constant(None)
        return ast.copy_location(ast.Raise(_call("__return__", value, at=node), None), node)


def _call(name, argument, at=None):
    where = at or argument
    call = ast.Call(ast.Name(name, ast.Load()), [argument], [])
    for node in (call, call.func):
        ast.copy_location(node, where)
    return call


def install():
    """Give the rewritten code the names it uses, out of the agent's way."""
    vars(builtins).update(_HELPERS, __return__=Return)

# pyright: basic, reportArgumentType=false, reportAssignmentType=false, reportAttributeAccessIssue=false
# pyright: reportOptionalMemberAccess=false, reportOptionalSubscript=false
# A program's code is dynamic, and so is the code that runs it: this file is not type-checked strictly.
"""Compiles a program's text: the last expression is kept as the result, ``return`` and ``await`` are accepted at top level."""

import ast
import builtins
import linecache

from gristmill.guest.asyncio_loops import make_async_iterable, make_awaitable
from gristmill.guest.calls.parallel_sites import find_parallel_sites

RESULT_NAME = "__result__"
_FLAGS = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
_HELPERS = {"__awaitable__": make_awaitable, "__aiter_any__": make_async_iterable}


class Return(BaseException):
    """A ``return`` at top level: leaves the program with a value."""

    def __init__(self, value=None):
        super().__init__()
        self.value = value


def compile_program(code, name):
    """Compiles ``code``; returns the code object and the places where calls run in parallel.

    Raises:
        SyntaxError: with line and column in the program's own text.
    """
    linecache.cache[name] = (len(code), None, code.splitlines(keepends=True), name)
    tree = compile(code, name, "exec", _FLAGS | ast.PyCF_ONLY_AST, dont_inherit=True)
    sites, rewritten = (), False
    if "await" in code or "asyncio" in code:
        sites = find_parallel_sites(tree)
        tree, rewritten = _PlainValueAwaits().visit(tree), True
    if "return" in code:
        tree, rewritten = _TopLevelReturns().visit(tree), True
    if tree.body and isinstance(tree.body[-1], ast.Expr):
        last = tree.body[-1]
        target = ast.copy_location(ast.Name(RESULT_NAME, ast.Store()), last)
        tree.body[-1] = ast.copy_location(ast.Assign([target], last.value), last)
    if rewritten:
        ast.fix_missing_locations(tree)
    return compile(tree, name, "exec", _FLAGS, dont_inherit=True), sites


class _PlainValueAwaits(ast.NodeTransformer):
    """Lets ``await x`` also take a plain value and ``async for`` also a plain list: models mix the two."""

    def visit_Await(self, node):
        self.generic_visit(node)
        node.value = _make_call("__awaitable__", node.value)
        return node

    def _accept_plain_iterable(self, node):
        self.generic_visit(node)
        node.iter = _make_call("__aiter_any__", node.iter)
        return node

    visit_AsyncFor = _accept_plain_iterable  # noqa: N815

    def visit_comprehension(self, node):
        return self._accept_plain_iterable(node) if node.is_async else self.generic_visit(node)


class _TopLevelReturns(ast.NodeTransformer):
    """Turns ``return x`` outside a function into ``raise Return(x)``."""

    def _keep_node(self, node):
        return node

    visit_FunctionDef = visit_AsyncFunctionDef = visit_Lambda = visit_ClassDef = _keep_node  # noqa: N815

    def visit_Return(self, node):
        value = node.value or ast.Constant(None)
        return ast.copy_location(ast.Raise(_make_call("__return__", value, at=node), None), node)


def _make_call(name, argument, at=None):
    where = at or argument
    call = ast.Call(ast.Name(name, ast.Load()), [argument], [])
    for node in (call, call.func):
        ast.copy_location(node, where)
    return call


def install_builtins():
    """Makes the functions that rewritten code calls available as builtins, under names that do not clash with the program's."""
    # A function, not the class: programs and libraries look for exceptions among the builtins, and this one is none of theirs.
    vars(builtins).update(_HELPERS, __return__=lambda value: Return(value))

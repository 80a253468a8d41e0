"""Which calls are written to run in parallel: read off the tree."""

import ast

import pytest

from gristmill.guest.calls.parallel_sites import find_parallel_sites

PARALLEL = {
    "awaited": "await T()",
    "gathered": "gather(T(), T())",
    "in a list": "gather(*[T() for i in x])",
    "through a name": "a = T()\nawait a",
    "through an append": "a = []\na.append(T())\nawait gather(*a)",
    "through a loop": "a = [T() for i in x]\nfor b in a:\n    await b",
    "through a dict": "a = {1: T()}\nfor k, v in a.items():\n    await v",
    "through a subscript": "a = {}\na['k'] = T()\nawait a['k']",
    "returned": "def f():\n    return T()\nawait f()",
    "by a lambda": "f = lambda: T()\nawait f()",
    "as a parameter": "async def f(c):\n    await c\nf(T())",
    "as a keyword": "async def f(c):\n    await c\nf(c=T())",
    "as one of many": "async def f(*c):\n    await gather(*c)\nf(T(), T())",
    "conditionally": "await (T() if x else T())",
    "as a task": "create_task(T())",
    "asyncio.run": "asyncio.run(T())",
    "concatenated": "await gather(*([T()] + [T()]))",
    "walrus": "gather(a := T())",
}
PLAIN = {
    "assigned": "a = T()\nprint(a)",
    "argument": "print(T())",
    "in an async function": "async def f():\n    a = T()\n    return a\nawait f()",
    "same name in another function": "def f():\n    a = T()\n    print(a)\nasync def g(a):\n    await a",
    "subprocess.run": "subprocess.run(T())",
    "thread pool": "pool.map(lambda i: T(), x)",
    "loop over the value": "for row in T():\n    await other(row)",
}


def sites(code: str) -> tuple[set[tuple[int, int]], set[tuple[int, int]]]:
    tree = ast.parse(code)
    calls = {
        (node.end_lineno or 0, node.end_col_offset or 0)
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "T"
    }
    return calls, find_parallel_sites(tree)


@pytest.mark.parametrize("name", PARALLEL)
def test_parallel_calls_are_found(name: str) -> None:
    calls, found = sites(PARALLEL[name])
    assert calls
    assert calls <= found


@pytest.mark.parametrize("name", PLAIN)
def test_plain_calls_are_left_plain(name: str) -> None:
    calls, found = sites(PLAIN[name])
    assert calls
    assert not calls & found

"""Programs as models write them: every way to end, to call a tool and to run in parallel, in the real sandbox."""

import re

import pytest

from gristmill import BlockingRuntime
from gristmill.model import Json, Outcome
from tests.conftest import reset_meeting

HEAD = "from servers import crm\nimport asyncio\n"


def run(runtime: BlockingRuntime, code: str) -> Outcome:
    reset_meeting()
    return runtime.execute(HEAD + code)


ENDINGS = {
    "last expression": ("6 * 7", 42),
    "no expression": ("x = 1", None),
    "top-level return": ("x = 3\nif x:\n    return {'x': x}\nprint('never')", {"x": 3}),
    "bare return": ("return", None),
    "return inside try": ("try:\n    return 1\nfinally:\n    print('done')", 1),
    "top-level await": ("await asyncio.sleep(0)\n'awaited'", "awaited"),
    "asyncio.run": ("async def main():\n    return 5\nasyncio.run(main())", 5),
    "asyncio.run inside a running loop": ("await asyncio.sleep(0)\nasync def main():\n    return 5\nasyncio.run(main())", 5),
    "run_until_complete": ("async def main():\n    return 5\nasyncio.new_event_loop().run_until_complete(main())", 5),
    "forgotten await of main": ("async def main():\n    return 5\nmain()", 5),
    "main guard": ("def main():\n    return 9\nif __name__ == '__main__':\n    value = main()\nvalue", 9),
    "sys.exit(0)": ("import sys\nsys.exit(0)", None),
    "async comprehension": (
        "async def numbers():\n    for n in range(3):\n        yield n\n[n async for n in numbers()]",
        [0, 1, 2],
    ),
    "class and inheritance": ("class A:\n    x = 1\nclass B(A):\n    pass\nB().x", 1),
    "dataclass by name": ("from dataclasses import dataclass\n@dataclass\nclass P:\n    x: int\nP(2)", {"x": 2}),
    "generator": ("def g():\n    yield from range(3)\nlist(g())", [0, 1, 2]),
    "pickle of own class": ("import pickle\nclass P:\n    x = 4\npickle.loads(pickle.dumps(P())).x", 4),
    "subprocess": (
        "import subprocess, sys\nsubprocess.run([sys.executable, '-c', 'print(40 + 2)'], capture_output=True, text=True).stdout",
        "42\n",
    ),
    "process pool": (
        "import multiprocessing\ndef sq(x):\n    return x * x\nwith multiprocessing.Pool(2) as p:\n    r = p.map(sq, [1, 2])\nr",
        [1, 4],
    ),
    "future import": ("from __future__ import annotations\nx: int = 1\nx", 1),
}


@pytest.mark.parametrize("name", ENDINGS)
def test_a_program_ends_as_its_author_meant(runtime: BlockingRuntime, name: str) -> None:
    code, expected = ENDINGS[name]
    # A future import must come first: no head.
    outcome = runtime.execute(code if name == "future import" else HEAD + code)
    assert (outcome.status, outcome.result, outcome.error) == ("ok", expected, None)


CALLS = {
    "plain": ("crm.find(q='a')", {"q": "a", "limit": 10}),
    "by position": ("crm.get(3)", {"number": 3}),
    "await": ("await crm.find(q='a', limit=2)", {"q": "a", "limit": 2}),
    "in a function": ("def f():\n    return crm.get(1)['number']\nf()", 1),
    "in an async function": ("async def f():\n    return (await crm.get(1))['number']\nawait f()", 1),
    "forgotten await in an async function": ("async def f():\n    return crm.get(1)['number']\nawait f()", 1),
    "in a lambda": ("(lambda i: crm.get(i))(2)['number']", 2),
    "awaited lambda": ("f = lambda i: crm.get(i)\n(await f(2))['number']", 2),
    "in a comprehension": ("[crm.get(i)['number'] for i in range(3)]", [0, 1, 2]),
    "awaited in a comprehension": ("[(await crm.get(i))['number'] for i in range(3)]", [0, 1, 2]),
    "in a generator": (
        "def pages():\n    for i in range(3):\n        yield crm.get(i)\n[p['number'] for p in pages()]",
        [0, 1, 2],
    ),
    "in an async generator": (
        "async def pages():\n    for i in range(3):\n        yield await crm.get(i)\n[p['number'] async for p in pages()]",
        [0, 1, 2],
    ),
    "async for over a plain list": ("r = []\nasync for row in crm.rows(2):\n    r.append(row['id'])\nr", [0, 1]),
    "imported from the server": ("from servers.crm import find, get\n[find(q='z')['q'], (await get(1))['number']]", ["z", 1]),
    "by name": ("from mcp_client import call_mcp_tool\ncall_mcp_tool('crm.get', {'number': 8})['number']", 8),
    "asyncio.run of a call": ("asyncio.run(crm.get(1))['number']", 1),
    "wait_for": ("(await asyncio.wait_for(crm.get(1), 5))['number']", 1),
    "failure caught": (
        "try:\n    crm.fail()\nexcept Exception as error:\n    x = (type(error).__name__, str(error))\nx",
        ["ToolError", "no such record"],
    ),
    "failure as a value": ("r = await asyncio.gather(crm.fail(), crm.get(1), return_exceptions=True)\nr[1]", {"number": 1}),
    "a pending answer used as a value": (
        "a = crm.get(1)\nasync def later():\n    return await a\n[a['number'], len(a), isinstance(a, dict), sorted(a)]",
        [1, 1, True, ["number"]],
    ),
}


@pytest.mark.parametrize("name", CALLS)
def test_a_tool_can_be_called_in_every_shape(runtime: BlockingRuntime, name: str) -> None:
    code, expected = CALLS[name]
    outcome = run(runtime, code)
    assert (outcome.error, outcome.result) == (None, expected)


PARALLEL = {
    "gather": "await asyncio.gather(crm.slow(0), crm.slow(1), crm.slow(2))",
    "gather of a list": "await asyncio.gather(*[crm.slow(i) for i in range(3)])",
    "gather of a generator": "await asyncio.gather(*(crm.slow(i) for i in range(3)))",
    "list first, gathered later": "calls = [crm.slow(i) for i in range(3)]\nawait asyncio.gather(*calls)",
    "appended, awaited in a loop": (
        "calls = []\nfor i in range(3):\n    calls.append(crm.slow(i))\nr = []\nfor call in calls:\n    r.append(await call)\nr"
    ),
    "dict of calls": "calls = {i: crm.slow(i) for i in range(3)}\n[await call for key, call in calls.items()]",
    "task group": (
        "async def main():\n    async with asyncio.TaskGroup() as group:\n"
        "        tasks = [group.create_task(crm.slow(i)) for i in range(3)]\n    return [t.result() for t in tasks]\nawait main()"
    ),
    "create_task": "tasks = [asyncio.create_task(crm.slow(i)) for i in range(3)]\n[await t for t in tasks]",
    "as_completed": (
        "r = []\nfor done in asyncio.as_completed([crm.slow(i) for i in range(3)]):\n    r.append(await done)\nsorted(r, key=str)"
    ),
    "asyncio.wait": "done, _ = await asyncio.wait([asyncio.ensure_future(crm.slow(i)) for i in range(3)])\nsorted((d.result() for d in done), key=str)",
    "thread pool": (
        "from concurrent.futures import ThreadPoolExecutor\nwith ThreadPoolExecutor(3) as pool:\n    r = list(pool.map(crm.slow, range(3)))\nr"
    ),
    "thread pool with a function": (
        "from concurrent.futures import ThreadPoolExecutor\ndef one(i):\n    return crm.slow(i)\n"
        "with ThreadPoolExecutor(3) as pool:\n    r = list(pool.map(one, range(3)))\nr"
    ),
    "to_thread": "await asyncio.gather(*[asyncio.to_thread(crm.slow, i) for i in range(3)])",
    "helper function": "def fetch(i):\n    return crm.slow(i)\nawait asyncio.gather(*[fetch(i) for i in range(3)])",
    "helper coroutine": "async def fetch(i):\n    return await crm.slow(i)\nawait asyncio.gather(*[fetch(i) for i in range(3)])",
    "map": "await asyncio.gather(*map(crm.slow, range(3)))",
    "passed to a coroutine": "async def use(call):\n    return await call\nawait asyncio.gather(*[use(crm.slow(i)) for i in range(3)])",
    "inside asyncio.run": "async def main():\n    return await asyncio.gather(*[crm.slow(i) for i in range(3)])\nasyncio.run(main())",
    "inside nested asyncio.run": (
        "await asyncio.sleep(0)\nasync def main():\n    return await asyncio.gather(*[crm.slow(i) for i in range(3)])\nasyncio.run(main())"
    ),
}


@pytest.mark.parametrize("name", PARALLEL)
def test_calls_written_as_parallel_are_under_way_at_the_same_time(runtime: BlockingRuntime, name: str) -> None:
    outcome = run(runtime, PARALLEL[name])
    assert (outcome.error, outcome.result) == (None, [{"number": 0}, {"number": 1}, {"number": 2}])


def test_a_call_whose_answer_is_never_used_still_happens(runtime: BlockingRuntime) -> None:
    outcome = run(runtime, "calls = [crm.get(1)]\nif False:\n    await asyncio.gather(*calls)\n'end'")
    assert (outcome.result, outcome.tools_called) == ("end", ("crm.get",))


def test_a_failure_nobody_looked_at_is_the_programs_failure(runtime: BlockingRuntime) -> None:
    outcome = run(runtime, "calls = [crm.fail()]\nif False:\n    await asyncio.gather(*calls)\n'end'")
    assert (outcome.status, outcome.error_type) == ("failed", "ToolError")


def test_an_unknown_tool_names_near_ones(runtime: BlockingRuntime) -> None:
    for code in (
        "crm.fnd(q='a')",
        "getattr(crm, 'f' + 'nd')(q='a')",
        "from mcp_client import call_mcp_tool\ncall_mcp_tool('crm.' + 'fnd')",
    ):
        outcome = run(runtime, code)
        assert outcome.error_type in ("ToolError", "AttributeError", "refused.code")
        assert re.search(r"did you mean \S*find|write find", outcome.error or "")


def test_a_wrong_argument_is_named(runtime: BlockingRuntime) -> None:
    outcome = run(runtime, "from mcp_client import call_mcp_tool\ncall_mcp_tool('crm.find', query='a')")
    assert 'query: got "a" (string)' in (outcome.error or "")
    assert "known: q, limit" in (outcome.error or "")


def test_tracebacks_show_the_agents_lines_and_none_of_ours(runtime: BlockingRuntime) -> None:
    outcome = runtime.execute("def f(x):\n    return 1 / x\n\nf(0)")
    assert outcome.error == (
        "Traceback (most recent call last):\n"
        '  File "<code 1>", line 4, in <module>\n    f(0)\n'
        '  File "<code 1>", line 2, in f\n    return 1 / x\n           ~~^~~\n'
        "ZeroDivisionError: division by zero"
    )


def test_tracebacks_of_failed_calls_show_nothing_of_ours(runtime: BlockingRuntime) -> None:
    for code in ("crm.fail()", "await crm.fail()", "await asyncio.gather(crm.fail(), crm.get(1))"):
        error = run(runtime, code).error or ""
        assert "mcp_client.ToolError: no such record" in error
        assert "gristmill" not in error


def test_syntax_errors_point_at_line_and_column(runtime: BlockingRuntime) -> None:
    outcome = runtime.execute("x = 1\ny = (2,\nz = 3")
    assert outcome.error_type == "SyntaxError"
    assert outcome.error == "  File \"<code 1>\", line 2\n    y = (2,\n        ^\nSyntaxError: '(' was never closed"


def test_output_of_print_subprocess_and_raw_writes_keeps_its_order(runtime: BlockingRuntime) -> None:
    outcome = runtime.execute(
        "import os, subprocess, sys\nprint('one')\nsubprocess.run([sys.executable, '-c', 'print(\"two\")'])\n"
        "os.write(1, b'three\\n')\nprint('four', file=sys.stderr)"
    )
    assert outcome.output == "one\ntwo\nthree\nfour\n"


def test_sys_exit_with_a_code_is_a_failure(runtime: BlockingRuntime) -> None:
    outcome = runtime.execute("import sys\nprint('x')\nsys.exit(3)")
    assert (outcome.status, outcome.output, outcome.error) == ("failed", "x\n", "SystemExit: 3")


def test_a_fork_made_by_the_code_does_not_speak_for_it(runtime: BlockingRuntime) -> None:
    outcome = runtime.execute("import os\nchild = os.fork()\nif child:\n    os.waitpid(child, 0)\n'parent' if child else 'child'")
    assert (outcome.status, outcome.result) == ("ok", "parent")


def test_code_that_patches_its_own_interpreter_still_gets_its_report(runtime: BlockingRuntime) -> None:
    outcome = runtime.execute("import json, os\njson.dumps = lambda *a, **k: 'x'\nos.getpid = lambda: 0\nprint('done')\n1 / 0")
    assert (outcome.status, outcome.error_type, outcome.output) == ("failed", "ZeroDivisionError", "done\n")


def test_context_is_a_read_only_object(runtime: BlockingRuntime) -> None:
    code = "try:\n    context.user_id = 2\nexcept AttributeError as error:\n    refused = str(error)\n[context.user_id, context['user_id'], refused]"
    assert runtime.execute(code, context={"user_id": 7}).result == [7, 7, "context is read-only"]


@pytest.mark.parametrize(
    "change",
    [
        "context.user['name'] = 'eve'", "del context.user['name']", "context.user.update(name='eve')", "context.user.pop('name')",
        "context.user |= {'name': 'eve'}", "context.user.setdefault('x', 1)", "context.user.clear()", "context.ids.append(3)",
        "context.ids[0] = 9", "context.ids += [3]", "context.ids.sort()", "context.user['roles'].extend('x')", "context['user'] = {}",
    ],
)  # fmt: skip
def test_nothing_in_a_context_can_be_changed(runtime: BlockingRuntime, change: str) -> None:
    context: dict[str, Json] = {"user": {"name": "ann", "roles": ["a"]}, "ids": [2, 1]}
    code = f"try:\n    {change}\nexcept (TypeError, AttributeError): pass\nelse: 1 / 0\n[context.user, context.ids]"
    assert runtime.execute(code, context=context).result == [context["user"], context["ids"]]


def test_copies_out_of_a_context_are_ordinary_values(runtime: BlockingRuntime) -> None:
    code = (
        "import copy, json\nuser, deep = context.user.copy(), copy.deepcopy(context.user)\nuser['name'] = 'eve'\n"
        "deep['roles'].append('b')\n[user, deep, json.loads(json.dumps(context.user)), sorted(context.ids), context.ids + [3]]"
    )
    user: dict[str, Json] = {"name": "ann", "roles": ["a"]}
    result = runtime.execute(code, context={"user": user, "ids": [2, 1]}).result
    assert result == [{**user, "name": "eve"}, {"name": "ann", "roles": ["a", "b"]}, user, [1, 2], [2, 1, 3]]


def test_without_a_context_there_is_an_empty_one_that_says_so(runtime: BlockingRuntime) -> None:
    assert runtime.execute("[len(context), list(context), 'user_id' in context, bool(context)]").result == [0, [], False, False]
    error = runtime.execute("context.user_id").error
    assert error is not None
    assert "the caller passed no 'user_id'; there is: nothing" in error


def test_the_context_of_one_execution_is_not_there_for_the_next_of_its_session(runtime: BlockingRuntime) -> None:
    assert runtime.execute("context.user_id", session="whose", context={"user_id": "alice"}).result == "alice"
    assert runtime.execute("'user_id' in context", session="whose").result is False
    assert runtime.execute("'user_id' in context", session="whose", context={}).result is False
    runtime.execute("context = 'a variable of mine'", session="whose")
    assert runtime.execute("context", session="whose").result == "a variable of mine"


def test_a_workspace_module_cannot_stand_in_for_a_library(runtime: BlockingRuntime) -> None:
    code = "open('json.py', 'w').write('x = 1')\nopen('helper.py', 'w').write('x = 2')\nimport helper, colorsys\nimport json\n[helper.x, hasattr(json, 'x')]"
    assert runtime.execute(code).result == [2, False]

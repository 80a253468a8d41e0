"""What the check of a program calls certain does fail in the real sandbox, and what works there it never calls certain."""

import sys

import pytest

from gristmill import BlockingRuntime
from gristmill.catalog.catalog import Catalog
from gristmill.catalog.python_names import make_python_names
from gristmill.guard.program import check_program as checks
from gristmill.guard.program.check_program import CheckedProgram, check_program
from gristmill.guard.program.known_tools import KnownServer, KnownTools
from gristmill.guard.program.undefined_names import build_name_meanings
from gristmill.upstream.python_functions import PythonFunctions
from tests.conftest import TOOLS

CATALOG = Catalog.from_tools(PythonFunctions("crm", {key.partition(".")[2]: function for key, function in TOOLS.items()}).tools)
KNOWN = KnownTools(
    servers=tuple(
        KnownServer(
            name=server, module=module, tools={CATALOG.functions[tool.key]: tool for tool in CATALOG.tools_of_server(server)}
        )
        for server, module in CATALOG.modules.items()
    ),
    importable=frozenset(sys.stdlib_module_names),
    argument_names=lambda names: make_python_names(names, "argument"),
)

WRONG = [
    "from servers import crn\ncrn.find('a')",
    "from servers.crn import find\nfind('a')",
    "from servers.crm import fnd",
    "import servers.crn\nservers.crn.find('a')",
    "from servers import crm\ncrm.fnd(q='a')",
    "import servers.crm as c\nawait c.fnd()",
    "import servers\nprint(servers.crm.fnd('a'))",
    "from servers import crm\ncrm.find('a', limitt=3)",
    "from servers import crm\ncrm.find(limit=3)",
    "from servers import crm\ncrm.find('a', 1, 2)",
    "from servers import crm\ncrm.find('a', q='b')",
    "from servers import crm\ncrm.get('a')",
    "from mcp_client import call_mcp_tool\ncall_mcp_tool('crm.fnd')",
    "from mcp_client import call_mcp_tool\ncall_mcp_tool('crn.find', {})",
    "from mcp_client import call_mcp_tool\ncall_mcp_tool('crm.find', {'limit': 1})",
    "from mcp_client import call_mcp_tool\ncall_mcp_tool('crm.get', number='one')",
    "import jsn",
    "from servers import crm\nif __name__ == '__main__':\n    crm.fnd()",
    "crm.fnd('a')",
    "servers.crm.fnd('a')",
    "servers.crn.find('a')",
    "tools.crm.fnd('a')",
    "codemode.fnd('a')",
    "mcp__crm__fnd(q='a')",
    "call_tool('crm', 'fnd', {})",
    "callMCPTool('fnd', {'q': 'a'})",
    "call_mcp_tool('mcp__crm__fnd', {}, dict)",
    "crm.find(limit=3)",
    "find(limit=3)",
    "find('a', limitt=3)",
    "crm.find({'limit': 3})",
    "mcp__crm__find(limit=3)",
    "from client import call_mcp_tool\ncall_mcp_tool('crm.fnd')",
    "from tools.crm import fnd",
    "from crm import fnd",
    "from servers.crm import *\nfind(limit=3)",
]
MEANINGS = build_name_meanings(KNOWN.servers, (), CATALOG.loose_names)


def _find_names_only(code: str, *_: object, fresh: bool) -> CheckedProgram:
    return CheckedProgram(names=checks.read_and_check(code, KNOWN, MEANINGS, fresh=fresh).names)


@pytest.mark.parametrize("code", WRONG)
def test_a_certain_problem_is_a_program_that_fails(runtime: BlockingRuntime, code: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert any(problem.certain for problem in check_program(code, KNOWN, MEANINGS))
    assert runtime.execute(code).status == "refused"
    monkeypatch.setattr("gristmill.runtime.execution.program.check_code.read_and_check", _find_names_only)
    assert runtime.execute(code).status == "failed"


USELESS = [
    "from servers import crn\n1",
    "import servers.crn\nservers.crn.find is not None",
    "from servers import crn\nimport asyncio\nlen(await asyncio.gather(crn.find(1), return_exceptions=True))",
]
"""Programs that would end well without having reached any tool: the import of a server that is not connected succeeds."""


@pytest.mark.parametrize("code", USELESS)
def test_the_import_of_a_server_that_is_not_connected_is_refused(runtime: BlockingRuntime, code: str) -> None:
    outcome = runtime.execute(code)

    assert outcome.status == "refused"
    assert "there is no server 'crn'; write crm" in str(outcome.error)


RIGHT = [
    "try:\n    from servers import crn\nexcept ImportError:\n    pass\n1",
    "from servers import crm\nif False:\n    crm.fnd()\n1",
    "from servers import crm\ntry:\n    crm.fnd()\nexcept AttributeError:\n    pass\n1",
    "from servers import crm\ncrm.fnd = lambda: 1\ncrm.fnd()",
    "import sys\nfrom servers import crm\nprint(1)\nsys.exit(0)\ncrm.fnd()",
    "from servers import crm\nif crm:\n    return 1\ncrm.fnd()",
    "from contextlib import suppress\nfrom servers import crm\nwith suppress(AttributeError):\n    crm.fnd()\n1",
    "import asyncio\nfrom mcp_client import call_mcp_tool\nr = await asyncio.gather(call_mcp_tool('crm.fnd'), return_exceptions=True)\nlen(r)",
    "open('gen.py', 'w').write('x = 1')\nimport gen\ngen.x",
    "from servers.crm.find import find\nfind('a')['q']",
    "def find(limit):\n    return limit\nfind(3)",
    "crm = {'fnd': 1}\ncrm.get('fnd')",
    "for find in [len]:\n    find('a')",
    "def f(crm):\n    return crm.fnd\n1",
    "crm.find({'q': 'a', 'limit': 3})['limit']",
    "find(**{'Q': 'a'})['q']",
    "asked = {'q': 'a'}\nfind(asked)['q']",
    "exec('crm = print')\ncrm('x')",
    "import types, sys\nsys.modules['tools'] = types.SimpleNamespace(crm=1)\nimport tools\ntools.crm",
    "open('client.py', 'w').write('def call_mcp_tool(name): return 1')\nfrom client import call_mcp_tool\ncall_mcp_tool('crm.fnd')",
    "call_tool('crm.find', arguments={'q': 'a'})['q']",
    "try:\n    slow\nexcept NameError:\n    slow = 1\nslow",
]


@pytest.mark.parametrize("code", RIGHT)
def test_a_program_that_works_has_no_certain_problem(runtime: BlockingRuntime, code: str) -> None:
    assert not any(problem.certain for problem in check_program(code, KNOWN, MEANINGS))
    assert runtime.execute(code).status == "ok"

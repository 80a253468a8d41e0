"""What is kept of a server's output, and which line of it is shown as the reason of a failure."""

import pytest

from gristmill.upstream.stdio.failure_causes import find_cause
from gristmill.upstream.stdio.server_output import MOST_LINES, ServerOutput

NODE_MODULE = """\
node:internal/modules/cjs/loader:1210
  throw err;
  ^

Error: Cannot find module '/srv/server.js'
    at Module._resolveFilename (node:internal/modules/cjs/loader:1207:15)
    at Module._load (node:internal/modules/cjs/loader:1038:27)
    at Function.executeUserEntryPoint [as runMain] (node:internal/modules/run_main:164:12)
    at node:internal/main/run_main_module:28:49 {
  code: 'MODULE_NOT_FOUND',
  requireStack: []
}

Node.js v20.20.2
"""
NODE_THROW = """\
/srv/server.js:12
    throw new Error("no token given");
    ^

Error: no token given
    at main (/srv/server.js:12:11)
    at async file:///srv/index.mjs:3:1

Node.js v20.20.2
"""
NPX = """\
npm warn Unknown user config "nodedir". This will stop working in the next major version of npm.
npm error code E404
npm error 404 Not Found - GET https://registry.npmjs.org/no-such-server - Not found
npm error 404
npm error 404  'no-such-server@*' is not in this registry.
npm error 404
npm error 404 Note that you can also install from a
npm error A complete log of this run can be found in: /root/.npm/_logs/2026-11-18T04_46_26_773Z-debug-0.log
"""
NPX_OFFLINE = """\
npm error code ENOTCACHED
npm error request to https://registry.npmjs.org/x failed: cache mode is 'only-if-cached' but no cached response is available.
npm error A complete log of this run can be found in: /root/.npm/_logs/2026-11-18T04_46_26_773Z-debug-0.log
"""
PYTHON = """\
Traceback (most recent call last):
  File "/srv/server.py", line 3, in <module>
    main(os.environ["TOKEN"])
         ~~~~~~~~~~^^^^^^^^^
  File "<frozen os>", line 679, in __getitem__
KeyError: 'TOKEN'
"""
PYTHON_CHAINED = """\
Traceback (most recent call last):
  File "/srv/db.py", line 3, in connect
    raise OSError("refused")
OSError: refused

During handling of the above exception, another exception occurred:

Traceback (most recent call last):
  File "/srv/server.py", line 9, in <module>
    connect()
sqlalchemy.exc.OperationalError: (psycopg.OperationalError) connection refused
(Background on this error at: https://sqlalche.me/e/20/e3q8)
"""
PYDANTIC = """\
Traceback (most recent call last):
  File "/srv/server.py", line 5, in <module>
    Settings.model_validate({"port": "x"})
pydantic_core._pydantic_core.ValidationError: 2 validation errors for Settings
token
  Field required [type=missing, input_value={'port': 'x'}, input_type=dict]
    For further information visit https://errors.pydantic.dev/2.14/v/missing
port
  Input should be a valid integer [type=int_parsing, input_value='x', input_type=str]
    For further information visit https://errors.pydantic.dev/2.14/v/int_parsing
"""
ARGPARSE = "usage: mcp-server-git [-h] [--repository REPOSITORY]\nmcp-server-git: error: unrecognized arguments: --repo\n"
UVX = """\
  \u00d7 No solution found when resolving tool dependencies:
  ╰─▶ Because no-such-server was not found in the package registry and you require no-such-server, we can conclude that your
      requirements are unsatisfiable.
"""
UVX_SPAWN = """\
Installed 24 packages in 31ms
error: Failed to spawn: `no-such-command`
  Caused by: No such file or directory (os error 2)
"""
DOCKER_DAEMON = """\
docker: Cannot connect to the Docker daemon at unix:///var/run/docker.sock. Is the docker daemon running?

Run 'docker run --help' for more information
"""
DOCKER_IMAGE = """\
Unable to find image 'mcp/no-such:latest' locally
docker: Error response from daemon: pull access denied for mcp/no-such, repository does not exist or may require 'docker login'.
See 'docker run --help'.
"""
RUST = """\
thread 'main' panicked at src/main.rs:4:37:
DATABASE_URL is not set
note: run with `RUST_BACKTRACE=1` environment variable to display a backtrace
"""
GO = "panic: no token\n\ngoroutine 1 [running]:\nmain.main()\n\t/srv/main.go:5 +0x25\nexit status 2\n"
PLAIN = "starting\ncannot open the database\n"


@pytest.mark.parametrize(
    ("printed", "cause"),
    [
        pytest.param(NODE_MODULE, "Error: Cannot find module '/srv/server.js'", id="node-module"),
        pytest.param(NODE_THROW, "Error: no token given", id="node-throw"),
        pytest.param(NPX, "npm error 404  'no-such-server@*' is not in this registry.", id="npx"),
        pytest.param(NPX_OFFLINE, NPX_OFFLINE.splitlines()[1], id="npx-offline"),
        pytest.param(PYTHON, "KeyError: 'TOKEN'", id="python"),
        pytest.param(PYTHON_CHAINED, PYTHON_CHAINED.splitlines()[-2], id="python-chained"),
        pytest.param(
            PYDANTIC,
            "pydantic_core._pydantic_core.ValidationError: 2 validation errors for Settings token"
            " Field required [type=missing, input_value={'port': 'x'}, input_type=dict]",
            id="pydantic",
        ),
        pytest.param(ARGPARSE, "mcp-server-git: error: unrecognized arguments: --repo", id="argparse"),
        pytest.param(UVX, UVX.splitlines()[1].strip(), id="uvx"),
        pytest.param(UVX_SPAWN, "Caused by: No such file or directory (os error 2)", id="uvx-spawn"),
        pytest.param(DOCKER_DAEMON, DOCKER_DAEMON.splitlines()[0], id="docker-daemon"),
        pytest.param(DOCKER_IMAGE, DOCKER_IMAGE.splitlines()[1], id="docker-image"),
        pytest.param(RUST, "thread 'main' panicked at src/main.rs:4:37: DATABASE_URL is not set", id="rust"),
        pytest.param(GO, "panic: no token", id="go"),
        pytest.param(PLAIN, "cannot open the database", id="plain"),
        pytest.param("Node.js v20.20.2\n", "Node.js v20.20.2", id="only-noise"),
        pytest.param("", "", id="nothing"),
    ],
)
def test_the_line_that_says_what_happened_is_found(printed: str, cause: str) -> None:
    output = ServerOutput()
    for line in printed.splitlines(keepends=True):  # programs write line by line
        output.add(line.encode())
    assert output.describe_failure() == cause


def test_colours_are_removed_and_a_new_process_starts_with_nothing() -> None:
    output = ServerOutput()
    output.add(b"\x1b[31merror:\x1b[0m no token\n")
    output.add_stray_line(b"hello")
    assert output.last_lines() == ("error: no token",)
    output.clear()
    assert (output.describe_failure(), output.last_lines()) == ("", ())


def test_text_on_stdout_is_named_as_such() -> None:
    output = ServerOutput()
    output.add_stray_line(b"Listening on port 3000")
    output.add_stray_line(b"and more")
    assert output.describe_failure() == "(on stdout, where only messages of MCP belong: 'Listening on port 3000')"
    output.add(b"Error: no\n")
    assert output.describe_failure().startswith("Error: no (and on stdout")


def test_a_flood_takes_little_memory_and_little_time() -> None:
    output = ServerOutput()
    for number in range(1_000):
        output.add(b"line %d\n" % number)
        output.add(b"at (" * 25_000)
        output.add_stray_line(b"y" * 1_000_000)
    assert len(output.last_lines()) <= MOST_LINES
    assert len(output.describe_failure()) <= 1_200
    assert find_cause(["at " + "(" * 497] * 1_000)

"""TypeScript in the same wall. Deno's own permissions are switched off here: what holds is the jail alone.

With every permission a program can load libc and make any system call; outside, each of these attacks succeeds.
"""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from anyio.from_thread import BlockingPortal, start_blocking_portal
from msgspec.structs import replace

from gristmill.model import Isolation, Limits, Report, ToolCall, ToolResult
from gristmill.sandbox.base import SandboxJob
from gristmill.sandbox.guest_programs import GuestProgram, find_typescript_guest
from gristmill.sandbox.jails.jail_pool import LinuxPool, PoolOptions
from tests.attack.conftest import Canary, open_to_others
from tests.attack.wall import PATIENCE, listener, was_reached

LIMITS = Limits(seconds=5, memory_mb=256)
_LIBC = """
const libc = Deno.dlopen("libc.so.6", {
  open: { parameters: ["buffer", "i32", "i32"], result: "i32" },
  socket: { parameters: ["i32", "i32", "i32"], result: "i32" },
  fork: { parameters: [], result: "i32" },
  mmap: { parameters: ["pointer", "usize", "i32", "i32", "i32", "i64"], result: "isize" },
  mprotect: { parameters: ["isize", "usize", "i32"], result: "i32" },
}).symbols;
const text = (words: string) => new TextEncoder().encode(words + "\\0");
"""


FORGED_END = """
const f = new TextEncoder().encode('["done","","forged",null,null,null]');
Deno.stdout.writeSync(new Uint8Array([f.length, 0, 0, 0])); Deno.stdout.writeSync(f); while (true) {}
"""


class TypeScriptWall:
    """Sandboxes for TypeScript at one level, with every permission of Deno."""

    def __init__(self, level: Isolation, portal: BlockingPortal, pool: LinuxPool, program: GuestProgram) -> None:
        self.level, self.program = level, program
        self._portal, self._pool = portal, pool

    def run(self, body: str, **values: Any) -> Report:
        """Run an attack inside: the body of a function that returns its loot or throws."""
        return self._portal.call(self._run, write_program(body, values))

    async def _run(self, code: str) -> Report:
        async with self._pool.lease(LIMITS) as sandbox:
            job = SandboxJob(execution="e", code=f"export default async function ($: any) {{{code}\n}}", limits=LIMITS)
            return await sandbox.run(job, refuse_call, lambda _: None)

    def holds(self, body: str, *, loot: str = "EFFECT", **values: Any) -> Report:
        """The attack gets ``loot`` outside, and nothing of it inside."""
        control = run_outside(self.program, write_program(body, values))
        assert loot in control, f"the attack is broken, it fails without a wall too: {control}"
        report = self.run(body, **values)
        assert "TRYING" in report.output, f"the attack was not even tried: {report}"
        assert loot not in f"{report.output}{report.result}{report.error}", f"{self.level}: the attack succeeded: {report}"
        return report


async def refuse_call(call: ToolCall) -> ToolResult:
    raise AssertionError(call)


def write_program(body: str, values: dict[str, Any]) -> str:
    return f"""
const values = JSON.parse({json.dumps(json.dumps(values))});
async function attack() {{ {body} }}
console.log("TRYING");
try {{ console.log("EFFECT", await attack()); }} catch (error) {{ console.log("REFUSED", String(error)); }}
"""


def run_outside(program: GuestProgram, code: str) -> str:
    """What the program prints without any wall."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "attack.ts"
        file.write_text(code)
        done = subprocess.run(
            [program.executable, "run", "--allow-all", "--no-check", "--quiet", str(file)],
            capture_output=True, timeout=PATIENCE, check=False, cwd=folder, env={**os.environ, "NO_COLOR": "1", "DENO_DIR": folder},
        )  # fmt: skip
        return (done.stdout + done.stderr).decode()


def find_guest_with_all_permissions() -> GuestProgram:
    found = find_typescript_guest(LIMITS)
    allowed = tuple(word for word in found.arguments if not word.startswith("--allow-"))
    return replace(found, arguments=(*allowed, "--allow-all"))


@contextmanager
def opened_wall(level: Isolation, folder: Path) -> Generator[TypeScriptWall]:
    folder.chmod(0o755)
    for part in ("w", "s"):
        (folder / part).mkdir()
    program = find_guest_with_all_permissions()
    options = PoolOptions(
        limits=LIMITS,
        warm=1,
        concurrency=2,
        preload=(),
        site=None,
        workspaces=folder / "w",
        scratch=folder / "s",
        program=program,
    )
    with start_blocking_portal() as portal:
        pool = portal.call(LinuxPool.open, options, level)
        try:
            yield TypeScriptWall(level, portal, pool, program)
        finally:
            portal.call(pool.close)


@pytest.fixture(scope="module", params=["namespaces", "landlock"])
def wall(request: pytest.FixtureRequest) -> Iterator[TypeScriptWall]:
    level: Isolation = request.param
    if level == "landlock" and os.geteuid() == 0 and not open_to_others(Path(os.path.realpath(sys.executable))):
        pytest.skip("allowed: nobody can reach this interpreter; tools/attack.py tests this level from a copy")
    with tempfile.TemporaryDirectory(prefix="gristmill-typescript-") as name, opened_wall(level, Path(name)) as opened:
        yield opened


@pytest.mark.requirement("T180")
def test_no_file_of_the_host_can_be_read_or_written(wall: TypeScriptWall, canary: Canary) -> None:
    wall.holds("return Deno.readTextFileSync(values.path)", path=str(canary.path), loot=canary.secret)
    wall.holds("Deno.writeTextFileSync(values.path + '.new', 'x'); return 1", path=str(canary.path))
    wall.holds(_LIBC + "if (libc.open(text(values.path), 0, 0) < 0) throw 1; return 1", path=str(canary.path))


@pytest.mark.requirement("T180")
def test_no_network_can_be_reached(wall: TypeScriptWall) -> None:
    with listener(2, ("127.0.0.1", 0)) as host:
        wall.run("await Deno.connect({ hostname: '127.0.0.1', port: values.port })", port=host.getsockname()[1])
        assert not was_reached(host)
    wall.holds(_LIBC + "if (libc.socket(2, 1, 0) < 0) throw 1; return 1")
    wall.holds(_LIBC + "if (libc.socket(1, 1, 0) < 0) throw 1; return 1")


@pytest.mark.requirement("T180")
def test_no_process_can_be_started(wall: TypeScriptWall) -> None:
    wall.holds("return new TextDecoder().decode(new Deno.Command('/bin/echo', { args: ['EFF' + 'ECT'] }).outputSync().stdout)")
    wall.holds(_LIBC + "const pid = libc.fork(); if (pid < 0) throw 1; if (pid === 0) Deno.exit(0); return 1")


@pytest.mark.requirement("T181")
def test_no_page_is_ever_writable_and_executable(wall: TypeScriptWall) -> None:
    wall.holds(_LIBC + "if (libc.mmap(null, 4096n, 7, 0x22, -1, 0n) === -1n) throw 1; return 1")
    wall.holds(
        _LIBC + "const at = libc.mmap(null, 4096n, 3, 0x22, -1, 0n); if (libc.mprotect(at, 4096n, 5) !== 0) throw 1; return 1"
    )


@pytest.mark.requirement("T181")
def test_code_that_a_program_wrote_cannot_be_mapped_as_code(wall: TypeScriptWall) -> None:
    if wall.level == "landlock":
        pytest.skip("allowed: without a mount namespace the workspace lies on the host's own file system")
    body = (
        _LIBC + "Deno.writeFileSync('code.bin', new Uint8Array(4096)); const fd = libc.open(text('code.bin'), 0, 0);"
        "if (libc.mmap(null, 4096n, 5, 2, fd, 0n) === -1n) throw 1; return 1"
    )
    wall.holds(body)


@pytest.mark.requirement("T180")
@pytest.mark.parametrize(
    "body",
    [
        "Deno.stdout.writeSync(new Uint8Array([255, 255, 255, 255]))",
        FORGED_END,
        "Deno.exit(0)",
        "Deno.kill(Deno.pid, 'SIGKILL')",
        "(0, eval)('while (true) {}')",
        "new Worker('data:application/javascript,while(true){}', { type: 'module' }); while (true) {}",
        "Object.prototype.toString = () => { throw 1 }; Array.prototype.map = null; JSON.stringify = () => 'x'; Promise.resolve = 0",
        "globalThis.TextEncoder = null; Deno.stdin.close(); await new Promise(() => {})",
    ],
)
def test_a_program_that_breaks_its_guest_harms_only_itself(wall: TypeScriptWall, body: str) -> None:
    report = wall.run(body)
    assert report.result != "forged"
    assert report.status in ("ok", "failed", "crashed", "limited")
    assert wall.run("return 1").status == "ok"


@pytest.mark.requirement("T180")
def test_web_assembly_runs_and_reaches_nothing(wall: TypeScriptWall) -> None:
    # An empty module: with the compiler off the engine refuses or interprets it; neither may end the process.
    report = wall.run("return String(new WebAssembly.Module(new Uint8Array([0, 97, 115, 109, 1, 0, 0, 0])))")
    assert report.status == "ok"

"""Tool servers: what a confined one tries to do to the host fails, and the same attempts of one without walls succeed."""

import json
import os
import signal
import socket
import subprocess
import sys
import uuid
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio
import pytest
from anyio.from_thread import BlockingPortal, start_blocking_portal

from gristmill.config.tree import Config, load_config
from gristmill.model import ToolCall
from gristmill.runtime.open.open_servers import open_servers
from gristmill.sandbox.confine.confine_server import Confinement, open_launcher
from gristmill.sandbox.linux import kernel
from gristmill.upstream.base import Upstreams
from gristmill.upstream.execution_callers import ExecutionCallers

PROGRAM = Path(__file__).parent / "programs" / "prying.py"
SECRET = "n0t-for-servers"
PATIENCE = 30.0


@dataclass
class Host:
    """A gateway with the same server three times, and what the server is after."""

    folder: Path
    upstreams: Upstreams
    portal: BlockingPortal
    victim: int
    port: int

    def ask(self, server: str, code: str) -> dict[str, Any]:
        """What came of the code in ``server``."""
        folder = self.folder / "outside" / uuid.uuid4().hex
        folder.mkdir()
        (folder / "theirs").write_text("theirs")
        known = {
            "state": str(self.folder / "state"),
            "home": str(self.folder / "home"),
            "folder": str(folder),
            "given": str(self.folder / "given"),
            "room": str(self.folder / "room"),
            "victim": self.victim,
            "gateway": os.getpid(),
            "keyctl": kernel.find_syscall_number("keyctl"),
            "port": self.port,
            "stream": str(self.folder / "stream"),
            "datagram": str(self.folder / "datagram"),
            "abstract": f"\0gristmill-test-{os.getpid()}",
        }
        names = "".join(f"{name} = {value!r}\n" for name, value in known.items())
        return self.portal.call(self._ask, server, names + code)

    async def _ask(self, server: str, code: str) -> dict[str, Any]:
        with anyio.fail_after(PATIENCE):
            return json.loads(json.dumps((await self.upstreams(_call(server, code))).value))


def _call(server: str, code: str) -> ToolCall:
    return ToolCall(id=1, tool=f"{server}.attempt", arguments={"code": code})


def _server(**settings: Any) -> dict[str, Any]:
    return {"command": sys.executable, "args": [str(PROGRAM)], "era": "legacy", "health_seconds": 0, **settings}


def _config(folder: Path) -> Config:
    reads = [str(PROGRAM), str(folder / "given")]
    servers = {
        "free": _server(),
        "confined": _server(
            env={"GIVEN": "${env:GRISTMILL_TEST_GIVEN}"}, confine={"read": reads, "write": [str(folder / "room")]}
        ),
        "online": _server(confine={"read": reads, "network": True}),
    }
    return load_config(None, store={"path": str(folder / "state")}, servers=servers)


def _listening(path: str, kind: socket.SocketKind) -> socket.socket:
    made = socket.socket(socket.AF_UNIX, kind)
    made.bind(path)
    if kind is socket.SOCK_STREAM:
        made.listen()
    return made


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Host]:
    folder = tmp_path_factory.mktemp("host")
    for name in ("state", "home", "given", "room", "outside"):
        (folder / name).mkdir()
        (folder / name / "file").write_text(SECRET)
    with ExitStack() as stack:
        stack.enter_context(_listening(str(folder / "stream"), socket.SOCK_STREAM))
        stack.enter_context(_listening(str(folder / "datagram"), socket.SOCK_DGRAM))
        stack.enter_context(_listening(f"\0gristmill-test-{os.getpid()}", socket.SOCK_STREAM))
        tcp = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        patch = stack.enter_context(pytest.MonkeyPatch.context())
        patch.setenv("HOME", str(folder / "home"))
        patch.setenv("GRISTMILL_TEST_GIVEN", "given")
        patch.setenv("GRISTMILL_TEST_SECRET", SECRET)
        victim = stack.enter_context(subprocess.Popen(["sleep", "600"]))
        stack.callback(victim.kill)
        portal = stack.enter_context(start_blocking_portal())
        opened = portal.wrap_async_context_manager(open_servers(_config(folder), {}, ExecutionCallers()))
        yield Host(folder, stack.enter_context(opened), portal, victim.pid, tcp.getsockname()[1])


FILES = {
    "read the state": "result = open(f'{state}/file').read()",
    "list the state": "result = os.listdir(state)",
    "read the home": "result = open(f'{home}/file').read()",
    "list the home": "result = os.listdir(home)",
    "read a stranger's file": "result = open(f'{folder}/theirs').read()",
    "write into the state": "result = open(f'{state}/new', 'w').write('x')",
    "write into the home": "result = open(f'{home}/.profile', 'w').write('x')",
    "make a file": "result = open(f'{folder}/new', 'w').write('x')",
    "append": "result = open(f'{folder}/theirs', 'a').write('x')",
    "truncate": "result = os.truncate(f'{folder}/theirs', 0)",
    "remove": "result = os.unlink(f'{folder}/theirs')",
    "rename": "result = os.rename(f'{folder}/theirs', f'{folder}/mine')",
    "link": "result = os.link(f'{folder}/theirs', f'{folder}/mine')",
    "symlink": "result = os.symlink('/', f'{folder}/root')",
    "make a folder": "result = os.mkdir(f'{folder}/new')",
    "make a pipe": "result = os.mkfifo(f'{folder}/pipe')",
    "run a program of a stranger": "os.stat(f'{folder}/theirs'); import shutil; result = subprocess.run([f'{folder}/../run']).returncode",
}
PROCESSES = {
    "signal the gateway": "result = os.kill(gateway, 0)",
    "end another program": "result = os.kill(victim, 0)",
    "signal by descriptor": "import signal; result = signal.pidfd_send_signal(os.pidfd_open(victim), 0)",
    "read the gateway's environment": "result = len(open(f'/proc/{gateway}/environ').read())",
    "read the gateway's command line": "result = len(open(f'/proc/{gateway}/cmdline').read())",
    "read the gateway's memory": "result = open(f'/proc/{gateway}/mem', 'rb').fileno()",
    "list the gateway's files": "result = os.listdir(f'/proc/{gateway}/fd')",
    "list all programs": "result = os.listdir('/proc')",
    "trace": "result = checked(libc.ptrace(0x4206, victim, 0, 0))",
    "lower the gateway's limits": "import resource; result = resource.prlimit(gateway, resource.RLIMIT_NOFILE)",
    "starve the gateway": "result = os.setpriority(os.PRIO_PROCESS, gateway, os.getpriority(os.PRIO_PROCESS, gateway))",
    "tie the gateway down": "result = os.sched_setaffinity(gateway, os.sched_getaffinity(gateway))",
    "become root of a namespace": "result = subprocess.run(['unshare', '-U', 'true'], check=True).returncode",
    "reach the user's shared memory": "result = checked(libc.shmctl(checked(libc.shmget(0, 4096, 0o1600)), 0, None))",
    "read the user's keys": "result = checked(libc.syscall(keyctl, 0, -4, 0))",
}
NETWORK = {
    "connect by TCP": "result = socket.create_connection(('127.0.0.1', port), 5).fileno()",
    "listen by TCP": "result = socket.create_server(('127.0.0.1', 0)).fileno()",
    "send by UDP": "result = socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', ('127.0.0.1', 9))",
}
LOCAL = {
    "connect to a socket file": "s = socket.socket(socket.AF_UNIX); result = s.connect(stream)",
    "connect to an abstract socket": "s = socket.socket(socket.AF_UNIX); result = s.connect(abstract)",
    "send to a socket file": "a, b = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM); result = a.sendto(b'x', datagram)",
    "go around by io_uring": "result = checked(libc.syscall(425, 8, (__import__('ctypes').c_char * 120)()))",
}


MODES = {
    "make its file set-uid": "p = new(); result = os.chmod(p, 0o4755)",
    "make its file set-gid": "p = new(); result = os.chmod(p, 0o2755)",
    "open its file to all": "p = new(); result = os.chmod(p, 0o666)",
    "open its folder to all": "p = new(); os.unlink(p); os.mkdir(p); result = os.chmod(p, 0o1777)",
    "by descriptor": "f = os.open(new(), os.O_RDWR); result = os.fchmod(f, 0o4755)",
    "beneath a folder": "p = new(); f = os.open(os.path.dirname(p), os.O_RDONLY); result = os.chmod(os.path.basename(p), 0o6755, dir_fd=f)",
    "by the newer call": "p = new(); result = checked(libc.syscall(452, -100, p.encode(), 0o4755, 0))",
    "with the file": "p = new(); result = os.open(p + 'x', os.O_CREAT | os.O_WRONLY, 0o4755)",
    "with a nameless file": "result = os.open(os.path.dirname(new()), os.O_TMPFILE | os.O_WRONLY, 0o4755)",
    "with a folder": "result = checked(libc.mkdir((new() + 'd').encode(), 0o6755))",
    "with a pipe": "result = os.mkfifo(new() + 'p', 0o6755)",
    "with the file, told in memory": "import struct, ctypes; how = ctypes.create_string_buffer(struct.pack('<QQQ', 0o101, 0o4755, 0)); result = checked(libc.syscall(437, -100, (new() + 'y').encode(), how, 24))",
    "by a list of rights": "import struct; acl = struct.pack('<I' + 'HHI' * 4, 2, 1, 6, 0xFFFFFFFF, 4, 6, 0xFFFFFFFF, 16, 6, 0xFFFFFFFF, 32, 6, 0xFFFFFFFF); result = os.setxattr(new(), 'system.posix_acl_access', acl)",
    "by an attribute": "result = os.setxattr(new(), 'user.x', b'1')",
    "on a file of the gateway": "result = os.chmod(f'{state}/file', 0o4777)",
}
MAKE_NEW = """
import tempfile
def new():
    handle, path = tempfile.mkstemp()
    os.close(handle)
    return path
"""


@pytest.mark.requirement("T76")
@pytest.mark.parametrize("what", MODES)
def test_a_confined_server_cannot_set_bits_that_give_others_rights(host: Host, what: str) -> None:
    code = MAKE_NEW + MODES[what]
    free = host.ask("free", code)
    if "refused" in free and what.startswith("by a"):
        pytest.skip("allowed: the file system of temporary files has no such attributes")
    assert "did" in free, free
    answer = host.ask("confined", code)
    assert "refused" in answer, answer


@pytest.mark.requirement("T76")
def test_new_files_of_a_confined_server_are_not_open_to_all(host: Host) -> None:
    code = (
        f"{MAKE_NEW}p = new() + 'z'\nos.close(os.open(p, os.O_CREAT | os.O_WRONLY, 0o666)); result = os.stat(p).st_mode & 0o777"
    )
    assert host.ask("confined", code) == {"did": 0o644}


@pytest.mark.requirement("T41")
@pytest.mark.parametrize("what", FILES | PROCESSES | NETWORK | LOCAL)
def test_a_confined_server_cannot_do_to_the_host_what_a_free_one_can(host: Host, what: str) -> None:
    code = (FILES | PROCESSES | NETWORK | LOCAL)[what]
    script = host.folder / "outside" / "run"
    script.write_text("#!/bin/sh\nexit 0\n")
    script.chmod(0o755)
    assert "did" in host.ask("free", code), "the attempt itself does not work"
    answer = host.ask("confined", code)
    assert "refused" in answer, answer
    assert SECRET not in json.dumps(answer)


@pytest.mark.requirement("T41")
@pytest.mark.parametrize("what", FILES | PROCESSES | LOCAL)
def test_the_network_opens_nothing_but_the_network(host: Host, what: str) -> None:
    assert "refused" in host.ask("online", (FILES | PROCESSES | LOCAL)[what])


@pytest.mark.requirement("T41")
@pytest.mark.parametrize("what", NETWORK)
def test_a_server_with_the_network_can_use_it(host: Host, what: str) -> None:
    assert "did" in host.ask("online", NETWORK[what])


@pytest.mark.requirement("T41")
def test_a_confined_server_has_no_privileges_left_and_gains_none(host: Host) -> None:
    code = "result = {line.split(':')[0]: line.split(':')[1].strip() for line in open('/proc/self/status')}"
    free, confined = host.ask("free", code)["did"], host.ask("confined", code)["did"]
    assert (free["NoNewPrivs"], free["Seccomp"]) == ("0", "0")
    assert (confined["NoNewPrivs"], confined["Seccomp"]) == ("1", "2")
    assert {int(confined[name], 16) for name in ("CapInh", "CapPrm", "CapEff", "CapAmb")} == {0}


@pytest.mark.requirement("T41")
def test_what_a_confined_server_starts_stands_within_the_same_walls(host: Host) -> None:
    code = "result = subprocess.run(['cat', f'{home}/file'], capture_output=True, text=True).stdout"
    assert host.ask("free", code) == {"did": SECRET}
    assert host.ask("confined", code) == {"did": ""}


@pytest.mark.requirement("T41")
def test_a_confined_server_leaves_no_core(host: Host) -> None:
    raise_it = "import resource; resource.setrlimit(resource.RLIMIT_CORE, (1, 1)); result = 1"
    code = "import resource; result = resource.getrlimit(resource.RLIMIT_CORE)[1]"
    assert host.ask("free", code)["did"] != 0
    assert host.ask("confined", code) == {"did": 0}
    assert "refused" in host.ask("confined", raise_it)


@pytest.mark.requirement("T41")
def test_a_confined_server_sees_its_own_environment_and_nothing_of_the_gateways(host: Host) -> None:
    assert os.environ["GRISTMILL_TEST_SECRET"] == SECRET  # the gateway has it
    seen = host.ask("confined", "result = dict(os.environ)")["did"]
    assert {"PATH", "HOME", "LANG", "TMPDIR", "GIVEN"} == set(seen) - {"LC_CTYPE"}
    assert seen["GIVEN"] == "given"
    assert seen["HOME"] == seen["TMPDIR"] != str(host.folder / "home")


@pytest.mark.requirement("T41")
def test_a_file_that_somebody_left_open_does_not_reach_a_confined_server() -> None:
    wanted = Confinement(server="x", program="/bin/ls", path="", cwd=Path("/"))
    with open_launcher(wanted) as (command, _), socket.socket() as left:
        left.set_inheritable(True)
        listing = ["ls", "/proc/self/fd"]
        free = subprocess.run(listing, pass_fds=[left.fileno()], capture_output=True, text=True, check=True)
        confined = subprocess.run(
            [*command, "/bin/ls", *listing[1:]], pass_fds=[left.fileno()], capture_output=True, text=True, check=True
        )
        assert str(left.fileno()) in free.stdout.split()
        assert confined.stdout.split() == ["0", "1", "2", "3"]  # the last is the listing's own


ORDINARY = {
    "read what it was given": "assert open(f'{given}/file').read(); result = True",
    "write where it may": "open(f'{room}/new', 'w').write('x'); os.rename(f'{room}/new', f'{room}/old'); os.unlink(f'{room}/old'); result = True",
    "keep things in its home": "open(os.path.expanduser('~/.cache'), 'w').write('x'); result = True",
    "use temporary files": "import tempfile; f = tempfile.NamedTemporaryFile(); f.write(b'x'); result = True",
    "start programs": "result = subprocess.run(['sh', '-c', 'echo $((6 * 7)) | cat'], capture_output=True).stdout == b'42\\n'",
    "run what it wrote": "p = os.path.expanduser('~/run'); open(p, 'w').write('#!/bin/sh\\nexit 0\\n'); os.chmod(p, 0o755); result = subprocess.run([p]).returncode == 0",
    "end what it started": "p = subprocess.Popen(['sleep', '60']); p.kill(); result = p.wait() == -9",
    "use threads": "import threading; t = threading.Thread(target=int); t.start(); t.join(); result = True",
    "run an event loop": "import asyncio; asyncio.run(asyncio.sleep(0)); result = True",
    "use SQLite": "import sqlite3; c = sqlite3.connect(f'{room}/x.db'); c.execute('create table if not exists t (x)'); c.commit(); result = True",
    "make random numbers": "result = len(open('/dev/urandom', 'rb').read(4)) == 4",
    "throw away": "result = open('/dev/null', 'w').write('x') == 1",
    "know who it is": "import pwd; result = bool(pwd.getpwuid(os.getuid()).pw_name)",
    "know certificates": "import ssl; ssl.create_default_context(); result = True",
    "see itself": "result = 'Name' in open('/proc/self/status').read()",
}


@pytest.mark.requirement("T41")
@pytest.mark.parametrize("what", ORDINARY)
def test_a_confined_server_can_do_what_servers_do(host: Host, what: str) -> None:
    assert host.ask("confined", ORDINARY[what]) == {"did": True}


@pytest.mark.requirement("T41")
def test_what_it_was_given_to_read_it_cannot_change(host: Host) -> None:
    assert "refused" in host.ask("confined", "open(f'{given}/file', 'a')")


@pytest.mark.requirement("T41")
def test_its_own_folder_goes_with_a_confined_server(tmp_path: Path) -> None:
    (tmp_path / "room").mkdir()
    (tmp_path / "given").mkdir()

    async def main() -> Path:
        config = _config(tmp_path)
        only = config.model_copy(update={"servers": {"confined": config.servers["confined"]}})
        async with open_servers(only, {}, ExecutionCallers()) as upstreams:
            answer: Any = (
                await upstreams(_call("confined", "open(os.path.expanduser('~/x'), 'w'); result = os.environ['HOME']"))
            ).value
            folder = Path(answer["did"])
            assert (folder / "x").exists()
            return folder

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GRISTMILL_TEST_GIVEN", "given")
        assert not anyio.run(main).exists()


@pytest.mark.requirement("T41")
def test_the_folder_of_a_gateway_that_was_killed_is_swept_by_the_next(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    program = """
from pathlib import Path
from gristmill.sandbox.confine.confine_server import Confinement, open_launcher
with open_launcher(Confinement(server="x", program="/bin/true", path="", cwd=Path("/"))) as (_, folder):
    print(folder, flush=True)
    input()
"""
    with subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as first:
        assert first.stdout
        left = Path(first.stdout.readline().strip())
        held = subprocess.run([sys.executable, "-c", program], input="\n", capture_output=True, text=True, check=True)
        assert left.exists(), "one in use was swept"
        assert not Path(held.stdout.strip()).exists()
        first.send_signal(signal.SIGKILL)
    assert left.exists()
    subprocess.run([sys.executable, "-c", program], input="\n", capture_output=True, text=True, check=True)
    assert not left.exists()

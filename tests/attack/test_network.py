"""Network: no socket of any family, no name, no listener of the host's can be reached, by whatever call."""

import os
import socket
from pathlib import Path

import pytest

from tests.attack.wall import EFFECT, Wall, listener, opened, outside, program, was_reached

FAMILIES = {
    "inet_stream": "socket.socket(socket.AF_INET, socket.SOCK_STREAM)",
    "inet_dgram": "socket.socket(socket.AF_INET, socket.SOCK_DGRAM)",
    "inet6": "socket.socket(socket.AF_INET6, socket.SOCK_STREAM)",
    "unix": "socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)",
    "netlink": "socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0)",
}
ODD_FAMILIES = ["AF_PACKET", "AF_VSOCK", "AF_ALG", "AF_BLUETOOTH", "AF_CAN", "AF_TIPC", "AF_QIPCRTR", "AF_RDS"]


@pytest.mark.requirement("T9")
@pytest.mark.parametrize("family", FAMILIES)
def test_guest_cannot_open_a_socket(wall: Wall, family: str) -> None:
    wall.holds(f"import socket\nreturn {FAMILIES[family]}")


@pytest.mark.requirement("T9")
def test_guest_cannot_open_a_socket_of_any_family_number(wall: Wall) -> None:
    # Every number the kernel could know, through the raw call; the control is that some of them work outside.
    body = """
        import ctypes
        libc = ctypes.CDLL(None, use_errno=True)
        made = [(family, kind) for family in range(64) for kind in (1, 2, 3, 5) if libc.socket(family, kind, 0) >= 0]
        assert made
        return made
    """
    wall.holds(body)


@pytest.mark.requirement("T9")
@pytest.mark.parametrize("family", [name for name in ODD_FAMILIES if hasattr(socket, name)])
def test_guest_cannot_open_a_socket_of_an_odd_family(wall: Wall, family: str) -> None:
    outcome = wall.inside(f"import socket\nreturn [socket.socket(socket.{family}, kind) for kind in (2, 3, 5)]")
    assert EFFECT not in outcome.output


@pytest.mark.requirement("T9")
def test_guest_cannot_make_a_socketpair_that_is_not_unix(wall: Wall) -> None:
    outcome = wall.inside("import socket\nreturn socket.socketpair(socket.AF_INET)")
    assert EFFECT not in outcome.output
    outcome = wall.inside("import socket\nreturn socket.socketpair(30)")
    assert EFFECT not in outcome.output


@pytest.mark.requirement("T9")
def test_guest_cannot_connect_to_a_tcp_listener_of_the_host(wall: Wall) -> None:
    with listener(socket.AF_INET, ("127.0.0.1", 0)) as host:
        body = "import socket\nsocket.create_connection(('127.0.0.1', values['port']), 5)"
        port = host.getsockname()[1]
        outside(program(body, {"port": port}))
        assert was_reached(host)
        wall.inside(body, port=port)
        assert not was_reached(host)


@pytest.mark.requirement("T9")
def test_guest_cannot_send_a_datagram_to_the_host(wall: Wall) -> None:
    with listener(socket.AF_INET, ("127.0.0.1", 0), socket.SOCK_DGRAM) as host:
        body = "import socket\nsocket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', ('127.0.0.1', values['port']))"
        port = host.getsockname()[1]
        outside(program(body, {"port": port}))
        assert was_reached(host)
        wall.inside(body, port=port)
        assert not was_reached(host)


@pytest.mark.requirement("T9")
@pytest.mark.parametrize("abstract", [False, True], ids=["path", "abstract"])
def test_guest_cannot_reach_a_unix_listener_of_the_host(wall: Wall, public: Path, abstract: bool) -> None:
    address = f"\0gristmill-{os.getpid()}" if abstract else str(public / "socket")
    body = "import socket\ns = socket.socket(socket.AF_UNIX)\ns.connect(values['address'])\nreturn s"
    with listener(socket.AF_UNIX, address) as host:
        if not abstract:
            os.chmod(address, 0o777)
        outside(program(body, {"address": address}))
        assert was_reached(host)
        wall.inside(body, address=address)
        assert not was_reached(host)


# A socket pair is allowed, since asyncio needs one; a datagram pair could be turned on another address without connect().
DATAGRAMS = {
    "sendto": "a.sendto(b'x', values['address'])",
    "sendmsg": "a.sendmsg([b'x'], [], 0, values['address'])",
    "sendmsg_with_descriptor": """
        import array
        a.sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [0]))], 0, values["address"])
    """,
}


@pytest.mark.requirement("T9")
@pytest.mark.parametrize("way", DATAGRAMS)
@pytest.mark.parametrize("abstract", [False, True], ids=["path", "abstract"])
def test_guest_cannot_turn_a_socketpair_on_a_unix_socket_of_the_host(wall: Wall, public: Path, way: str, abstract: bool) -> None:
    address = f"\0gristmill-dgram-{os.getpid()}" if abstract else str(public / "datagrams")
    tail = "\n".join(line.strip() for line in DATAGRAMS[way].strip().splitlines())
    body = f"import socket\na, b = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)\n{tail}"
    with listener(socket.AF_UNIX, address, socket.SOCK_DGRAM) as host:
        if not abstract:
            os.chmod(address, 0o777)
        outside(program(body, {"address": address}))
        assert was_reached(host), "the attack is broken"
        wall.inside(body, address=address)
        assert not was_reached(host)


@pytest.mark.requirement("T9")
def test_guest_cannot_turn_its_own_descriptors_into_sockets(wall: Wall) -> None:
    body = """
        import ctypes, os, struct
        libc = ctypes.CDLL(None, use_errno=True)
        address = struct.pack("=H", 2) + (80).to_bytes(2, "big") + bytes([127, 0, 0, 1]) + bytes(8)
        worked = [name for name in ("connect", "bind") for fd in range(8) if getattr(libc, name)(fd, address, 16) == 0]
        worked += ["listen"] * sum(libc.listen(fd, 1) == 0 for fd in range(8))
        worked += ["accept"] * sum(libc.accept4(fd, None, None, 0o4000) >= 0 for fd in range(8))
        assert worked
        return worked
    """
    assert EFFECT not in wall.inside(body).output


@pytest.mark.requirement("T9")
def test_guest_cannot_resolve_a_name(wall: Wall) -> None:
    outcome = wall.inside("import socket\nreturn socket.getaddrinfo('example.com', 443, proto=socket.IPPROTO_TCP)")
    assert EFFECT not in outcome.output


@pytest.mark.requirement("T9", "T10")
def test_guest_finds_no_egress_of_any_kind(namespaces: Wall) -> None:
    outcome = namespaces.run("""
import os
found = []
for path in ("/proc/net/dev", "/proc/self/net/dev", "/sys/class/net", "/etc/resolv.conf", "/proc/net/unix"):
    try:
        os.stat(path)
        text = open(path).read() if not os.path.isdir(path) else str(os.listdir(path))
        found += [line.split(":")[0].strip() for line in text.splitlines()[2:] if "dev" in path] or [path]
    except OSError:
        pass
found
""")
    # An empty network namespace has a loopback that is down, and nothing else.
    assert set(outcome.result) <= {
        "lo",
        "sit0",
        "ip6tnl0",
        "tunl0",
        "gre0",
        "gretap0",
        "erspan0",
        "ip_vti0",
        "ip6_vti0",
        "ip6gre0",
    }


@pytest.mark.requirement("T9", "T13")
@pytest.mark.parametrize("number", [425, 426, 427], ids=["io_uring_setup", "io_uring_enter", "io_uring_register"])
def test_guest_cannot_use_io_uring(wall: Wall, number: int) -> None:
    body = """
        import ctypes
        libc = ctypes.CDLL(None, use_errno=True)
        answer = libc.syscall(values["number"], 8, ctypes.create_string_buffer(120), 0, 0, 0, 0)
        assert answer >= 0 or ctypes.get_errno() != 1, "refused"
        return answer
    """
    assert EFFECT not in wall.inside(body, number=number).output


@pytest.mark.requirement("T9")
@pytest.mark.parametrize("kept", [False, True], ids=["fresh", "kept"])
def test_common_libraries_meet_the_same_wall(tmp_path: Path, kept: bool) -> None:
    with listener(socket.AF_INET, ("127.0.0.1", 0)) as host, opened(tmp_path, "namespaces") as wall:
        port = host.getsockname()[1]
        body = f"""
            import asyncio, http.client, urllib.request, smtplib, ftplib, xmlrpc.client
            done = []
            async def stream():
                await asyncio.open_connection("127.0.0.1", {port})
            for action in (
                lambda: urllib.request.urlopen("http://127.0.0.1:{port}", timeout=2),
                lambda: http.client.HTTPConnection("127.0.0.1", {port}, timeout=2).request("GET", "/"),
                lambda: asyncio.run(stream()),
                lambda: ftplib.FTP().connect("127.0.0.1", {port}, 2),
            ):
                try:
                    action()
                    done.append(1)
                except Exception:
                    pass
            assert done
        """
        assert EFFECT not in wall.inside(body, session="web" if kept else None).output
        assert not was_reached(host)

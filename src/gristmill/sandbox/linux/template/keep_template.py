"""The keeper: started by the host with an empty environment, it does the template's steps in a child and stays outside the jail.

When the host has ended, in any way, it ends the template and removes the host's cgroups.

argv: descriptor of the control socket, pid of the host. The first message on the socket is the launch order.
"""

import json
import os
import select
import signal
import socket
import sys
import time

TYPE_CHECKING = False  # as in `typing`, whose import would cost the first caller milliseconds
if TYPE_CHECKING:
    from typing import NoReturn

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)).removesuffix("/gristmill/sandbox/linux/template"))

from gristmill.sandbox.linux.template import template_steps as steps  # noqa: E402 - made importable above

ORDER_BYTES = 1 << 18
CONTROL = 3
EXITING = 0x4  # PF_EXITING: the kernel has begun to end this process
END_SECONDS = 60.0
REMOVE_ATTEMPTS = 1_500


def main() -> None:
    """Starts the template, then waits until the template or the host ends."""
    control = int(sys.argv[1])
    order = json.loads(socket.socket(fileno=os.dup(control)).recv(ORDER_BYTES))
    try:
        host = os.pidfd_open(int(sys.argv[2]))
        if os.getppid() != int(sys.argv[2]):  # the host ended before it could be watched
            _remove_cgroups(order["cgroups"])
            os._exit(1)
        child = os.fork()
        if child == 0:
            _become_template(control, order)
        template = os.pidfd_open(child)
    except OSError as error:
        _report_failure(control, f"the keeper cannot watch its processes (pidfd_open): {error.strerror}")
    os.close(control)
    select.select([host, template], [], [])
    signal.pidfd_send_signal(template, signal.SIGKILL)
    os.waitpid(child, 0)
    if _has_ended(host, int(sys.argv[2])):  # a host that is still alive may start another template with the same groups
        _remove_cgroups(order["cgroups"])


def _has_ended(host: int, pid: int) -> bool:
    """Returns whether the host has ended, and waits for an end that has begun.

    The kernel closes the sockets of a host that is killed, which ends the template, a moment before its end is reported.
    """
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as stat:
            is_ending = int(stat.read().rpartition(")")[2].split()[6]) & EXITING
    except OSError:
        is_ending = True
    ended, _, _ = select.select([host], [], [], END_SECONDS if is_ending else 0)
    return bool(ended)


def _become_template(control: int, order: dict[str, list[dict[str, object]]]) -> None:
    try:
        _prefer_for_oom_kill()
        if control != CONTROL:
            os.dup2(control, CONTROL, inheritable=True)
        os.set_inheritable(CONTROL, True)
        os.closerange(CONTROL + 1, 4096)
        steps.walk_steps(order["steps"], steps.TEMPLATE_STEPS)
    except BaseException as error:  # for any error: the host must be told, and nothing may run
        _report_failure(CONTROL, str(error))


def _prefer_for_oom_kill() -> None:
    """Makes the kernel, when memory runs out, kill programs before the host and its tool servers."""
    try:
        with open("/proc/self/oom_score_adj", "w", encoding="ascii") as score:
            score.write("1000")
    except OSError:
        pass  # a host that forbids this has an order of its own


def _report_failure(control: int, reason: str) -> "NoReturn":
    socket.socket(fileno=control).send(json.dumps({"failed": reason}).encode())
    os._exit(70)


def _remove_cgroups(folders: list[str]) -> None:
    """Removes cgroup folders, retrying for half a minute: the kernel refuses while a process in them has not fully ended, which
    takes longer on a busy machine."""
    for folder in folders:
        for _ in range(REMOVE_ATTEMPTS):
            try:
                for name in os.listdir(folder):
                    if os.path.isdir(f"{folder}/{name}"):
                        os.rmdir(f"{folder}/{name}")
                os.rmdir(folder)
            except FileNotFoundError:
                break
            except OSError:
                time.sleep(0.02)
            else:
                break


if __name__ == "__main__":
    main()

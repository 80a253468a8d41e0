"""The kernel objects of one child that the gateway holds."""

from msgspec import Struct

from gristmill.sandbox.linux import process_tree as tree
from gristmill.sandbox.linux.cgroups import ControlGroup
from gristmill.sandbox.run.captured_output import CapturedOutput
from gristmill.sandbox.run.frames import GuestLink
from gristmill.sandbox.run.verdict import ChildExit


class JailHandles(Struct, frozen=True, kw_only=True):
    """The kernel objects of a child: its socket, its output pipe, its process and its control group."""

    link: GuestLink
    output: CapturedOutput
    pidfd: int
    pid: int
    group: ControlGroup | None

    def measure_peak_bytes(self, exit_: ChildExit | None, base_bytes: int) -> int:
        """Returns the most memory that the child used; ``exit_`` is None while it lives."""
        peak = self.group.peak_bytes() if self.group else None
        if peak is None:
            peak = (exit_.rss_bytes if exit_ else tree.read_peak_bytes(self.pid)) - base_bytes
        return peak

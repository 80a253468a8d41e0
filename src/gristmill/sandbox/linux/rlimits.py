"""Per-process limits: the second line behind cgroups, and the only one where the host grants no cgroup."""

import functools
import resource

NAMES = {
    "core": resource.RLIMIT_CORE,
    "cpu": resource.RLIMIT_CPU,
    "data": resource.RLIMIT_DATA,
    "fsize": resource.RLIMIT_FSIZE,
    "memlock": resource.RLIMIT_MEMLOCK,
    "msgqueue": 12,  # RLIMIT_MSGQUEUE has no name in the resource module
    "nofile": resource.RLIMIT_NOFILE,
    "nproc": resource.RLIMIT_NPROC,
}


def set_limits(limits: dict[str, int]) -> None:
    """Set soft and hard limits alike, so that nothing inside can raise them again."""
    for name, value in limits.items():
        number = NAMES[name]
        # The hard limit may already be lower (a container's, ours): never ask for more than may be had.
        hard = _hard(number)
        if hard != resource.RLIM_INFINITY:
            value = min(value, hard)
        # cpu: the kernel sends SIGXCPU at the soft limit and SIGKILL at the hard one, a second later.
        resource.setrlimit(number, (value, value + 1 if name == "cpu" and hard == resource.RLIM_INFINITY else value))


@functools.cache
def _hard(number: int) -> int:
    """The hard limit that the template found: children inherit it, and asking again would cost a call each."""
    return resource.getrlimit(number)[1]


def thread_stacks(size: int) -> None:
    """Set the stack that threads of the next program get: eight megabytes each would eat the data limit."""
    hard = resource.getrlimit(resource.RLIMIT_STACK)[1]
    resource.setrlimit(resource.RLIMIT_STACK, (size, hard))

"""Per-process limits: the second line behind cgroups, and the only one where the host grants no cgroup."""

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


def pair(name: str, value: int) -> tuple[int, int]:
    """Soft and hard limit, alike, so that nothing inside can raise them again."""
    # The hard limit may already be lower (a container's, ours): never ask for more than may be had.
    hard = resource.getrlimit(NAMES[name])[1]
    if hard != resource.RLIM_INFINITY:
        return min(value, hard), min(value, hard)
    # cpu: the kernel sends SIGXCPU at the soft limit and SIGKILL at the hard one, a second later.
    return value, value + 1 if name == "cpu" else value


def thread_stacks(size: int) -> None:
    """Set the stack that threads of the next program get: eight megabytes each would eat the data limit."""
    hard = resource.getrlimit(resource.RLIMIT_STACK)[1]
    resource.setrlimit(resource.RLIMIT_STACK, (size, hard))

"""Per-process limits: a second line of defence after cgroups, and the only one where the host grants no cgroup."""

import resource

RLIMIT_NUMBERS = {
    "core": resource.RLIMIT_CORE,
    "cpu": resource.RLIMIT_CPU,
    "data": resource.RLIMIT_DATA,
    "fsize": resource.RLIMIT_FSIZE,
    "memlock": resource.RLIMIT_MEMLOCK,
    "msgqueue": 12,  # RLIMIT_MSGQUEUE has no name in the resource module
    "nofile": resource.RLIMIT_NOFILE,
    "nproc": resource.RLIMIT_NPROC,
}


def make_limit_pair(name: str, value: int) -> tuple[int, int]:
    """Returns the soft and the hard limit. They are equal, so that nothing inside can raise the soft one again."""
    # The hard limit may already be lower (a container's, or ours): never ask for more than is allowed.
    hard = resource.getrlimit(RLIMIT_NUMBERS[name])[1]
    if hard != resource.RLIM_INFINITY:
        return min(value, hard), min(value, hard)
    # For cpu the hard limit is a second later: the kernel sends SIGXCPU at the soft limit and SIGKILL at the hard one.
    return value, value + 1 if name == "cpu" else value


def set_thread_stacks(size: int) -> None:
    """Sets the stack size for threads of the next program: the usual eight megabytes each would use up the data limit."""
    hard = resource.getrlimit(resource.RLIMIT_STACK)[1]
    resource.setrlimit(resource.RLIMIT_STACK, (size, hard))

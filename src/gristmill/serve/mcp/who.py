"""Whose request it is. Sessions, runs and files are theirs alone: the same caller of another tenant is somebody else."""

from typing import NamedTuple


class Who(NamedTuple):
    """A caller of a tenant."""

    caller: str = "local"
    tenant: str = "local"


LOCAL = Who()

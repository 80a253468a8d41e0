# pyright: basic, reportArgumentType=false, reportAssignmentType=false, reportAttributeAccessIssue=false
# pyright: reportOptionalMemberAccess=false, reportOptionalSubscript=false
# A program's code is dynamic, and so is the code that runs it: this file is not type-checked strictly.
"""The result of a call that waits for approval: a program can index it, pass it to other calls and show it, but not know it.

A program that must know it to continue stops there, and the plan says so.
"""

PLANNED_KEY = "$planned"
"""The key under which a planned result travels in the arguments of a later call; the host knows which call it stands for."""


class PlanStopped(BaseException):
    """The program needs a result that exists only after approval. A BaseException: no ``except Exception`` may catch it."""


PlanStopped.__module__ = "mcp_client"


class PlannedResult:
    """Result ``number`` of the plan, or the part of it at ``path``."""

    __slots__ = ("_number", "_path", "_tool")

    def __init__(self, number, tool, path=()):
        self._number, self._tool, self._path = number, tool, path

    def __getitem__(self, key):
        if type(key) not in (str, int):
            self._stop("is taken apart")
        return PlannedResult(self._number, self._tool, (*self._path, key))

    def get(self, key, default=None):
        """Returns what is at ``key``, like a dict; it is as unknown as the rest."""
        return self[key]

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        if hasattr(dict, name):
            self._stop(f"is asked for .{name}")
        return self[name]  # as with a real result; calling it stops the plan

    def __repr__(self):
        path = "".join(f"[{part!r}]" for part in self._path)
        return f"<result{path} of planned call {self._number}, {self._tool}>"

    __str__ = __repr__

    def __format__(self, spec):
        return repr(self)

    def __hash__(self):
        self._stop("is used as a key")

    def reference(self):
        """Returns what is sent to the host in its place."""
        return {PLANNED_KEY: [self._number, *self._path]}

    def _stop(self, why):
        raise PlanStopped(
            f"the result of {self._tool} (call {self._number} of the plan) {why}, "
            "but the call is not made before it is approved: the plan ends here"
        )


def _make_stopping_method(name):
    def method(self, *_):
        self._stop("decides how the program goes on")

    method.__name__ = name
    return method


for _name in (
    "add and bool bytes call contains enter eq exit float floordiv ge gt index int iadd iter len le lt matmul mod mul ne neg "
    "next or pow radd rmul rsub setitem delitem sub truediv xor"
).split():
    setattr(PlannedResult, f"__{_name}__", _make_stopping_method(f"__{_name}__"))

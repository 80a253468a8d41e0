"""What is measured, as data: name, unit, bar and method of every figure, and who the peers are."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """One row of the table. ``bar`` is a promise; ``ratio_bar`` is one about the ratio to a peer in the same run."""

    name: str
    title: str
    unit: str
    method: str
    bar: float | None = None
    ratio_bar: tuple[str, float] | None = None
    more_is_better: bool = False
    against: str | None = None
    """The figure of the peers that this one is held against, where it is not the one of the same name."""

    def met(self, value: float) -> bool | None:
        """Whether the bar is met; None without one."""
        if self.bar is None:
            return None
        return value >= self.bar if self.more_is_better else value <= self.bar


@dataclass(frozen=True, slots=True, kw_only=True)
class Peer:
    """One column: its script in ``peers/``, and what pip installs for it into an environment of its own."""

    name: str
    title: str
    script: str
    package: str | None = None


PEERS = (
    Peer(name="fastmcp", title="FastMCP 4.1.2 code mode", script="fastmcp_code", package="fastmcp[code-mode]==4.1.2"),
    Peer(name="monty", title="pydantic-monty 1.4.0", script="monty", package="pydantic-monty==1.4.0"),
    Peer(name="smolagents", title="smolagents 1.26 local", script="smol", package="smolagents==1.26.0"),
    Peer(name="restricted", title="RestrictedPython 8.5", script="restricted", package="RestrictedPython==8.5"),
    Peer(name="bwrap", title="bubblewrap + python3", script="bwrap"),
    Peer(name="python", title="python3 -I -c", script="python"),
    Peer(name="fork", title="bare fork", script="fork"),
)

_SANDBOX = "in process, the sandbox with host functions as tools (gristmill.sandbox)"
_RUNTIME = "in process through gristmill.Runtime: checks, policy, masks, journal, audit and token accounts included"
FIGURES = (
    Figure(
        name="fresh", title="fresh run of print(1+1), filled pool", unit="ms", bar=0.8, ratio_bar=("fastmcp", 0.2),
        method=f"{_SANDBOX}; each run waits 5 ms and until the pool of 8 is filled, then one run is timed",
    ),
    Figure(
        name="fresh_whole", title="the same through the whole gateway", unit="ms", against="fresh",
        method=f"{_RUNTIME}; otherwise as `fresh`",
    ),
    Figure(
        name="kept", title="run in a kept session", unit="ms", bar=0.2,
        method=f"{_SANDBOX}; one session, 5 ms between runs",
    ),
    Figure(
        name="kept_whole", title="the same through the whole gateway", unit="ms", against="kept",
        method=f"{_RUNTIME}; otherwise as `kept`",
    ),
    Figure(
        name="on_demand", title="fresh run, empty pool", unit="ms", bar=5.0,
        method=f"{_SANDBOX}, warm = 0: the child is forked, sealed and used within the timed call",
    ),
    Figure(
        name="fork_session", title="fork of a live session", unit="ms",
        method=f"{_RUNTIME}; fork_session of a session that holds a small state, until the branch is ready",
    ),
    Figure(
        name="fresh_pandas", title="fresh run, pandas pre-imported", unit="ms",
        method="as `fresh`, with pandas preloaded in the template, in turns with one without; the program does not use it",
    ),
    Figure(
        name="pandas_ratio", title="the same against without, in turns", unit="x", bar=1.05,
        method="medians of `fresh_pandas` and of as many runs without pandas, in turns; within 0.05 is as much as without",
    ),
    Figure(
        name="use_pandas", title="a pandas program, pre-imported", unit="ms",
        method="as `fresh_pandas`, the program makes a frame of three rows and groups it",
    ),
    Figure(
        name="cold", title="cold start to first result", unit="ms", bar=300.0,
        method="a new process from its start to its first result: interpreter, imports, runtime, one run",
    ),
    Figure(
        name="cold_pandas", title="cold start, pandas preloaded", unit="ms",
        method="as `cold`, with pandas preloaded in the template",
    ),
    Figure(
        name="call_sync", title="tool call, plain", unit="us", bar=100.0,
        method=f"{_SANDBOX}: round trip guest, host function, guest; sequential, each timed in the guest",
    ),
    Figure(
        name="call_whole", title="the same through the whole gateway", unit="us", against="call_sync",
        method=f"{_RUNTIME}; otherwise as `call_sync`",
    ),
    Figure(
        name="call_await", title="tool call, awaited", unit="us", bar=100.0,
        method="as `call_sync`, written with await in an async function",
    ),
    Figure(
        name="call_3000", title="tool call, 3,000 tools", unit="us", bar=100.0,
        method="as `call_sync`, with 3,000 tools registered",
    ),
    Figure(
        name="parallel", title="100 parallel calls of a 50 ms tool", unit="ms", bar=80.0,
        method="one fresh execute of asyncio.gather over 100 calls, whole execution timed on the host",
    ),
    Figure(
        name="rows", title="10,000 rows fetched, filtered, aggregated", unit="ms", bar=60.0,
        method="one fresh execute that fetches 2 MB from a tool in one call, whole execution timed on the host",
    ),
    Figure(
        name="rate_2", title="fresh runs per second, 2 callers", unit="/s", more_is_better=True,
        method=f"{_SANDBOX}; callers in a closed loop, refilling included",
    ),
    Figure(
        name="rate_32", title="fresh runs per second, 32 callers", unit="/s", bar=350.0, more_is_better=True,
        method="as `rate_2` with 32 callers",
    ),
    Figure(
        name="rate_256", title="fresh runs per second, 256 callers", unit="/s", bar=350.0, more_is_better=True,
        method="as `rate_2` with 256 callers",
    ),
    Figure(
        name="rate_whole", title="the same with 32 callers through the whole gateway", unit="/s", more_is_better=True,
        against="rate_32", method=f"{_RUNTIME}; otherwise as `rate_32`",
    ),
    Figure(
        name="crowd_p99", title="1,000 callers at once, p99", unit="s", bar=5.0,
        method="1,000 executes started at the same moment; time from the start to each result",
    ),
    Figure(
        name="crowd_errors", title="1,000 callers at once, errors", unit="", bar=0.0,
        method="executes of the same thousand that failed or raised",
    ),
    Figure(
        name="crowd_shift", title="1,000 callers at once, largest displacement", unit="places",
        method="largest difference between a caller's place in order of arrival and in order of completion",
    ),
    Figure(
        name="child_mb", title="memory of a waiting child", unit="MB", bar=3.0,
        method="PSS (smaps_rollup) of each of 8 waiting children, median; two have rehearsed and take more (`mean` counts all)",
    ),
    Figure(
        name="runtime_mb", title="memory of the whole runtime", unit="MB", bar=150.0,
        method="PSS of the host process, keeper, template and 8 waiting children together",
    ),
    Figure(
        name="snippets", title="programs that run", unit="of 32", bar=32.0, more_is_better=True,
        method="programs of the kind models write in bench/snippets; right only if the expected value comes back; masks off",
    ),
)  # fmt: skip
"""In the order of the table."""


REFERENCE = {
    ("fresh", "fastmcp"): 5.14, ("fresh", "monty"): 0.43, ("fresh", "bwrap"): 22.0, ("fresh", "fork"): 0.96,
    ("call_sync", "fastmcp"): 730.0, ("call_sync", "monty"): 340.0, ("call_sync", "bwrap"): 67.0, ("call_sync", "python"): 47.0,
    ("rate_32", "fastmcp"): 286.0, ("rate_32", "monty"): 1_961.0, ("rate_32", "bwrap"): 135.0,
    ("cold", "fastmcp"): 1_439.0, ("cold", "monty"): 97.0, ("cold", "bwrap"): 79.0,
}  # fmt: skip
"""Medians of the same peers on the machine where the bars were set: how much slower or faster this one is, and at what."""

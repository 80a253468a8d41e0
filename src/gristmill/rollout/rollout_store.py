"""Keeps where rollouts stand: every step is one transaction, so that all processes of one store see it whole or not at all."""

import json
from collections.abc import Callable
from functools import partial
from typing import Any, cast

from gristmill.errors import Conflict
from gristmill.model import Json
from gristmill.rollout.rollout_state import RolloutStage, RolloutState, RolloutStep, Standing, Step, take_step
from gristmill.store.base import Row, Store, Transaction

_COLUMNS = "name, standing, stage, percent, version, steps, started, changed, decided_by, reason"
_SELECT = f"SELECT {_COLUMNS} FROM rollouts WHERE name = ?"  # noqa: S608 - our own names
_KEPT = ", ".join(f"{column} = excluded.{column}" for column in _COLUMNS.split(", ")[1:])
_UPSERT = f"INSERT INTO rollouts ({_COLUMNS}) VALUES ({', '.join('?' * 10)}) ON CONFLICT (name) DO UPDATE SET {_KEPT}"  # noqa: S608
_STEP_COLUMNS = "version, at, step, from_percent, percent, stage, decided_by, reason, numbers"
MOST_STEPS = 1_000
"""Most steps of one rollout that are read."""


class RolloutStore:
    """The rollouts of one store."""

    def __init__(self, store: Store, clock: Callable[[], float]) -> None:
        self._store, self._clock = store, clock

    async def read_state(self, name: str) -> RolloutState:
        """Reads where a rollout stands."""
        return _parse_state(name, await self._store.read(_SELECT, name))

    async def change(
        self, name: str, step: Step, stages: tuple[RolloutStage, ...], *, by: str, reason: str, numbers: Json = None,
        version: int | None = None,
    ) -> tuple[RolloutState, RolloutState]:  # fmt: skip
        """Takes a step and returns the states before and after it; with a ``version`` only if it is still that one.

        Raises:
            Conflict: the step cannot be taken from here, or another one came first.
            StoreUnavailable: nothing was changed.
        """
        work = partial(
            _take_step,
            name=name,
            step=step,
            stages=stages,
            now=self._clock(),
            by=by,
            reason=reason,
            numbers=numbers,
            version=version,
        )
        return await self._store.change(work)

    async def list_steps(self, name: str) -> tuple[RolloutStep, ...]:
        """Lists the steps of a rollout, the newest first."""
        sql = f"SELECT {_STEP_COLUMNS} FROM rollout_steps WHERE rollout = ? ORDER BY version DESC LIMIT {MOST_STEPS}"  # noqa: S608
        return tuple(map(_parse_step, await self._store.read(sql, name)))


def _take_step(
    transaction: Transaction, *, name: str, step: Step, stages: tuple[RolloutStage, ...], now: float, by: str, reason: str,
    numbers: Json, version: int | None,
) -> tuple[RolloutState, RolloutState]:  # fmt: skip
    before = _parse_state(name, transaction.run(_SELECT, name))
    if version is not None and before.version != version:
        raise Conflict(f"the rollout {name} was changed by another step: look at `gristmill rollout status`")
    after = take_step(before, step, stages, now=now, by=by, reason=reason)
    transaction.run(
        _UPSERT, after.name, after.standing, after.stage, after.percent, after.version, after.steps,
        after.started, after.changed, after.by, after.reason,
    )  # fmt: skip
    transaction.run(
        f"INSERT INTO rollout_steps (rollout, {_STEP_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",  # noqa: S608
        name, after.version, now, step, before.percent, after.percent, after.stage, by, reason, json.dumps(numbers),
    )  # fmt: skip
    return before, after


def _parse_state(name: str, rows: list[Row]) -> RolloutState:
    if not rows:
        return RolloutState(name=name)
    _, standing, stage, percent, version, steps, started, changed, by, reason = cast("tuple[Any, ...]", rows[0])
    return RolloutState(
        name=name, standing=cast("Standing", standing), stage=int(stage), percent=float(percent), version=int(version),
        steps=int(steps), started=float(started), changed=float(changed), by=str(by), reason=str(reason),
    )  # fmt: skip


def _parse_step(row: Row) -> RolloutStep:
    version, at, step, from_percent, percent, stage, by, reason, numbers = cast("tuple[Any, ...]", row)
    return RolloutStep(
        version=int(version), at=float(at), step=cast("Step", step), from_percent=float(from_percent), percent=float(percent),
        stage=int(stage), by=str(by), reason=str(reason), numbers=json.loads(str(numbers)),
    )  # fmt: skip

"""Opens a rollout: alone, for the command line, or for a runtime that serves."""

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager

from gristmill.config.tree import Config
from gristmill.errors import ConfigError
from gristmill.events import ConfigChanged
from gristmill.model import Json
from gristmill.rollout.check_guardrails import GuardrailFinding, list_guardrails
from gristmill.rollout.rollout_state import RolloutState, Step
from gristmill.rollout.rollouts import FlagSource, Rollouts
from gristmill.runtime.open.open_records import open_config_store, open_written_audit
from gristmill.runtime.runtime import Runtime
from gristmill.runtime.values.audit_values import AuditRecord
from gristmill.runtime.values.metric_values import GuardrailFigures, NoMetrics

Record = Callable[[AuditRecord], None]


@asynccontextmanager
async def open_rollouts(config: Config) -> AsyncGenerator[Rollouts]:
    """Opens the rollout of a configuration without a sandbox or a server; its steps are recorded in the audit.

    Raises:
        StoreUnavailable: the store cannot be opened.
        ConfigError: a guardrail or the key of the store cannot be used.
    """
    list_guardrails(config.rollout)  # before the store is made
    async with open_config_store(config) as store, open_written_audit(config, store) as audit:
        yield Rollouts(config.rollout, store, tell=_record_with(audit.record), flags=_open_flags(config))


@asynccontextmanager
async def serve_rollouts(runtime: Runtime) -> AsyncGenerator[Rollouts]:
    """Opens the rollout of a serving runtime; its guardrails are looked at every second while the block runs.

    Raises:
        ConfigError: a guardrail cannot be used, or `gristmill[openfeature]` is missing.
    """
    made = build_rollouts(runtime)
    follow_config(made, runtime)
    made.is_served = True
    made.keep_watch(MetricsWatch(runtime.metrics))
    try:
        yield made
    finally:
        made.is_served = False
        await made.stop_watch()


class MetricsWatch:
    """Shows in the metrics where the rollout stands and what its guardrails show."""

    def __init__(self, metrics: NoMetrics) -> None:
        self._metrics = metrics

    def note_look(self, state: RolloutState, findings: tuple[GuardrailFinding, ...]) -> None:
        """Notes what a look saw."""
        figures = [
            GuardrailFigures(guardrail=one.when, arm=one.arm, value=one.value, limit=one.limit, is_breached=one.is_breached)
            for one in findings
        ]
        self._metrics.set_rollout(state.percent, state.standing, figures)


def build_rollouts(runtime: Runtime) -> Rollouts:
    """Builds the rollout of an open runtime, in its store; nothing looks at the guardrails.

    Raises:
        ConfigError: a guardrail cannot be used, or `gristmill[openfeature]` is missing.
    """
    config = runtime.config
    return Rollouts(config.rollout, runtime.store, tell=_record_with(runtime.audit.record), flags=_open_flags(config))


def follow_config(made: Rollouts, runtime: Runtime) -> None:
    """Has a rollout follow the configuration of its runtime; one that it could not use is refused as a whole."""

    def check(wanted: Config) -> None:
        list_guardrails(wanted.rollout)
        _open_flags(wanted)

    def follow(change: ConfigChanged) -> None:
        if change.rollout:
            made.take_config(runtime.config.rollout, _open_flags(runtime.config))
            if made.is_served:
                made.keep_watch()

    runtime.config_checks.append(check)
    runtime.config_listeners.append(follow)


def _record_with(record: Record) -> Callable[[RolloutState, RolloutState, Step, Json], None]:
    def record_step(before: RolloutState, after: RolloutState, step: Step, numbers: Json) -> None:
        details: dict[str, Json] = {
            "step": step, "from_percent": before.percent, "percent": after.percent, "stage": after.stage,
            "version": after.version, "reason": after.reason, "numbers": numbers,
        }  # fmt: skip
        record(
            AuditRecord(
                kind="rollout", id=f"{after.name}/{after.version}", time=after.changed, caller=after.by, status=after.standing,
                details={name: value for name, value in details.items() if value is not None},
            )
        )  # fmt: skip

    return record_step


def _open_flags(config: Config) -> FlagSource | None:
    if config.rollout.flag is None:
        return None
    try:
        from gristmill.rollout.feature_flags import OpenFeatureFlags  # its package is an extra

        return OpenFeatureFlags()
    except ImportError:
        raise ConfigError("rollout.flag needs OpenFeature: pip install 'gristmill[openfeature]'") from None

"""Version 7: rollouts with their steps, and what came of each arm."""

from gristmill.store.schema.migration import Migration

_STATEMENTS = (
    """CREATE TABLE rollouts (
        name TEXT PRIMARY KEY, standing TEXT NOT NULL, stage INTEGER NOT NULL, percent DOUBLE PRECISION NOT NULL,
        version INTEGER NOT NULL, steps INTEGER NOT NULL, started DOUBLE PRECISION NOT NULL, changed DOUBLE PRECISION NOT NULL,
        decided_by TEXT NOT NULL, reason TEXT NOT NULL)""",
    """CREATE TABLE rollout_steps (
        rollout TEXT NOT NULL, version INTEGER NOT NULL, at DOUBLE PRECISION NOT NULL, step TEXT NOT NULL,
        from_percent DOUBLE PRECISION NOT NULL, percent DOUBLE PRECISION NOT NULL, stage INTEGER NOT NULL,
        decided_by TEXT NOT NULL, reason TEXT NOT NULL, numbers TEXT NOT NULL, PRIMARY KEY (rollout, version))""",
    """CREATE TABLE arm_outcomes (
        id TEXT PRIMARY KEY, rollout TEXT NOT NULL, arm TEXT NOT NULL, compared INTEGER NOT NULL, unit TEXT NOT NULL,
        conversation TEXT NOT NULL, tenant TEXT NOT NULL, caller TEXT NOT NULL, at DOUBLE PRECISION NOT NULL,
        failed INTEGER NOT NULL, status TEXT NOT NULL, seconds DOUBLE PRECISION NOT NULL, first_seconds DOUBLE PRECISION,
        tokens_in BIGINT NOT NULL, tokens_out BIGINT NOT NULL, tokens_cached BIGINT NOT NULL, direct_tokens BIGINT,
        measured INTEGER NOT NULL, dollars DOUBLE PRECISION NOT NULL, used_code INTEGER NOT NULL, approvals INTEGER NOT NULL,
        fallbacks INTEGER NOT NULL, repairs INTEGER NOT NULL, accuracy DOUBLE PRECISION, complaints INTEGER NOT NULL)""",
    "CREATE INDEX arm_outcomes_by_time ON arm_outcomes (rollout, at)",
    "CREATE INDEX arm_outcomes_by_conversation ON arm_outcomes (tenant, conversation)",
    """CREATE TABLE arm_feedback (
        id TEXT PRIMARY KEY, rollout TEXT NOT NULL, arm TEXT NOT NULL, outcome TEXT NOT NULL, tenant TEXT NOT NULL,
        caller TEXT NOT NULL, at DOUBLE PRECISION NOT NULL, thumb TEXT, accuracy DOUBLE PRECISION, complaint INTEGER NOT NULL,
        comment TEXT NOT NULL)""",
    "CREATE INDEX arm_feedback_by_time ON arm_feedback (rollout, at)",
    "ALTER TABLE spent_executions ADD COLUMN arm TEXT NOT NULL DEFAULT ''",
)

ROLLOUTS = Migration(number=7, name="rollouts", statements=_STATEMENTS)

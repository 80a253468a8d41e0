"""The `records` section of the configuration: what is recorded, and for how long."""

from pydantic import Field

from gristmill.config.sections.base import Section


class RecordsConfig(Section):
    """What is recorded, and for how long."""

    audit_days: float = Field(default=365.0, ge=0, le=36_500)
    """Days that audit records are kept; 0 keeps them forever."""
    journal_days: float = Field(default=14.0, ge=0, le=36_500)
    """Days after its last change that a run can be resumed; 0 keeps it forever."""
    journal_mb: int = Field(default=1_024, ge=1, le=1_048_576)
    """Size of the journal in MB; above that, the tenant with most loses the runs that changed longest ago first."""
    outcomes_mb: int = Field(default=512, ge=1, le=1_048_576)
    """Megabytes of kept outcomes of one tenant; the oldest make room for new ones."""
    outcome_kb: int = Field(default=64, ge=0, le=32_000)
    """Kilobytes that a service keeps of the outcome of each execution (output, result, error, masked) for `journal_days`; longer
    ones are cut. 0 keeps only those that were promised: of background executions and requests with an `Idempotency-Key`."""
    token_price: float = Field(default=3.0, ge=0, le=1_000_000)
    """Dollars for a million input tokens, for what `gristmill stats` and `/stats` say in money."""
    metrics: bool = True
    """Whether metrics are counted and served."""
    traces: bool = False
    """Whether OpenTelemetry spans are created; needs `gristmill[otel]` and its environment variables."""

"""The `records` section of the configuration: what is recorded, and for how long. Ground below `config`."""

from pydantic import Field

from gristmill.config.sections.base import Section


class RecordsConfig(Section):
    """What is recorded, and for how long."""

    audit_days: float = Field(default=365.0, ge=0, le=36_500)
    """Days that audit records are kept; 0 keeps them for ever."""
    journal_days: float = Field(default=14.0, ge=0, le=36_500)
    """Days that a run can be resumed after it was last touched; 0 keeps it for ever."""
    journal_mb: int = Field(default=1_024, ge=1, le=1_048_576)
    """Size of the journal in MB; past that the runs touched longest ago are forgotten first."""
    metrics: bool = True
    """Whether metrics are counted and served."""
    traces: bool = False
    """Whether OpenTelemetry spans are made; needs `gristmill[otel]` and its environment variables."""

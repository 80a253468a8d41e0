"""The `sessions` and `skills` sections of the configuration: what is kept after an execution, and for how long."""

from pydantic import Field

from gristmill.config.sections.base import Section


class SessionsConfig(Section):
    """What is kept of sessions, and for how long."""

    days: float = Field(default=30.0, gt=0, le=36_500)
    """Days without use after which a session is deleted with its files and values."""
    total_mb: int = Field(default=10_000, ge=1, le=1_000_000_000)
    """Megabytes on disk for all sessions of one tenant; above that, the sessions used longest ago are deleted."""
    most: int = Field(default=10_000, ge=1, le=10_000_000)
    """Sessions that one tenant may have; a further one is refused until others are deleted."""
    results_hours: float = Field(default=1.0, gt=0, le=876_000)
    """Hours without use after which a result is deleted that was too long for the answer of an execution without a session."""
    results_most: int = Field(default=100, ge=1, le=1_000_000)
    """Such results that are kept for one tenant, beside its sessions; the oldest makes room for the next."""
    kv_bytes: int = Field(default=1_000_000, ge=100, le=1_000_000_000)
    """Bytes of all keys and values that code may store in one session."""
    kv_keys: int = Field(default=1_000, ge=1, le=1_000_000)
    """Keys that code may store in one session."""
    kv_total_bytes: int = Field(default=100_000_000, ge=100, le=1_000_000_000_000)
    """Bytes of all keys and values in all sessions of one tenant."""


class SkillsConfig(Section):
    """Functions that code saves for later use."""

    share: bool = False
    """Whether code may save skills of level `shared`, which all users of the tenant find and can import."""
    project: str = Field(default="", max_length=100, pattern=r"^[\w .@/-]*$")
    """Name of the project that skills of level `user` belong to; empty shares them among all configurations without one."""
    most: int = Field(default=500, ge=1, le=100_000)
    """Skills with different names in one session, of one user, or shared in one tenant."""
    source_bytes: int = Field(default=64_000, ge=1_000, le=1_000_000)
    """Size of one skill's source, in bytes; its tests may have as much again."""
    versions: int = Field(default=100, ge=1, le=10_000)
    """Versions kept of one skill; the oldest is deleted first."""
    total_bytes: int = Field(default=100_000_000, ge=1_000, le=1_000_000_000_000)
    """Bytes of source and tests of all skills and versions of one tenant; above that, a skill's own older versions make room."""

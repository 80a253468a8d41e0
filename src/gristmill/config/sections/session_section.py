"""The `sessions` and `skills` sections of the configuration: what outlives an execution, and for how long."""

from pydantic import Field

from gristmill.config.sections.base import Section


class SessionsConfig(Section):
    """What is kept of sessions, and for how long."""

    days: float = Field(default=30.0, gt=0, le=36_500)
    """Days without use after which a session is deleted with its files and values."""
    total_mb: int = Field(default=10_000, ge=1, le=1_000_000_000)
    """Megabytes on disk that all sessions of one tenant may take; past that those used longest ago are deleted."""
    most: int = Field(default=10_000, ge=1, le=10_000_000)
    """Sessions of one tenant; a further one is refused until old ones are deleted."""
    kv_bytes: int = Field(default=1_000_000, ge=100, le=1_000_000_000)
    """Bytes of all keys and values that code may store in one session."""
    kv_keys: int = Field(default=1_000, ge=1, le=1_000_000)
    """Keys that code may store in one session."""


class SkillsConfig(Section):
    """Functions that code saves for later."""

    share: bool = False
    """Whether code may save skills of level `shared`, which everybody in the tenant finds and can import."""
    most: int = Field(default=500, ge=1, le=100_000)
    """Skills by different names in one session, of one user, or shared in one tenant."""
    source_bytes: int = Field(default=64_000, ge=1_000, le=1_000_000)
    """Size of one skill's source, in bytes; its tests may have as much again."""
    versions: int = Field(default=100, ge=1, le=10_000)
    """Versions kept of one skill; the oldest goes first."""

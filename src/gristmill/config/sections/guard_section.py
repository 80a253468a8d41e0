"""The `guard` section of the configuration: rules for code, beside the sandbox."""

from gristmill.config.sections.base import Section


class GuardConfig(Section):
    """Rules for code. An empty section refuses nothing that can run: the sandbox protects the host, not a list of words."""

    allowed_modules: tuple[str, ...] | None = None
    """Modules that code may import (`json`, `urllib.parse`), beside those of tools. Unset allows all, an empty list none."""
    denied_names: tuple[str, ...] = ()
    """Names that code may not use, as a variable, an attribute or an import, such as `subprocess` or `eval`."""

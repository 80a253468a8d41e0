"""The `programs` section of the configuration: what all programs of tool servers get from Gristmill's environment."""

import re
from typing import Annotated

from pydantic import AfterValidator, Field

from gristmill.config.sections.base import Section

PASSED_VARIABLES = (
    "LANGUAGE", "LC_*", "TZ",
    "SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "NODE_EXTRA_CA_CERTS", "PIP_CERT",
    "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "all_proxy", "no_proxy",
    "NODE_USE_ENV_PROXY",
)  # fmt: skip
"""Locale, certificates and proxies: without them programs fail in networks of companies, with errors that name no cause."""

_PATTERN = re.compile(r"[A-Za-z_*][A-Za-z0-9_*]*")


def _check_variable(pattern: str) -> str:
    if not _PATTERN.fullmatch(pattern):
        raise ValueError(f"{pattern[:60]!r} names no environment variable; * stands for any letters, as in `AWS_*`")
    return pattern


VariablePattern = Annotated[str, AfterValidator(_check_variable)]


class ProgramsConfig(Section):
    """Programs that are started as tool servers."""

    env_pass: tuple[VariablePattern, ...] = PASSED_VARIABLES
    """Variables of Gristmill's environment that every program gets, beside PATH, HOME and LANG; `*` stands for any letters."""
    log_kb: int = Field(default=512, ge=0, le=1_048_576)
    """Kilobytes kept of what each program writes to standard error, for `gristmill logs`; 0 keeps nothing on the disk."""

"""The table of failures, in the order in which a failure is compared with it: special cases first."""

from gristmill.runtime.hints.limit_failures import ERROR_FAILURES, LIMIT_FAILURES
from gristmill.runtime.hints.outside_failures import INTERACTION_FAILURES, NETWORK_FAILURES, PACKAGE_FAILURES, PROCESS_FAILURES
from gristmill.runtime.hints.python_failures import ASYNC_FAILURES, FILE_FAILURES, NAME_FAILURES, SYNTAX_FAILURES
from gristmill.runtime.hints.result_failures import RESULT_FAILURES
from gristmill.runtime.hints.tool_failures import TOOL_FAILURES

FAILURES = (
    *LIMIT_FAILURES,
    *NETWORK_FAILURES,
    *PROCESS_FAILURES,
    *PACKAGE_FAILURES,
    *INTERACTION_FAILURES,
    *ASYNC_FAILURES,
    *SYNTAX_FAILURES,
    *TOOL_FAILURES,
    *NAME_FAILURES,
    *RESULT_FAILURES,
    *FILE_FAILURES,
)
"""Failures of executions."""

DOOR_FAILURES = ERROR_FAILURES
"""Errors that a door answers without an execution."""

"""Test doubles for Gristmill's own tests and for yours: a sandbox without processes, a runtime that uses it, a model server."""

from gristmill.testing.fake_sandboxes import (
    BuildReport,
    CallTool,
    FakePool,
    FakeSandbox,
    Program,
    fake_runtime,
    report_success,
)
from gristmill.testing.model_answers import (
    ModelAnswer,
    ModelCall,
    ModelFailure,
    ModelRequest,
    ModelScript,
    answer_by_question,
    answer_by_turn,
    answer_in_order,
)
from gristmill.testing.model_scripts import read_model_script
from gristmill.testing.model_server import ModelServer

__all__ = [
    "BuildReport",
    "CallTool",
    "FakePool",
    "FakeSandbox",
    "ModelAnswer",
    "ModelCall",
    "ModelFailure",
    "ModelRequest",
    "ModelScript",
    "ModelServer",
    "Program",
    "answer_by_question",
    "answer_by_turn",
    "answer_in_order",
    "fake_runtime",
    "read_model_script",
    "report_success",
]

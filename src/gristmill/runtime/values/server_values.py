"""Offers questions that servers ask during a call with their answers, and the Python functions that can be a server."""

from gristmill.upstream.base import Ask, InputAnswer, InputRequest
from gristmill.upstream.described_functions import DescribedFunction
from gristmill.upstream.execution_callers import refuse_questions
from gristmill.upstream.python_functions import Function

__all__ = ["Ask", "DescribedFunction", "Function", "InputAnswer", "InputRequest", "refuse_questions"]

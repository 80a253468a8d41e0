"""Loads the judge of ``gristmill rollout compare``: a function of the user, from a file or a module."""

import importlib
import importlib.util
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

from gristmill.errors import ConfigError
from gristmill.rollout.compare_tasks import Judge, TaskAnswer, TaskAsked, call_judge


def load_judge(named: str) -> Judge:
    """Loads ``FILE.py:FUNCTION`` or ``MODULE:FUNCTION``; what it raises later becomes an error that names the question.

    Raises:
        ConfigError: there is no such function, or its file cannot be loaded.
    """
    where, _, name = named.rpartition(":")
    if not where or not name:
        raise ConfigError(f"--judge {named[:200]!r}: write FILE.py:FUNCTION or MODULE:FUNCTION")
    try:
        function = getattr(_load_module(where), name, None)
    except Exception as error:  # it is a program of the user, which may fail in any way
        raise ConfigError(f"--judge: {where} cannot be loaded: {type(error).__name__}: {error}") from error
    if not callable(function):
        raise ConfigError(f"--judge: {where} has no function {name!r}")
    given: Callable[..., Any] = function

    async def judge(task: TaskAsked, answer: TaskAnswer) -> float | None:
        try:
            return await call_judge(given, task, answer)
        except ConfigError:
            raise
        except Exception as error:
            raise ConfigError(f"the judge failed on question {task.id}: {type(error).__name__}: {error}") from error

    return judge


def _load_module(where: str) -> ModuleType:
    if not where.endswith(".py"):
        return importlib.import_module(where)
    spec = importlib.util.spec_from_file_location(Path(where).stem, where)
    if spec is None or spec.loader is None:
        raise ImportError(f"{where} is no Python file")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module

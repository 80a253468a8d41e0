"""Removes credentials and folders of the host from error texts, in every mode of the mask: code and callers get the rest."""

import re
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from functools import cached_property

from msgspec.structs import replace

from gristmill.errors import Error
from gristmill.guard.mask.detector import DetectionTargets, Detector
from gristmill.guard.mask.text.text_spans import split_around_spans
from gristmill.model import Handler, Json, ToolCall, ToolResult

HIDDEN = "<SECRET>"
"""Stands for a credential. Unlike a placeholder of the mask it is never restored."""


class CleanErrors:
    """The layer next to the record of calls; its context cleans errors that do not come from calls."""

    def __init__(self, credentials: frozenset[str] = frozenset(), folders: Mapping[str, str] | None = None) -> None:
        """Hides ``credentials``, texts that look like a secret, and each of ``folders``, for which its word is shown."""
        self._credentials = credentials
        self._folders = {path: word for path, word in (folders or {}).items() if len(path) > 1}

    def learn_credentials(self, credentials: frozenset[str]) -> None:
        """Hides ``credentials`` too."""
        self._credentials |= credentials
        self.__dict__.pop("_find", None)

    async def __call__(self, call: ToolCall, proceed: Handler) -> ToolResult:
        """Passes the call on, and cleans the text of its error."""
        try:
            result = await proceed(call)
        except Error as error:
            self.clean_error(error)
            raise
        return replace(result, value=self._clean_value(result.value)) if result.is_error else result

    @contextmanager
    def clean_raised(self) -> Generator[None]:
        """Cleans the error that is raised inside of this context, if any."""
        try:
            yield
        except Error as error:
            self.clean_error(error)
            raise

    def clean_error(self, error: Error) -> None:
        """Cleans an error in place, since callers look at its class and its fields. Causes go: a log would show their text."""
        error.args = tuple(self.clean_text(part) if isinstance(part, str) else part for part in error.args)
        error.__notes__ = [self.clean_text(note) for note in getattr(error, "__notes__", ())]
        error.__cause__ = None
        error.__context__ = None

    def clean_text(self, text: str) -> str:
        """Returns ``text`` without credentials and without folders of the host."""
        if self._folders:
            text = self._folder_pattern.sub(lambda found: self._folders[found[0]], text)
        spans = self._find(text)
        return HIDDEN.join(split_around_spans(text, spans)) if spans else text

    def _clean_value(self, value: Json) -> Json:
        return self.clean_text(value) if isinstance(value, str) else value

    @cached_property
    def _folder_pattern(self) -> re.Pattern[str]:
        longest_first = sorted(self._folders, key=len, reverse=True)
        return re.compile(rf"(?<![\w.-])(?:{'|'.join(map(re.escape, longest_first))})(?![\w.-])")

    @cached_property
    def _find(self) -> Callable[[str], list[tuple[int, int, str]]]:
        """The search for secrets; built with the first error, since most runs have none."""
        return Detector(DetectionTargets(kinds=frozenset({"secret"}), literals=self._credentials)).find

"""Forwards questions that a tool server asks during a call to the person who uses the client, and returns the answers.

Servers are not trusted: the person reads which server asks before the question, and no text of a server can be mistaken for ours.
"""

from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from mcp_types import ElicitRequestFormParams, ElicitRequestURLParams

from gristmill.errors import CallRefused
from gristmill.harmless_text import neutralize_json, neutralize_text
from gristmill.runtime.values.server_values import InputAnswer
from gristmill.serve.mcp.questions.ask_client import AskClient

if TYPE_CHECKING:
    from gristmill.runtime.values.server_values import Ask, InputRequest

LONGEST_MESSAGE = 2_000
NO_FIELDS: dict[str, Any] = {"type": "object", "properties": {}}


def forward_questions(ask: AskClient, *, pages: bool) -> "Ask":
    """Returns an ``Ask`` that forwards questions of servers to ``ask``; ``pages``: the client can send its user to a web page."""

    async def answer(request: "InputRequest") -> "InputAnswer":
        given = await ask(_build_form(request) if request.url is None else _build_page_request(request, request.url, pages=pages))
        return InputAnswer(action=given.action, content=given.content if given.action == "accept" else None)

    return answer


def _build_form(request: "InputRequest") -> ElicitRequestFormParams:
    return ElicitRequestFormParams(
        message=_write_message(request), requested_schema=neutralize_json(dict(request.schema or NO_FIELDS))
    )


def _build_page_request(request: "InputRequest", url: str, *, pages: bool) -> ElicitRequestURLParams:
    if not pages:
        raise CallRefused(
            f"{request.server} wants its user to visit a web page, and this client cannot show one", rule="call.input"
        )
    if urlsplit(url).scheme != "https" or neutralize_text(url) != url:
        raise CallRefused(f"{request.server} wants its user to visit a page that is not a plain https address", rule="call.input")
    return ElicitRequestURLParams(message=_write_message(request), url=url)


def _write_message(request: "InputRequest") -> str:
    tool = f" for {neutralize_text(request.call.tool)}" if request.call else ""
    return f"The server {neutralize_text(request.server)} asks{tool}: {neutralize_text(request.message[:LONGEST_MESSAGE])}"

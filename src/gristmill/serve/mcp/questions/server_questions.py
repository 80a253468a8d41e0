"""What a tool server asks in the middle of a call, put to the person behind the client, and their answer back.

The server is a stranger: the person reads who asks before what is asked, and nothing in it can pass for our own words.
"""

from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from mcp_types import ElicitRequestFormParams, ElicitRequestURLParams

from gristmill.errors import CallRefused
from gristmill.serve.harmless_text import harmless, harmless_json
from gristmill.serve.mcp.questions.ask_client import AskClient

if TYPE_CHECKING:
    from gristmill.upstream.base import Ask, InputAnswer, InputRequest

LONGEST_MESSAGE = 2_000
NO_FIELDS: dict[str, Any] = {"type": "object", "properties": {}}


def passed_on(ask: AskClient, *, pages: bool) -> "Ask":
    """Asks through ``ask`` what servers want to know; ``pages`` says whether the client can send its user to one."""

    async def answer(request: "InputRequest") -> "InputAnswer":
        from gristmill.upstream.base import InputAnswer

        given = await ask(_form(request) if request.url is None else _page(request, request.url, pages=pages))
        return InputAnswer(action=given.action, content=given.content if given.action == "accept" else None)

    return answer


def _form(request: "InputRequest") -> ElicitRequestFormParams:
    return ElicitRequestFormParams(message=_message(request), requested_schema=harmless_json(dict(request.schema or NO_FIELDS)))


def _page(request: "InputRequest", url: str, *, pages: bool) -> ElicitRequestURLParams:
    if not pages:
        raise CallRefused(f"{request.server} wants its user to visit a page, and this client cannot show one", rule="call.input")
    if urlsplit(url).scheme != "https" or harmless(url) != url:
        raise CallRefused(f"{request.server} wants a page visited that is not a plain https address", rule="call.input")
    return ElicitRequestURLParams(message=_message(request), url=url)


def _message(request: "InputRequest") -> str:
    tool = f" for {harmless(request.call.tool)}" if request.call else ""
    return f"The server {harmless(request.server)} asks{tool}: {harmless(request.message[:LONGEST_MESSAGE])}"

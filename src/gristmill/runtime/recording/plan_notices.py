"""Tells people elsewhere, such as in a chat, that a plan waits for them: what is asked, by whom, and where it is decided.

A notice holds no argument of a call: it goes to another service.
"""

import asyncio
import logging
from collections import Counter
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any, Literal

from gristmill.config.tree import Config
from gristmill.errors import Error
from gristmill.guard.policy.approvals import Approval, Approvals
from gristmill.harmless_text import neutralize_text
from gristmill.runtime.open.open_secrets import open_secret_references

log = logging.getLogger(__name__)

MOST_WAITING = 100
"""Most notices that wait to be sent; further ones are dropped, since the inbox has the plans."""
MOST_AT_ONCE = 4
MOST_TOOLS = 10
"""Most tools that a notice names."""

NoticeForm = Literal["json", "slack"]
Post = Callable[[str, Mapping[str, Any]], Awaitable[bool]]
"""Posts a body to an address; returns whether it was taken."""


class PlanNotices:
    """Sends a notice for each new plan, in the background."""

    def __init__(
        self, find_url: Callable[[], str], form: NoticeForm, post: Post, build_plan_url: Callable[[str], str | None]
    ) -> None:
        """Sets where to: ``find_url`` resolves the references in the address at each notice."""
        self._find_url, self._post, self._build_plan_url = find_url, post, build_plan_url
        self._form: NoticeForm = form
        self._places = asyncio.Semaphore(MOST_AT_ONCE)
        self._tasks: set[asyncio.Task[None]] = set()

    def __call__(self, approval: Approval) -> None:
        """Sends a notice about a new plan, without waiting."""
        if len(self._tasks) >= MOST_WAITING:
            log.warning("%d notices about plans wait to be sent: one more is dropped", MOST_WAITING)
            return
        task = asyncio.get_running_loop().create_task(
            self._send(write_notice(approval, self._form, self._build_plan_url(approval.id)))
        )
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def close(self) -> None:
        """Gives up what was not sent."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _send(self, body: Mapping[str, Any]) -> None:
        async with self._places:
            try:
                await self._post(self._find_url(), body)
            except Error as error:  # a reference that cannot be resolved now
                log.warning("a notice about a plan was not sent: %s", error.message)


def write_notice(approval: Approval, form: NoticeForm, url: str | None) -> dict[str, Any]:
    """Returns the body of a notice. That for Slack has one field, ``text``, which many chats understand."""
    asked = Counter(call.tool for call in approval.plan.calls if call.needs_approval)
    tools = [neutralize_text(tool) + (f" x {count}" if count > 1 else "") for tool, count in asked.most_common(MOST_TOOLS)]
    more = f" and {len(asked) - MOST_TOOLS} more tools" if len(asked) > MOST_TOOLS else ""
    minutes = max(1, round((approval.expires - approval.created) / 60))
    where = url or f"gristmill approvals show {approval.id}"
    count = asked.total()
    calls = f"{count} call{'s' if count > 1 else ''} ({', '.join(tools)}{more})"
    text = f"{neutralize_text(approval.owner.caller)} asks to make {calls}, within {minutes} min: {where}"
    if form == "slack":
        return {"text": text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")}
    owner = approval.owner
    return {
        "event": "approval.waiting", "text": text, "approval": approval.id, "execution": approval.execution,
        "session": approval.session, "caller": owner.caller, "tenant": owner.tenant, "created": approval.created,
        "expires": approval.expires, "calls": count, "tools": dict(asked.most_common(MOST_TOOLS)), "url": url,
    }  # fmt: skip


@asynccontextmanager
async def open_plan_notices(
    config: Config, inbox: Approvals, build_plan_url: Callable[[str], str | None]
) -> AsyncGenerator[None]:
    """Sends a notice for each plan that is new in ``inbox``, if the configuration says where to."""
    notify = config.policy.notify
    if not notify.url:
        yield
        return
    from gristmill.upstream.http.post_notice import post_notice  # most configurations tell nobody

    notices = PlanNotices(
        lambda: open_secret_references(config.state_dir).resolve(notify.url), notify.format, post_notice, build_plan_url
    )
    inbox.on_new_plan = notices
    try:
        yield
    finally:
        inbox.on_new_plan = None
        await notices.close()

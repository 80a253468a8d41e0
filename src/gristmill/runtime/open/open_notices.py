"""Opens what tells people elsewhere that a plan waits for them."""

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager

from gristmill.config.tree import Config
from gristmill.guard.policy.approvals import Approvals
from gristmill.runtime.open.open_secrets import open_secret_references
from gristmill.runtime.recording.plan_notices import PlanNotices


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

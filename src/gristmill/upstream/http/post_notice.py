"""Posts a short JSON text to an address that the operator chose, such as that of a chat; tries again a few times."""

import asyncio
import logging
from collections.abc import Mapping
from typing import Any

import httpx2

log = logging.getLogger(__name__)

POST_SECONDS = 10.0
PAUSES = (1.0, 5.0)
"""Seconds before the second and the third try."""


async def post_notice(url: str, body: Mapping[str, Any], *, pauses: tuple[float, ...] = PAUSES) -> bool:
    """Returns whether the notice was taken. No redirect is followed. The address may hold a secret, so it is not logged."""
    why = ""
    for pause in (*pauses, None):
        try:
            async with httpx2.AsyncClient(follow_redirects=False, timeout=POST_SECONDS) as client:
                answer = await client.post(url, json=dict(body))
        except (httpx2.HTTPError, httpx2.InvalidURL) as error:
            why, again = type(error).__name__, not isinstance(error, httpx2.InvalidURL)
        else:
            if answer.is_success:
                return True
            why, again = f"status {answer.status_code}", answer.status_code in (408, 429) or answer.status_code >= 500
        if pause is None or not again:
            break
        await asyncio.sleep(pause)
    log.warning("a notice about a plan was not taken (%s): check policy.notify.url", why)
    return False

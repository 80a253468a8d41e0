"""Takes another configuration into use while the gateway is open: its servers, its policy and its rollout. The rest waits for a
restart."""

import asyncio
import os

from msgspec import Struct

from gristmill.config.tree import Config
from gristmill.errors import ConfigError
from gristmill.events import ConfigChanged
from gristmill.guard.policy.policy import Policy
from gristmill.ledger.metrics import NoMetrics
from gristmill.runtime.calls.broker import Broker
from gristmill.runtime.execution.session_redactors import SessionRedactors
from gristmill.runtime.open.gateway_credentials import find_credentials
from gristmill.runtime.tools.tool_library import ToolLibrary
from gristmill.upstream.base import Upstreams
from gristmill.upstream.changing_servers import ChangingServers

LIVE_SECTIONS = frozenset({"servers", "policy", "rollout"})
"""Sections whose changes take effect at once. The others size sandboxes, open stores or listen on ports at the start."""


class ChangingParts(Struct, frozen=True, kw_only=True):
    """What depends on the servers and the policy of a configuration."""

    upstreams: Upstreams
    library: ToolLibrary
    broker: Broker
    redactors: SessionRedactors
    metrics: NoMetrics


async def change_config(parts: ChangingParts, before: Config, wanted: Config) -> tuple[Config, ConfigChanged]:
    """Changes ``parts`` from ``before`` to ``wanted``; returns the configuration in use now, and what was different.

    Raises:
        ConfigError: the policy cannot be used, or the runtime was opened for a single run. Nothing has changed then.
    """
    servers = parts.upstreams
    if not isinstance(servers, ChangingServers):
        raise ConfigError("this runtime was opened without servers: open it with serving=True to add servers later")
    policy = Policy.from_config(wanted.policy)
    # A keyring may block. Secrets of new servers are masked before the first of their answers can hold one.
    credentials = await asyncio.to_thread(find_credentials, wanted, os.environ)
    parts.broker.clean_errors.learn_credentials(credentials)
    parts.redactors.learn_credentials(credentials)
    parts.metrics.add_servers(wanted.servers)
    has_other_policy = wanted.policy != before.policy
    if has_other_policy:
        parts.broker.policy.take_rules(policy)  # before the servers: a new server never meets the old rules
    found = servers.change(wanted.servers)
    parts.broker.cache.forget_answers()
    parts.library.refresh()
    change = ConfigChanged(
        added=found.added, removed=found.removed, changed=found.changed, policy=has_other_policy,
        rollout=wanted.rollout != before.rollout,
        waiting=tuple(name for name, value in wanted if name not in LIVE_SECTIONS and value != getattr(before, name)),
    )  # fmt: skip
    return before.model_copy(update={name: getattr(wanted, name) for name in LIVE_SECTIONS}), change

"""The state of the HTTP door while it is open: authentication, limits of requests, and the runs; and how it is built."""

import time
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

from starlette.requests import HTTPConnection

from gristmill.config.sections.serve_section import ServeConfig
from gristmill.errors import Unauthorized
from gristmill.rollout.execution_arms import ExecutionArms
from gristmill.rollout.open_rollouts import build_rollouts
from gristmill.rollout.rollouts import Rollouts
from gristmill.runs.fair_lanes import RequestRates
from gristmill.runs.run_registry import RunRegistry
from gristmill.runs.served_runs import ServedRuns, open_runs
from gristmill.runtime.runtime import Runtime
from gristmill.serve.access_tokens import LOCAL, Principal, TokenRegister, build_static_check, read_bearer_token
from gristmill.serve.http.json_logs import log_run_end
from gristmill.serve.http.limits.request_bodies import BodyBudget, compute_body_budget
from gristmill.serve.http.limits.request_wall import RequestWall

Authenticate = Callable[[HTTPConnection], Awaitable[Principal | None]]
"""Returns the caller of a request, or ``None`` if the request names none. Raises ``Unauthorized`` if a token is wrong."""
Verify = Callable[[str], Awaitable[Principal]]
"""Returns the caller of a token. Raises ``Unauthorized`` if the token is wrong."""


@dataclass(slots=True, kw_only=True, eq=False)
class HttpDoor:
    """Everything that the routes need, shared by all requests."""

    served: ServedRuns
    wall: RequestWall
    authenticate: Authenticate
    rollouts: Rollouts
    rates: RequestRates
    budget: BodyBudget = field(default_factory=lambda: BodyBudget(compute_body_budget()))
    streams: Counter[str] = field(default_factory=Counter[str])
    chats: dict[str, Any] = field(default_factory=dict[str, Any])
    """The opened chats by the name of their model. Their type is not named: it needs an extra."""
    opened: float = field(default_factory=time.time)

    @property
    def runtime(self) -> Runtime:
        """The open runtime."""
        return self.served.runtime

    @property
    def config(self) -> ServeConfig:
        """The section ``serve`` of the configuration."""
        return self.served.config

    @property
    def runs(self) -> RunRegistry:
        """The runs of every door of this process."""
        return self.served.registry

    @property
    def draining(self) -> bool:
        """Whether the service was told to end."""
        return self.served.draining

    @draining.setter
    def draining(self, value: bool) -> None:
        self.served.draining = value

    async def admit(self, connection: HTTPConnection) -> Principal:
        """Returns the verified caller of a request and counts the request for its tenant.

        Raises:
            Unauthorized: the request has no token, or a wrong one.
            Busy: the tenant sent too many requests.
        """
        who = await self.authenticate(connection)
        if who is None:
            raise Unauthorized("send a token: `Authorization: Bearer ...`; `gristmill tokens create` makes one")
        connection.state.who = who  # set before the check of the rate, so that the log names the tenant of a refused request
        self.rates.count_request(who.tenant)
        return who


def open_door(
    runtime: Runtime, authenticate: Authenticate | None = None, *, everywhere: bool = False, rollouts: Rollouts | None = None
) -> HttpDoor:
    """Builds the door of an open runtime.

    Without ``authenticate`` only requests from this machine are accepted; they get the scopes of ``serve.local_scopes``. The
    guardrails of ``rollouts`` are looked at by the caller; without it, by the door while it has executions.
    """
    served = open_runs(runtime)
    served.on_end = log_run_end
    rollouts = rollouts or build_rollouts(runtime)
    served.arms = ExecutionArms(rollouts, runtime)
    wall = RequestWall(config=served.config, everywhere=everywhere)
    rates = RequestRates(served.config.requests_per_minute)
    return HttpDoor(
        served=served, wall=wall, authenticate=authenticate or build_verifier(wall, {}), rates=rates, rollouts=rollouts
    )


def build_verifier(wall: RequestWall, verify: dict[str, Verify]) -> Authenticate:
    """Builds an ``Authenticate`` that verifies tokens by their kind: ``gm`` for ours, ``jwt`` for those of an identity provider.

    A request without a token is accepted only from this machine, as the local user.
    """

    async def authenticate(connection: HTTPConnection) -> Principal | None:
        text = read_bearer_token(connection.headers.get("authorization"))
        if text is not None:
            kind = "gm" if text.startswith("gm_") else "jwt"
            if kind not in verify:
                raise Unauthorized("this token is unknown, expired or revoked")
            return await verify[kind](text)
        if "authorization" in connection.headers or not wall.is_local(connection):
            return None
        return Principal(name=LOCAL, tenant=LOCAL, scopes=frozenset(wall.config.local_scopes))

    return authenticate


def build_token_verifier(
    wall: RequestWall, tokens: TokenRegister, jwt: Verify | None = None, token: str | None = None
) -> Authenticate:
    """Builds the ``Authenticate`` of the service.

    It accepts registered tokens, those of an identity provider (``jwt``), and one from the environment (``token``), if given.
    """
    verify = build_verifier(wall, {"gm": tokens.verify, **({"jwt": jwt} if jwt else {})})
    if token is None:
        return verify
    match_static = build_static_check(token)

    async def authenticate(connection: HTTPConnection) -> Principal | None:
        given = read_bearer_token(connection.headers.get("authorization"))
        # An operator who sets a token in the environment wants it to be required, from this machine too.
        return None if given is None else match_static(given) or await verify(connection)

    return authenticate

"""What the door keeps while it is open: who may come in, whose turn it is, what runs, what was counted."""

import time
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from starlette.requests import HTTPConnection

from gristmill.config.sections.serve_section import ServeConfig
from gristmill.errors import Busy, Unauthorized
from gristmill.model import Outcome
from gristmill.runs.fair_lanes import LaneRules, Lanes, Rates
from gristmill.runs.finished_shelf import ShelfRules
from gristmill.runtime.runtime import Runtime
from gristmill.serve.access_tokens import LOCAL, Principal, Tokens, bearer, static_token
from gristmill.serve.http.limits.request_bodies import Budget, most_held
from gristmill.serve.http.limits.request_wall import Wall
from gristmill.serve.http.runs import Runs

Authenticate = Callable[[HTTPConnection], Awaitable[Principal | None]]
"""Says who asks; ``None`` says that it does not know. It raises ``Unauthorized`` where a token is wrong."""
Verify = Callable[[str], Awaitable[Principal]]


@dataclass(slots=True)
class Tally:
    """What one tenant did since the start."""

    statuses: Counter[str] = field(default_factory=Counter[str])
    tools: Counter[str] = field(default_factory=Counter[str])
    milliseconds: float = 0.0
    tokens_saved: int = 0

    def add(self, outcome: Outcome) -> None:
        """Count one outcome."""
        self.statuses[outcome.status] += 1
        self.milliseconds += outcome.execution_time_ms
        self.tokens_saved += outcome.tokens_saved or 0
        if len(self.tools) < 10_000:
            self.tools.update(outcome.tools_called)


@dataclass(slots=True, kw_only=True, eq=False)
class Door:
    """Everything the routes need."""

    runtime: Runtime
    config: ServeConfig
    wall: Wall
    authenticate: Authenticate
    lanes: Lanes
    rates: Rates
    runs: Runs
    budget: Budget = field(default_factory=lambda: Budget(most_held()))
    tallies: dict[str, Tally] = field(default_factory=dict[str, Tally])
    streams: Counter[str] = field(default_factory=Counter[str])
    opened: float = field(default_factory=time.time)
    draining: bool = False

    async def admit(self, connection: HTTPConnection) -> Principal:
        """Who asks, once it is verified and not too often.

        Raises:
            Unauthorized: nobody we know.
            Busy: too many requests of this tenant.
        """
        who = await self.authenticate(connection)
        if who is None:
            raise Unauthorized("send a token: `Authorization: Bearer ...`; `gristmill tokens create` makes one")
        connection.state.who = who  # also of whoever is turned away: the log says which tenant it was
        self.rates.take(who.tenant)
        return who

    def refuse_if_draining(self) -> None:
        """Take nothing new at the end.

        Raises:
            Busy: the service was told to end.
        """
        if self.draining:
            text = "the service is ending: ask another, or again soon"
            raise Busy(text, limit="serve.drain_seconds", value=self.config.drain_seconds, retry_after=5.0)

    def count(self, tenant: str, outcome: Outcome) -> None:
        """Count an outcome for ``tenant``."""
        self.tallies.setdefault(tenant, Tally()).add(outcome)


def open_door(runtime: Runtime, authenticate: Authenticate | None = None, *, everywhere: bool = False) -> Door:
    """The door of an open runtime. Without ``authenticate`` only this machine is let in, with ``serve.local_scopes``."""
    config = runtime.config.serve
    places = runtime.config.sandbox.concurrency
    wall = Wall(config=config, everywhere=everywhere)
    return Door(
        runtime=runtime, config=config, wall=wall, authenticate=authenticate or verifier(wall, {}),
        lanes=Lanes(
            LaneRules(
                places=places, per_tenant=config.concurrency or places, waiting=config.waiting, seconds=config.waiting_seconds
            )
        ),
        rates=Rates(config.requests_per_minute),
        runs=Runs(
            ShelfRules(seconds=config.kept_seconds, most=config.kept_most, bytes=config.kept_mb << 20),
            background=config.background,
        ),
    )  # fmt: skip


def verifier(wall: Wall, verify: dict[str, Verify]) -> Authenticate:
    """Tokens by their kind (``gm`` for ours, ``jwt`` for an identity provider's); without one, this machine's user."""

    async def authenticate(connection: HTTPConnection) -> Principal | None:
        text = bearer(connection.headers.get("authorization"))
        if text is not None:
            kind = "gm" if text.startswith("gm_") else "jwt"
            if kind not in verify:
                raise Unauthorized("this token is unknown, expired or revoked")
            return await verify[kind](text)
        if "authorization" in connection.headers or not wall.is_local(connection):
            return None
        return Principal(name=LOCAL, tenant=LOCAL, scopes=frozenset(wall.config.local_scopes))

    return authenticate


def with_tokens(wall: Wall, tokens: Tokens, jwt: Verify | None = None, token: str | None = None) -> Authenticate:
    """As the service verifies: the register of tokens, an identity provider and a token from outside, where there are such."""
    known = verifier(wall, {"gm": tokens.verify, **({"jwt": jwt} if jwt else {})})
    if token is None:
        return known
    is_it = static_token(token)

    async def authenticate(connection: HTTPConnection) -> Principal | None:
        given = bearer(connection.headers.get("authorization"))
        # Whoever gives a token from outside means it to be needed, on this machine too.
        return None if given is None else is_it(given) or await known(connection)

    return authenticate

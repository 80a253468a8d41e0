"""Verifies tokens of an identity provider: signature (with the keys that it publishes), issuer, audience and time."""

import asyncio
import json
import time
from collections.abc import Callable
from typing import Any, cast
from urllib.parse import urlsplit

import httpx2 as httpx
import jwt

from gristmill.config.sections.serve_section import JwtConfig, Scope
from gristmill.errors import ConfigError, Unauthorized, UpstreamUnavailable
from gristmill.serve.access_tokens import LOCAL, NAME_PATTERN, SCOPES, Principal

FETCH_SECONDS, FETCH_BYTES = 5.0, 262_144
KEYS_SECONDS = 600.0
"""How long fetched keys are used before they are fetched again."""
STALE_SECONDS = 86_400.0
"""How long fetched keys are used while the provider does not answer, so that its outage does not become ours."""
REFETCH_SECONDS = 10.0
"""Shortest time between two fetches, after a failure and for an unknown key id: strangers choose the key ids of their tokens."""
LEEWAY_SECONDS = 30.0


class JwtVerifier:
    """Verifies JSON web tokens of one issuer. ``client`` fetches the keys."""

    def __init__(
        self, config: JwtConfig, client: httpx.AsyncClient | None = None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        for url in (config.issuer, config.jwks_url or config.issuer):
            _check_url(url)
        self._config, self._clock = config, clock
        self._client = client or httpx.AsyncClient(timeout=FETCH_SECONDS, follow_redirects=False)
        self._keys: dict[str, Any] = {}
        self._fetched = float("-inf")
        self._fetching: asyncio.Task[None] | None = None
        self._failed: UpstreamUnavailable | None = None
        self._failed_at = 0.0

    async def verify(self, text: str) -> Principal:
        """Returns the caller whose token this is.

        Raises:
            Unauthorized: the token is not signed by the issuer for us, has expired, or names no tenant.
            UpstreamUnavailable: the issuer's keys cannot be fetched.
        """
        try:
            key = await self._find_key(str(jwt.get_unverified_header(text).get("kid", "")))
            claims: dict[str, Any] = jwt.decode(
                text, key, algorithms=list(self._config.algorithms), audience=self._config.audience, issuer=self._config.issuer,
                leeway=LEEWAY_SECONDS, options={"require": ["exp", "sub"]},
            )  # fmt: skip
        except jwt.PyJWTError as error:
            raise Unauthorized(f"this token is not valid here: {error}") from None
        return self._build_principal(claims)

    async def close(self) -> None:
        """Stops fetching keys and closes the connections to the provider."""
        if self._fetching is not None:
            self._fetching.cancel()
            await asyncio.gather(self._fetching, return_exceptions=True)
        await self._client.aclose()

    def _build_principal(self, claims: dict[str, Any]) -> Principal:
        subject, tenant = str(claims["sub"]), str(claims.get(self._config.tenant_claim, ""))
        if not NAME_PATTERN.fullmatch(tenant):
            raise Unauthorized(f"this token names no tenant in its claim {self._config.tenant_claim!r}")
        if tenant == LOCAL:
            # Admins of this tenant operate the whole service: an identity provider must not be able to grant that.
            raise Unauthorized(f"the tenant {LOCAL!r} is for tokens of `gristmill tokens create` only")
        if not subject.isprintable() or len(subject) > 100 or "@" in tenant:
            raise Unauthorized("this token's subject is not a valid name: it must be printable and have at most 100 characters")
        listed = claims.get(self._config.scope_claim, ())
        words = listed.split() if isinstance(listed, str) else cast("list[Any]", listed if isinstance(listed, list) else [])
        given = {str(word) for word in words}
        scopes: frozenset[Scope] = frozenset(scope for scope in SCOPES if self._config.scope_prefix + scope in given)
        return Principal(name=f"jwt:{subject}", tenant=tenant, scopes=scopes)

    async def _find_key(self, kid: str) -> Any:
        known, age = self._keys.get(kid), self._clock() - self._fetched
        if known is not None and age <= KEYS_SECONDS:
            return known
        try:
            if age > REFETCH_SECONDS:
                await self._refresh_keys()
        except UpstreamUnavailable:
            if known is None or age > STALE_SECONDS:
                raise
        if kid not in self._keys:
            raise Unauthorized("this token is signed with a key that its issuer does not publish")
        return self._keys[kid]

    async def _refresh_keys(self) -> None:
        """Fetches the keys: one fetch for all tokens that wait for it, and no new fetch right after a failed one."""
        if self._failed is not None and self._clock() - self._failed_at <= REFETCH_SECONDS:
            raise self._failed
        if self._fetching is None or self._fetching.done():
            self._fetching = asyncio.create_task(self._fetch_keys())
            # Reads the error: the requests that waited for the keys may have been cancelled.
            self._fetching.add_done_callback(lambda done: done.cancelled() or done.exception())
        await asyncio.shield(self._fetching)

    async def _fetch_keys(self) -> None:
        try:
            url = self._config.jwks_url or await self._discover_keys_url()
            keys = jwt.PyJWKSet.from_dict(await self._fetch_json(url)).keys
        except jwt.PyJWTError as error:
            raise self._remember_failure(f"cannot be used: {error}") from None
        self._keys = {str(key.key_id or ""): key for key in keys}
        self._fetched, self._failed = self._clock(), None

    async def _discover_keys_url(self) -> str:
        found = await self._fetch_json(f"{self._config.issuer.rstrip('/')}/.well-known/openid-configuration")
        url = str(found.get("jwks_uri", ""))
        try:
            _check_url(url)
        except ConfigError:
            raise self._remember_failure("are not at an https address") from None
        return url

    async def _fetch_json(self, url: str) -> dict[str, Any]:
        body = b""
        try:
            async with asyncio.timeout(FETCH_SECONDS), self._client.stream("GET", url) as answer:
                answer.raise_for_status()
                async for chunk in answer.aiter_bytes():
                    body += chunk
                    if len(body) > FETCH_BYTES:
                        raise self._remember_failure(f"are larger than {FETCH_BYTES:,} bytes")
            found = json.loads(body)
        except (httpx.HTTPError, TimeoutError, ValueError, RecursionError) as error:
            raise self._remember_failure(f"cannot be fetched: {type(error).__name__}") from None
        if not isinstance(found, dict):
            raise self._remember_failure("are not a JSON object")
        return cast("dict[str, Any]", found)

    def _remember_failure(self, what: str) -> UpstreamUnavailable:
        self._failed, self._failed_at = UpstreamUnavailable(f"the keys of the identity provider {what}"), self._clock()
        return self._failed


def _check_url(url: str) -> None:
    parts = urlsplit(url)
    local = parts.hostname in ("127.0.0.1", "localhost", "::1")
    if not (parts.scheme == "https" or (parts.scheme == "http" and local)) or not parts.hostname:
        raise ConfigError(f"serve.jwt: {url!r} is not an https address")

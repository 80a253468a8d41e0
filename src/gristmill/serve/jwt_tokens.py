"""Tokens of an identity provider: signature, issuer, audience and time are checked against keys that it publishes."""

import asyncio
import json
import time
from collections.abc import Callable
from typing import Any, cast
from urllib.parse import urlsplit

import httpx2 as httpx
import jwt

from gristmill.config_serve import JwtConfig, Scope
from gristmill.errors import ConfigError, StoreUnavailable, Unauthorized
from gristmill.serve.auth import NAME, SCOPES, Principal

FETCH_SECONDS, FETCH_BYTES = 5.0, 262_144
KEYS_SECONDS = 600.0
"""How long fetched keys are used."""
AGAIN_SECONDS = 10.0
"""How soon, at the earliest, an unknown key id makes us fetch again: strangers choose key ids."""
LEEWAY = 30.0


class JwtVerifier:
    """Verifies JSON web tokens. ``client`` fetches keys."""

    def __init__(
        self, config: JwtConfig, client: httpx.AsyncClient | None = None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        for url in (config.issuer, config.jwks_url or config.issuer):
            _checked_url(url)
        self._config, self._clock = config, clock
        self._client = client or httpx.AsyncClient(timeout=FETCH_SECONDS, follow_redirects=False)
        self._keys: dict[str, Any] = {}
        self._fetched = float("-inf")
        self._fetching = asyncio.Lock()  # one fetch at a time, however many tokens wait for a key

    async def verify(self, text: str) -> Principal:
        """Whose token this is.

        Raises:
            Unauthorized: it is not signed by the issuer for us, has expired, or names no tenant.
            StoreUnavailable: the issuer's keys cannot be had.
        """
        try:
            key = await self._key(str(jwt.get_unverified_header(text).get("kid", "")))
            claims: dict[str, Any] = jwt.decode(
                text, key, algorithms=list(self._config.algorithms), audience=self._config.audience, issuer=self._config.issuer,
                leeway=LEEWAY, options={"require": ["exp", "sub"]},
            )  # fmt: skip
        except jwt.PyJWTError as error:
            raise Unauthorized(f"this token is not good here: {error}") from None
        return self._principal(claims)

    async def close(self) -> None:
        """End the connections for keys."""
        await self._client.aclose()

    def _principal(self, claims: dict[str, Any]) -> Principal:
        subject, tenant = str(claims["sub"]), str(claims.get(self._config.tenant_claim, ""))
        if not NAME.fullmatch(tenant):
            raise Unauthorized(f"this token names no tenant in its claim {self._config.tenant_claim!r}")
        if not subject.isprintable() or len(subject) > 100 or "@" in tenant:
            raise Unauthorized("this token's subject is no name")
        listed = claims.get(self._config.scope_claim, ())
        words = listed.split() if isinstance(listed, str) else cast("list[Any]", listed if isinstance(listed, list) else [])
        given = {str(word) for word in words}
        scopes: frozenset[Scope] = frozenset(scope for scope in SCOPES if self._config.scope_prefix + scope in given)
        return Principal(name=f"jwt:{subject}", tenant=tenant, scopes=scopes)

    async def _key(self, kid: str) -> Any:
        async with self._fetching:
            age = self._clock() - self._fetched
            if age > KEYS_SECONDS or (kid not in self._keys and age > AGAIN_SECONDS):
                self._keys = await self._fetch()
                self._fetched = self._clock()
        if kid not in self._keys:
            raise Unauthorized("this token is signed with a key that its issuer does not publish")
        return self._keys[kid]

    async def _fetch(self) -> dict[str, Any]:
        url = self._config.jwks_url
        if not url:
            found = await self._get(f"{self._config.issuer.rstrip('/')}/.well-known/openid-configuration")
            url = str(found.get("jwks_uri", ""))
            _checked_url(url)
        try:
            keys = jwt.PyJWKSet.from_dict(await self._get(url)).keys
        except jwt.PyJWTError as error:
            raise StoreUnavailable(f"the keys of {self._config.issuer} cannot be used: {error}") from None
        return {str(key.key_id or ""): key for key in keys}

    async def _get(self, url: str) -> dict[str, Any]:
        body = b""
        try:
            async with asyncio.timeout(FETCH_SECONDS), self._client.stream("GET", url) as answer:
                answer.raise_for_status()
                async for chunk in answer.aiter_bytes():
                    body += chunk
                    if len(body) > FETCH_BYTES:
                        raise StoreUnavailable(f"{url} answers with more than {FETCH_BYTES:,} bytes")
            return cast("dict[str, Any]", json.loads(body))
        except (httpx.HTTPError, TimeoutError, ValueError) as error:
            raise StoreUnavailable(f"the keys of {self._config.issuer} cannot be fetched: {type(error).__name__}") from None


def _checked_url(url: str) -> None:
    parts = urlsplit(url)
    local = parts.hostname in ("127.0.0.1", "localhost", "::1")
    if not (parts.scheme == "https" or (parts.scheme == "http" and local)) or not parts.hostname:
        raise ConfigError(f"serve.jwt: {url!r} is no https address")

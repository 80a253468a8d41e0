"""Tokens of an identity provider: what is taken, what is not, and how its keys are fetched."""

import asyncio
import json
import time
from typing import Any

import httpx2 as httpx
import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from jwt.algorithms import ECAlgorithm

from gristmill.config.sections.serve_section import JwtConfig
from gristmill.errors import ConfigError, Unauthorized, UpstreamUnavailable
from gristmill.serve.access_tokens import Principal
from gristmill.serve.jwt_tokens import KEYS_SECONDS, REFETCH_SECONDS, STALE_SECONDS, JwtVerifier

KEY = ec.generate_private_key(ec.SECP256R1())
OTHER = ec.generate_private_key(ec.SECP256R1())
ISSUER = "https://login.example.com"


def public(key: ec.EllipticCurvePrivateKey, kid: str = "k1") -> dict[str, Any]:
    return {**json.loads(ECAlgorithm.to_jwk(key.public_key())), "kid": kid, "use": "sig", "alg": "ES256"}


def token(key: Any = KEY, *, kid: str = "k1", algorithm: str = "ES256", **claims: Any) -> str:
    whole = {
        "iss": ISSUER, "aud": "gristmill", "sub": "ann", "tenant": "acme", "scope": "openid gristmill:execute gristmill:read",
        "exp": time.time() + 60, **claims,
    }  # fmt: skip
    return jwt.encode({name: value for name, value in whole.items() if value is not None}, key, algorithm, headers={"kid": kid})


class Provider:
    """An identity provider that counts how often it is asked."""

    def __init__(self, *, body: bytes | None = None, status: int = 200) -> None:
        self.asked: list[str] = []
        self.keys = [public(KEY)]
        self._body, self._status = body, status

    def fails(self) -> None:
        """From now on it is out of order."""
        self._status = 503

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.asked.append(request.url.path)
        if self._body is not None or self._status != 200:
            return httpx.Response(self._status, content=self._body or b"")
        if request.url.path.endswith("openid-configuration"):
            return httpx.Response(200, json={"jwks_uri": f"{ISSUER}/keys"})
        return httpx.Response(200, json={"keys": self.keys})


def verify(*texts: str, provider: Provider | None = None, clock: Any = time.monotonic, **settings: Any) -> list[Principal]:
    async def run() -> list[Principal]:
        client = httpx.AsyncClient(transport=httpx.MockTransport(provider or Provider()))
        verifier = JwtVerifier(JwtConfig(issuer=ISSUER, **settings), client, clock)
        try:
            return [await verifier.verify(text) for text in texts]
        finally:
            await verifier.close()

    return asyncio.run(run())


def test_a_good_token_names_caller_tenant_and_scopes() -> None:
    provider = Provider()
    (who, _) = verify(token(), token(), provider=provider)
    assert (who.identity.caller, who.tenant, who.scopes) == ("jwt:ann@acme", "acme", {"execute", "read"})
    assert provider.asked == ["/.well-known/openid-configuration", "/keys"]  # once


@pytest.mark.requirement("T42")
@pytest.mark.parametrize(
    "bad",
    [
        token(OTHER),
        token(kid="k2"),
        token(iss="https://evil.example"),
        token(aud="somebody-else"),
        token(exp=time.time() - 120),
        token(exp=None),
        token(sub=None),
        token(tenant=None),
        token(tenant="a/../b"),
        token("secret" * 8, algorithm="HS256"),
        jwt.encode({"sub": "ann", "tenant": "acme"}, None, "none", headers={"kid": "k1"}),  # pyright: ignore[reportArgumentType]
        "a.b.c",
        "",
    ],
)
def test_whatever_is_wrong_opens_nothing(bad: str) -> None:
    with pytest.raises(Unauthorized):
        verify(bad)


@pytest.mark.requirement("T42")
def test_the_public_key_is_no_shared_secret() -> None:
    pem = rsa.generate_private_key(public_exponent=65_537, key_size=2_048)
    with pytest.raises(Unauthorized):
        verify(token(pem, algorithm="RS256"))


def test_scopes_without_our_prefix_are_not_ours() -> None:
    (who,) = verify(token(scope=["execute", "admin", "gristmill:read"]))
    assert who.scopes == {"read"}


def test_a_new_key_is_fetched_but_strangers_cannot_make_us_ask_often() -> None:
    now, provider = [0.0], Provider()
    with pytest.raises(Unauthorized):
        verify(token(), *[token(OTHER, kid=f"x{n}") for n in range(5)], provider=provider, clock=lambda: now[0])
    assert provider.asked.count("/keys") == 1
    provider.keys.append(public(OTHER, "k2"))
    assert verify(token(), token(OTHER, kid="k2"), provider=provider)[1].name == "jwt:ann"


@pytest.mark.parametrize(
    "provider",
    [
        Provider(body=b" " * 300_000), Provider(body=b"nonsense"), Provider(status=500), Provider(status=302), Provider(body=b"[]"),
        Provider(body=b"{}"), Provider(body=b'{"jwks_uri": "http://inside.example"}'), Provider(body=b"[" * 100_000),
    ],
)  # fmt: skip
def test_keys_that_cannot_be_had_let_nobody_in(provider: Provider) -> None:
    with pytest.raises(UpstreamUnavailable) as failed:
        verify(token(), provider=provider)
    assert "example" not in failed.value.message  # whoever asks learns no address


@pytest.mark.requirement("T42")
def test_nobody_becomes_the_operator_by_a_claim() -> None:
    with pytest.raises(Unauthorized, match="local"):
        verify(token(tenant="local", scope="gristmill:admin"))


def test_known_keys_are_used_while_the_provider_is_away_but_not_for_ever() -> None:
    now, provider = [0.0], Provider()

    async def run() -> None:
        client = httpx.AsyncClient(transport=httpx.MockTransport(provider))
        verifier = JwtVerifier(JwtConfig(issuer=ISSUER), client, lambda: now[0])
        await verifier.verify(token())
        provider.fails()
        now[0] = KEYS_SECONDS + 1
        for _ in range(5):
            await verifier.verify(token())
        asked = len(provider.asked)
        now[0] += REFETCH_SECONDS + 1
        await verifier.verify(token())
        assert len(provider.asked) == asked + 1  # once, and not again at once
        now[0] = STALE_SECONDS + 1
        with pytest.raises(UpstreamUnavailable):
            await verifier.verify(token())
        await verifier.close()

    asyncio.run(run())


def test_however_many_wait_for_keys_they_are_fetched_once() -> None:
    provider = Provider()

    async def run() -> list[Principal]:
        verifier = JwtVerifier(JwtConfig(issuer=ISSUER), httpx.AsyncClient(transport=httpx.MockTransport(provider)))
        found = await asyncio.gather(*(verifier.verify(token()) for _ in range(50)))
        await verifier.close()
        return found

    assert len(asyncio.run(run())) == 50
    assert provider.asked.count("/keys") == 1


@pytest.mark.parametrize("url", ["http://login.example.com", "file:///etc/passwd", "ftp://x", "login.example.com"])
def test_keys_come_over_https_only(url: str) -> None:
    with pytest.raises(ConfigError):
        JwtVerifier(JwtConfig(issuer=url))

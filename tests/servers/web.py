"""Tool servers over HTTP for the tests: a good one, a misbehaving one, and one behind OAuth with its own issuer.

Run as a script it prints one line of JSON with the addresses, then serves until it is ended.
"""

import asyncio
import base64
import hashlib
import json
import secrets
import socket
import sys
import time
from typing import Any
from urllib.parse import urlencode

import uvicorn
from mcp.server.auth.provider import AccessToken
from mcp.server.auth.settings import AuthSettings
from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Mount, Route

OPTIONS = set(sys.argv[1:])


def tools(server: MCPServer) -> MCPServer:
    @server.tool()
    def add(a: int, b: int) -> int:
        """Add two numbers."""
        return a + b

    @server.tool()
    def rows(n: int) -> list[dict[str, int]]:
        return [{"id": index} for index in range(n)]

    @server.tool()
    async def slow(ctx: Context) -> str:
        await ctx.report_progress(1, 2, "half")
        return "done"

    @server.tool()
    def broken() -> str:
        raise ToolError("out of order")

    @server.tool()
    async def grow(ctx: Context) -> str:
        server.add_tool(lambda: "new", name="grown", description="came later")
        await ctx.notify_tools_changed()
        return "grown"

    together: list[asyncio.Event] = []

    @server.tool()
    async def meet() -> str:
        """Returns only once a second call is here too."""
        together.append(asyncio.Event())
        if len(together) > 1:
            for event in together:
                event.set()
        await together[0].wait()
        return "met"

    return server


async def many_values(_request: Request) -> Response:
    return Response("[" + ",".join(["{}"] * 1_200_000) + "]", media_type="application/json")


async def bomb_document(_request: Request) -> Response:
    """A few hundred bytes of YAML that are ten to the ninth values once every alias is written out."""
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 9)]
    return Response("openapi: 3.1.0\n" + "\n".join(lines), media_type="application/yaml")


class Issuer:
    """An authorization server that approves everything at once."""

    def __init__(self, address: str) -> None:
        self.address = address
        self.counts = {"register": 0, "authorize": 0, "refresh": 0}
        self.clients: dict[str, str] = {}
        self.codes: dict[str, str] = {}
        self.refreshes: set[str] = set()
        self.tokens: dict[str, float] = {}

    async def metadata(self, _request: Request) -> Response:
        if "large_metadata" in OPTIONS:
            return Response("[" + ",".join(["{}"] * 50_000) + "]", media_type="application/json")
        document = {
            "issuer": self.address,
            "authorization_endpoint": f"{self.address}/authorize",
            "token_endpoint": f"{self.address}/token",
            "registration_endpoint": f"{self.address}/register",
            "response_types_supported": ["code"],
            "grant_types_supported": ["authorization_code", "refresh_token"],
            "code_challenge_methods_supported": ["S256"],
            "token_endpoint_auth_methods_supported": ["none"],
            "authorization_response_iss_parameter_supported": True,
            "client_id_metadata_document_supported": "documents" in OPTIONS,
        }
        return JSONResponse(document)

    async def register(self, request: Request) -> Response:
        self.counts["register"] += 1
        given = await request.json()
        client = secrets.token_hex(8)
        return JSONResponse({**given, "client_id": client, "token_endpoint_auth_method": "none"}, status_code=201)

    async def authorize(self, request: Request) -> Response:
        self.counts["authorize"] += 1
        query = request.query_params
        assert query["code_challenge_method"] == "S256"
        code = secrets.token_hex(8)
        self.codes[code] = query["code_challenge"]
        self.clients[code] = query["client_id"]
        issuer = "http://127.0.0.1:1/evil" if "wrong_issuer" in OPTIONS else self.address
        back = {"code": code, "state": query["state"], "iss": issuer}
        return RedirectResponse(f"{query['redirect_uri']}?{urlencode(back)}", status_code=302)

    async def token(self, request: Request) -> Response:
        form = await request.form()
        if form["grant_type"] == "refresh_token":
            if form["refresh_token"] not in self.refreshes:
                return JSONResponse({"error": "invalid_grant"}, status_code=400)
            self.counts["refresh"] += 1
        else:
            digest = hashlib.sha256(str(form["code_verifier"]).encode()).digest()
            challenge = base64.urlsafe_b64encode(digest).decode().rstrip("=")
            if self.codes.pop(str(form["code"]), None) != challenge:
                return JSONResponse({"error": "invalid_grant"}, status_code=400)
        access, refresh = secrets.token_hex(16), secrets.token_hex(16)
        self.tokens[access] = time.time() + 600
        self.refreshes.add(refresh)
        seconds = 5 if "short" in OPTIONS else 3_600
        return JSONResponse({"access_token": access, "refresh_token": refresh, "token_type": "Bearer", "expires_in": seconds})

    async def stats(self, _request: Request) -> Response:
        return JSONResponse({**self.counts, "clients": list(self.clients.values())})

    async def verify_token(self, token: str) -> AccessToken | None:
        return AccessToken(token=token, client_id="c", scopes=[]) if token in self.tokens else None

    def app(self) -> Starlette:
        return Starlette(
            routes=[
                Route("/.well-known/oauth-authorization-server", self.metadata),
                Route("/register", self.register, methods=["POST"]),
                Route("/authorize", self.authorize),
                Route("/token", self.token, methods=["POST"]),
                Route("/stats", self.stats),
                Route("/values", many_values),
                Route("/document", bomb_document),
            ]
        )


def result(message: dict[str, Any], value: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": message["id"], "result": value}


async def misbehave(request: Request) -> Response:
    """The revision of 2025-11-25 by hand; each tool is a way to be wrong."""
    if request.method != "POST":
        return Response(status_code=405)
    message = await request.json()
    method = message["method"]
    if "id" not in message:
        return Response(status_code=202)
    if method == "initialize":
        info = {"name": "bad", "version": "1"}
        value: dict[str, Any] = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": info}
        return JSONResponse(result(message, value))
    if method == "tools/list":
        names = (
            "blocks",
            "blocks_stream",
            "deep",
            "deep_stream",
            "rows",
            "rows_stream",
            "notice",
            "huge",
            "stream",
            "packed",
            "page",
            "error",
            "away",
            "token",
            "hang",
            "echo",
        )
        return JSONResponse(result(message, {"tools": [{"name": name, "inputSchema": {}} for name in names]}))
    if method == "tools/call":
        return await wrong(message, request)
    return JSONResponse({"jsonrpc": "2.0", "id": message["id"], "error": {"code": -32601, "message": "no"}}, 200)


def raw(message: dict[str, Any], content: str, *, before: str = "") -> Response:
    """The answer, as an event of a stream if the name of the tool says so."""
    body = f'{{"jsonrpc":"2.0","id":{message["id"]},"result":{content}}}'
    if message["params"]["name"].endswith("_stream") or before:
        return Response(f"{before}event: message\ndata: {body}\n\n", media_type="text/event-stream")
    return Response(body, media_type="application/json")


def large(message: dict[str, Any]) -> Response | None:
    match message["params"]["name"].removesuffix("_stream"):
        case "blocks":
            return raw(message, '{"content":[' + ",".join(['{"type": "text", "text": ""}'] * 800_000) + "]}")
        case "deep":
            return raw(message, '{"content":[],"structuredContent":{"x":' + "[" * 100_000 + "]" * 100_000 + "}}")
        case "rows":
            rows = ",".join(['{"id":1,"name":"some name","open":true}'] * 50_000)
            return raw(message, '{"content":[],"structuredContent":{"rows":[' + rows + "]}}")
        case "notice":
            notice = '{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":[%s]}}'
            event = f"event: message\ndata: {notice % ','.join(['{}'] * 800_000)}\n\n"
            return raw(message, '{"content":[{"type":"text","text":"after the notice"}]}', before=event)
        case _:
            return None


async def wrong(message: dict[str, Any], request: Request) -> Response:
    if (answer := large(message)) is not None:
        return answer
    content = {"content": [{"type": "text", "text": "x" * 5_000_000}]}
    match message["params"]["name"]:
        case "huge":
            return JSONResponse(result(message, content))
        case "stream":
            body = f"event: message\ndata: {json.dumps(result(message, content))}\n\n"
            return Response(body, media_type="text/event-stream")
        case "packed":
            body = json.dumps(result(message, {"content": []}))
            return Response(body, headers={"content-encoding": "gzip"}, media_type="application/json")
        case "page":
            return Response("<html>hello</html>", media_type="text/html")
        case "error":
            return Response("oops", status_code=500)
        case "away":
            return RedirectResponse("http://127.0.0.1:1/mcp", status_code=307)
        case "token":
            heard = request.headers.get("authorization", "none")
            return JSONResponse(result(message, {"content": [{"type": "text", "text": heard}]}))
        case "hang":
            await asyncio.sleep(600)
        case _:
            pass
    return JSONResponse(result(message, {"content": [{"type": "text", "text": "fine"}]}))


sessions: set[str] = set()


async def forgetful(request: Request) -> Response:
    """A server of the older revisions that forgets its sessions when told to."""
    if request.method != "POST":
        return Response(status_code=405)
    message = await request.json()
    if message["method"] == "initialize":
        sessions.add(name := secrets.token_hex(4))
        response = await misbehave(request)
        response.headers["mcp-session-id"] = name
        return response
    if message["method"] != "server/discover" and request.headers.get("mcp-session-id") not in sessions:
        return Response(status_code=404)
    if message["method"] == "tools/call" and message["params"]["name"] == "away":
        sessions.clear()
        return JSONResponse(result(message, {"content": []}))
    return await misbehave(request)


async def refused(_request: Request) -> Response:
    return Response(status_code=401)


async def main() -> None:
    sockets = {name: socket.create_server(("127.0.0.1", 0)) for name in ("plain", "issuer", "locked")}
    at = {name: f"http://127.0.0.1:{sock.getsockname()[1]}" for name, sock in sockets.items()}
    issuer = Issuer(at["issuer"])
    plain = tools(MCPServer("plain", log_level="ERROR"))
    old = tools(MCPServer("old", log_level="ERROR"))
    settings = AuthSettings.model_validate(
        {
            "issuer_url": at["issuer"],
            "resource_server_url": at["locked"] + "/mcp",
            "required_scopes": [],
            "validate_token_resource": False,
        }
    )
    locked = tools(MCPServer("locked", log_level="ERROR", token_verifier=issuer, auth=settings))
    main_app = plain.streamable_http_app()
    routes = [
        Route("/bad", misbehave, methods=["GET", "POST", "DELETE"]),
        Route("/forgetful", forgetful, methods=["GET", "POST", "DELETE"]),
        Route("/refused", refused, methods=["GET", "POST"]),
        Mount("/old", old.sse_app()),
        *main_app.routes,
    ]
    apps = {
        "plain": Starlette(routes=routes, lifespan=lambda _app: plain.session_manager.run()),
        "issuer": issuer.app(),
        "locked": locked.streamable_http_app(json_response=True),
    }
    print(json.dumps(at), flush=True)
    servers = {name: uvicorn.Server(uvicorn.Config(app, log_level="error")) for name, app in apps.items()}
    await asyncio.gather(*(server.serve(sockets=[sockets[name]]) for name, server in servers.items()))


asyncio.run(main())

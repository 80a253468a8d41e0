"""A tool server of the newest revision on stdio that asks questions in the middle of a call."""

from typing import Annotated

from mcp.server.mcpserver import Elicit, MCPServer, Resolve
from mcp.server.mcpserver.resolve import ListRoots, Sample
from mcp_types import CreateMessageResult, ListRootsResult, SamplingMessage, TextContent
from pydantic import BaseModel

server = MCPServer("modern", log_level="ERROR")


class Name(BaseModel):
    name: str


async def ask_name() -> Elicit[Name]:
    return Elicit("who are you?", Name)


async def ask_model() -> Sample:
    return Sample([SamplingMessage(role="user", content=TextContent(type="text", text="hi"))], max_tokens=5)


async def ask_roots() -> ListRoots:
    return ListRoots()


@server.tool()
def greet(who: Annotated[Name, Resolve(ask_name)]) -> str:
    return f"hello {who.name}"


@server.tool()
def think(answer: Annotated[CreateMessageResult, Resolve(ask_model)]) -> str:
    return answer.model


@server.tool()
def look(roots: Annotated[ListRootsResult, Resolve(ask_roots)]) -> str:
    return str(len(roots.roots))


server.run()

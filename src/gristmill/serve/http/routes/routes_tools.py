"""``/tools``: what there is to call."""

from dataclasses import asdict
from typing import Annotated

from fastapi import APIRouter, Path, Query

from gristmill.catalog.search.search_hits import DetailLevel
from gristmill.model import Tool
from gristmill.serve.access_tokens import Principal
from gristmill.serve.http.api_shapes import HitView, SearchView, ServerView, ToolView
from gristmill.serve.http.http_door import Door
from gristmill.serve.http.require_scopes import SEE

Part = Annotated[str, Path(min_length=1, max_length=200)]


def add_tools(routes: APIRouter, door: Door) -> None:
    """The routes of servers and tools."""

    @routes.get("/tools/search", tags=["tools"])
    async def search(
        who: Annotated[Principal, SEE],
        query: Annotated[str, Query(min_length=1, max_length=2_000)],
        detail_level: DetailLevel = "full",
        limit: Annotated[int, Query(ge=1, le=50)] = 5,
        server: Annotated[str | None, Query(max_length=200)] = None,
    ) -> SearchView:
        """The best tools for a question, your skills among them."""
        found = await door.runtime.search(
            query, detail_level=detail_level, limit=limit, server=server, caller=who.caller, tenant=who.tenant
        )
        hits = [HitView(tool=hit.tool.key, description=hit.tool.description, score=hit.score) for hit in found.hits]
        return SearchView(query=found.query, hits=hits, text=found.text)

    @routes.get("/tools", tags=["tools"])
    async def servers(who: Annotated[Principal, SEE]) -> list[ServerView]:
        """Every server, its state and what its definitions would cost."""
        rows = [ServerView(**asdict(row)) for row in await door.runtime.servers()]
        return rows if who.is_operator else [_without_its_words(row) for row in rows]

    @routes.get("/tools/{server}", tags=["tools"])
    async def tools(server: Part, _who: Annotated[Principal, SEE]) -> list[ToolView]:
        """The tools of one server."""
        found, tokens = await door.runtime.list_tools(server), await door.runtime.definition_tokens()
        return [_view(tool, tokens=tokens.get(tool.key)) for tool in found]

    @routes.get("/tools/{server}/{tool:path}", tags=["tools"])
    async def tool(server: Part, tool: Part, who: Annotated[Principal, SEE]) -> ToolView:
        """One tool in full, with source to read."""
        found = await door.runtime.describe(f"{server}.{tool}", caller=who.caller, tenant=who.tenant)
        return _view(found.tools[0], found.text, (await door.runtime.definition_tokens()).get(found.tools[0].key))


def _without_its_words(row: ServerView) -> ServerView:
    """What its program wrote to its own log may hold anything: it is for the operator."""
    return row.model_copy(update={"error": row.error.partition("; it said:")[0]}) if row.error else row


def _view(tool: Tool, text: str | None = None, tokens: int | None = None) -> ToolView:
    return ToolView(
        key=tool.key, server=tool.server, name=tool.name, description=tool.description, input_schema=dict(tool.input_schema),
        output_schema=dict(tool.output_schema) if tool.output_schema is not None else None, annotations=dict(tool.annotations),
        title=tool.title, tokens=tokens, text=text,
    )  # fmt: skip

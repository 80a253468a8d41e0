"""``/sessions/{id}/files``: list, upload, download, delete. What comes out is bytes to keep, never a page to show."""

import asyncio
import tempfile
from collections.abc import AsyncGenerator
from dataclasses import asdict
from functools import partial
from typing import IO, Annotated, Any
from urllib.parse import quote

from fastapi import APIRouter, Path, Query, Request, Response
from fastapi.responses import StreamingResponse

from gristmill.errors import LimitExceeded
from gristmill.serve.access_tokens import Principal
from gristmill.serve.http.api_shapes import FilesView, FileView
from gristmill.serve.http.http_door import Door
from gristmill.serve.http.request_handling import UPLOAD
from gristmill.serve.http.require_scopes import EXECUTE, SEE
from gristmill.serve.http.routes.routes_sessions import SessionId, find_session
from gristmill.session.files.workspace_files import Content, FileEntry, Files

PIECE = 1 << 20
FilePath = Annotated[str, Path(min_length=1, max_length=4_096)]
DOWNLOAD: dict[int | str, dict[str, Any]] = {
    200: {"content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}}}
}


def add_files(routes: APIRouter, door: Door) -> None:
    """The routes of files."""

    async def files_of(who: Principal, session: str) -> Files:
        record = await find_session(door, who, session)
        return await asyncio.to_thread(door.runtime.keeping.files, record)

    @routes.get("/sessions/{id}/files", tags=["files"])
    async def files(
        id: SessionId,  # noqa: A002 - the path's own word
        who: Annotated[Principal, SEE],
        after: Annotated[str, Query(max_length=4_096)] = "",
        limit: Annotated[int, Query(ge=1, le=1_000)] = 1_000,
    ) -> FilesView:
        """Everything in the workspace, in the order of paths."""
        found = await asyncio.to_thread(partial((await files_of(who, id)).list, after=after, limit=limit))
        return FilesView(files=[_view(entry) for entry in found.entries], next=found.next, truncated=found.truncated)

    @routes.get("/sessions/{id}/files/{path:path}", tags=["files"], response_class=Response, responses=DOWNLOAD)
    async def download(id: SessionId, path: FilePath, who: Annotated[Principal, SEE]) -> Response:  # noqa: A002
        """One file, as bytes to keep."""
        space = await files_of(who, id)
        first = await asyncio.to_thread(partial(space.read, path, length=PIECE))
        name = quote(path.rsplit("/", 1)[-1], safe="")
        # A page in a workspace was written by code: it is handed over, never shown, and could do nothing if it were.
        headers = {
            "Content-Length": str(first.size),
            "Content-Disposition": f"attachment; filename*=UTF-8''{name}",
            "Content-Security-Policy": "sandbox; default-src 'none'",
            "X-Content-Type-Options": "nosniff",
        }
        return StreamingResponse(_pieces(space, path, first), headers=headers, media_type="application/octet-stream")

    @routes.put("/sessions/{id}/files/{path:path}", status_code=201, tags=["files"], openapi_extra=UPLOAD)
    async def upload(id: SessionId, path: FilePath, request: Request, who: Annotated[Principal, EXECUTE]) -> FileView:  # noqa: A002
        """Put a file there, whole or not at all; folders are made as needed."""
        space = await files_of(who, id)
        # As much of each is in memory at most: many that stall are bodies like others.
        with door.budget.holding(PIECE, who.tenant), tempfile.SpooledTemporaryFile(max_size=PIECE) as held:
            await _receive(request, held, space.quota.file_bytes, door.config.request_seconds)
            return _view(await asyncio.to_thread(space.write, path, iter(partial(held.read, PIECE), b"")))

    @routes.delete("/sessions/{id}/files/{path:path}", status_code=204, tags=["files"])
    async def delete(id: SessionId, path: FilePath, who: Annotated[Principal, EXECUTE]) -> Response:  # noqa: A002
        """Remove a file, or a folder with everything in it."""
        await asyncio.to_thread((await files_of(who, id)).delete, path)
        return Response(status_code=204)


async def _receive(request: Request, held: IO[bytes], most: int, seconds: float) -> None:
    size = 0
    stream = request.stream()
    while True:
        try:
            # Each piece has its time: a large file may take long, a stalled one may not.
            async with asyncio.timeout(seconds):
                chunk = await anext(stream, None)
        except TimeoutError:
            raise LimitExceeded("the file came too slowly", limit="serve.request_seconds", value=seconds) from None
        if chunk is None:
            break
        size += len(chunk)
        if size > most:
            raise LimitExceeded(f"a file has at most {most:,} bytes", limit="file_mb", value=most >> 20)
        await asyncio.to_thread(held.write, chunk)
    held.seek(0)


async def _pieces(space: Files, path: str, first: Content) -> AsyncGenerator[bytes]:
    yield first.body
    offset = len(first.body)
    while 0 < offset < first.size:
        # What became longer meanwhile ends where it was said to; what became shorter ends the connection, which tells.
        piece = await asyncio.to_thread(partial(space.read, path, offset=offset, length=min(PIECE, first.size - offset)))
        if not piece.body:
            return
        yield piece.body
        offset += len(piece.body)


def _view(entry: FileEntry) -> FileView:
    return FileView(**asdict(entry))

"""Routes of ``/sessions/{id}/files``: list, upload, download, delete. Browsers save a downloaded file and never display it."""

import asyncio
import tempfile
from collections.abc import AsyncGenerator
from functools import partial
from typing import IO, Annotated, Any
from urllib.parse import quote

from fastapi import APIRouter, Path, Query, Request, Response
from fastapi.responses import StreamingResponse
from msgspec.structs import asdict

from gristmill.errors import LimitExceeded
from gristmill.runtime.execution.answer.content_masks import MOST_MASKED_BYTES
from gristmill.runtime.open.session_stores import read_whole_file
from gristmill.runtime.values.file_values import FileContent, FileEntry, WorkspaceFiles
from gristmill.serve.access_tokens import Principal
from gristmill.serve.http.http_door import HttpDoor
from gristmill.serve.http.request_handling import UPLOAD
from gristmill.serve.http.require_scopes import EXECUTE, EXECUTE_OR_READ
from gristmill.serve.http.routes.routes_sessions import SessionId, find_session
from gristmill.serve.http.shapes.api_shapes import FilesView, FileView

PIECE_BYTES = 1 << 20
LEAST_BYTES_PER_SECOND = 1_000
"""Slower uploads are broken off: a client that sends a byte now and then would keep its connection for good."""
FilePath = Annotated[str, Path(min_length=1, max_length=4_096)]
DOWNLOAD_RESPONSE: dict[int | str, dict[str, Any]] = {
    200: {"content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}}}
}


def add_files(routes: APIRouter, door: HttpDoor) -> None:
    """Adds the routes of files."""

    async def open_files(who: Principal, session: str) -> WorkspaceFiles:
        record = await find_session(door, who, session)
        return await asyncio.to_thread(door.runtime.session_stores.files, record)

    @routes.get("/sessions/{id}/files", tags=["files"])
    async def files(
        id: SessionId,  # noqa: A002 - the path's own word
        who: Annotated[Principal, EXECUTE_OR_READ],
        after: Annotated[str, Query(max_length=4_096)] = "",
        limit: Annotated[int, Query(ge=1, le=1_000)] = 1_000,
    ) -> FilesView:
        """Lists everything in the workspace, sorted by path."""
        found = await asyncio.to_thread(partial((await open_files(who, id)).list, after=after, limit=limit))
        return FilesView(files=[_build_view(entry) for entry in found.entries], next=found.next, truncated=found.truncated)

    @routes.get("/sessions/{id}/files/{path:path}", tags=["files"], response_class=Response, responses=DOWNLOAD_RESPONSE)
    async def download(id: SessionId, path: FilePath, who: Annotated[Principal, EXECUTE_OR_READ]) -> Response:  # noqa: A002
        """Downloads one file. Personal data in it is masked, unless you have the scope `reveal`."""
        space = await open_files(who, id)
        first = await asyncio.to_thread(partial(space.read, path, length=PIECE_BYTES))
        name = quote(path.rsplit("/", 1)[-1], safe="")
        # Code may have written a page into the workspace: browsers must save it, and if one shows it, it can do nothing.
        headers = {
            "Content-Length": str(first.size),
            "Content-Disposition": f"attachment; filename*=UTF-8''{name}",
            "Content-Security-Policy": "sandbox; default-src 'none'",
            "X-Content-Type-Options": "nosniff",
        }
        if "reveal" in who.scopes or not door.runtime.content_masks.is_on:
            pieces = _read_pieces(space, path, first)
            return StreamingResponse(pieces, headers=headers, media_type="application/octet-stream")
        if first.size > MOST_MASKED_BYTES:
            text = f"a file of more than {MOST_MASKED_BYTES:,} bytes is not masked: download it with the scope reveal"
            raise LimitExceeded(text, limit="masked_bytes", value=MOST_MASKED_BYTES)
        with door.budget.hold_bytes(2 * first.size, who.tenant):
            body = await asyncio.to_thread(read_whole_file, space, path)
            body = await door.runtime.content_masks.mask_download(await find_session(door, who, id), body, first.mime)
        headers["Content-Length"] = str(len(body))
        return Response(body, headers=headers, media_type="application/octet-stream")

    @routes.put("/sessions/{id}/files/{path:path}", status_code=201, tags=["files"], openapi_extra=UPLOAD)
    async def upload(id: SessionId, path: FilePath, request: Request, who: Annotated[Principal, EXECUTE]) -> FileView:  # noqa: A002
        """Uploads a file, completely or not at all; missing folders are created."""
        space = await open_files(who, id)
        # At most this much of each upload is in memory: many stalled uploads count as bodies do.
        with door.budget.hold_bytes(PIECE_BYTES, who.tenant), tempfile.SpooledTemporaryFile(max_size=PIECE_BYTES) as held:
            await _receive_file(request, held, space.quota.file_bytes, door.config.request_seconds)
            return _build_view(await asyncio.to_thread(space.write, path, iter(partial(held.read, PIECE_BYTES), b"")))

    @routes.delete("/sessions/{id}/files/{path:path}", status_code=204, tags=["files"])
    async def delete(id: SessionId, path: FilePath, who: Annotated[Principal, EXECUTE]) -> Response:  # noqa: A002
        """Deletes a file, or a folder with everything in it."""
        await asyncio.to_thread((await open_files(who, id)).delete, path)
        return Response(status_code=204)


async def _receive_file(request: Request, held: IO[bytes], most: int, seconds: float) -> None:
    size = 0
    stream = request.stream()
    now = asyncio.get_running_loop().time
    began = now()
    while True:
        try:
            # A large file may take long, since each byte adds to its time. One that stalls or drips may not.
            async with asyncio.timeout_at(min(now(), began + size / LEAST_BYTES_PER_SECOND) + seconds):
                chunk = await anext(stream, None)
        except TimeoutError:
            raise LimitExceeded("the file arrived too slowly", limit="serve.request_seconds", value=seconds) from None
        if chunk is None:
            break
        size += len(chunk)
        if size > most:
            raise LimitExceeded(f"a file may have at most {most:,} bytes", limit="file_mb", value=most >> 20)
        await asyncio.to_thread(held.write, chunk)
    held.seek(0)


async def _read_pieces(space: WorkspaceFiles, path: str, first: FileContent) -> AsyncGenerator[bytes]:
    yield first.body
    offset = len(first.body)
    while 0 < offset < first.size:
        # A file that grew ends at the announced length; one that shrank breaks the connection, which tells the client.
        piece = await asyncio.to_thread(partial(space.read, path, offset=offset, length=min(PIECE_BYTES, first.size - offset)))
        if not piece.body:
            return
        yield piece.body
        offset += len(piece.body)


def _build_view(entry: FileEntry) -> FileView:
    return FileView(**asdict(entry))

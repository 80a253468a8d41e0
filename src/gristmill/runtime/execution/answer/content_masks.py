"""Masks what is read out of workspaces and skills: for models, and for people who may not see real values.

Code works with real values (`mask.mode = "output"`) and saves them: in its files, in results that did not fit, in skills. What
leaves from there is masked like any result.
"""

import asyncio

from msgspec import Struct
from msgspec.structs import replace

from gristmill.config.sections.mask_section import MaskConfig
from gristmill.errors import Refused
from gristmill.guard.mask.mask_bytes import mask_kept_bytes
from gristmill.guard.mask.redactor import Redactor
from gristmill.model import Identity, Json, Tool
from gristmill.runtime.execution.session_redactors import SessionRedactors, name_session_scope
from gristmill.session.session_register import SessionRecord

MOST_MASKED_BYTES = 16_000_000
"""The largest file that is masked for a download; larger ones are only for those who may see real values."""


class ContentMasks(Struct, frozen=True, kw_only=True):
    """Masks files and skills by the configuration."""

    redactors: SessionRedactors
    config: MaskConfig

    @property
    def is_on(self) -> bool:
        """Whether anything is masked at all."""
        return self.config.mode != "off"

    async def mask_file(self, session: SessionRecord, body: bytes, mime: str) -> bytes:
        """Returns the content of a small file for a model, which can use its placeholders in code of the session.

        Raises:
            Refused: it holds personal data in a format that cannot be masked.
        """
        if not self.is_on:
            return body
        redactor = await self.redactors.get_redactor(name_session_scope(session.key), is_new=False)
        return mask_content(body, mime, redactor, withholds=self.withholds)

    async def mask_message(self, session: SessionRecord, text: str) -> str:
        """Returns a text for a model, which can use its placeholders in code of the session."""
        if not self.is_on:
            return text
        return (await self.redactors.get_redactor(name_session_scope(session.key), is_new=False)).mask_text(text)

    async def unmask_answer(self, session: SessionRecord, value: Json) -> Json:
        """Returns what a model answered for a program, with real values for the placeholders of the session."""
        if not self.is_on:
            return value
        return (await self.redactors.get_redactor(name_session_scope(session.key), is_new=False)).unmask(value)

    async def mask_download(self, session: SessionRecord, body: bytes, mime: str) -> bytes:
        """Returns the content of a file for a person; masks in a thread, and stores no placeholders.

        Raises:
            Refused: it holds personal data in a format that cannot be masked.
        """
        if not self.is_on:
            return body
        redactor = self.redactors.build_detached(name_session_scope(session.key))
        return await asyncio.to_thread(mask_content, body, mime, redactor, withholds=self.withholds)

    def mask_source(self, text: str, identity: Identity) -> str:
        """Returns the source of a skill, or a difference of two, for a person."""
        return self._build_skill_redactor(identity).mask_text(text) if self.is_on else text

    def mask_tools(self, tools: tuple[Tool, ...], identity: Identity) -> tuple[Tool, ...]:
        """Returns skills, in the form of tools, as a model may see them: code writes their descriptions and defaults."""
        if not self.is_on or not tools:
            return tools
        redactor = self._build_skill_redactor(identity)
        return tuple(
            replace(
                tool,
                description=redactor.mask_text(tool.description),
                input_schema=redactor.mask(dict(tool.input_schema)),
                output_schema=tool.output_schema and redactor.mask(dict(tool.output_schema)),
            )
            for tool in tools
        )

    @property
    def withholds(self) -> bool:
        """Whether formats that cannot be searched are withheld: in ``full`` mode, where files of tools may enter unsearched."""
        return self.config.mode == "full" and bool(self.config.allow_binary)

    def _build_skill_redactor(self, identity: Identity) -> Redactor:
        return self.redactors.build_detached(f"skills {identity.tenant}")


def mask_content(body: bytes, mime: str, redactor: Redactor, *, withholds: bool = False) -> bytes:
    """Returns ``body`` with all findings masked.

    Raises:
        Refused: it holds personal data in a format that cannot be masked, or ``withholds`` and it cannot be searched.
    """
    masked = mask_kept_bytes(body, mime, redactor, strict=withholds)
    if masked is None:
        raise Refused(
            "the file holds personal data, or may hold it, in a format that cannot be masked: use it in code, or read it as a "
            "person who may see real values (`gristmill sessions get --real`, or a token with the scope reveal)",
            rule="mask.file",
        )
    return masked

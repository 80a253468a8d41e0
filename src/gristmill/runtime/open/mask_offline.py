"""Masks files and skills for commands that open the store without a gateway; the placeholders are those of the gateway."""

import os

from msgspec.structs import replace

from gristmill.config.tree import Config
from gristmill.guard.mask.detector import Detector
from gristmill.guard.mask.redactor import Redactor
from gristmill.runtime.execution.answer.content_masks import mask_content
from gristmill.runtime.execution.session_redactors import build_detached_redactor, name_session_scope
from gristmill.runtime.open.gateway_credentials import find_credentials
from gristmill.runtime.open.open_durable import build_findings
from gristmill.runtime.open.open_records import load_ledger_key
from gristmill.session.files.workspace_files import guess_mime_type
from gristmill.session.session_register import SessionRecord
from gristmill.session.skills.skill import Skill


def mask_session_file(config: Config, session: SessionRecord, path: str, body: bytes) -> bytes:
    """Returns the content of a session's file with personal data masked, unless the configuration masks nothing.

    Raises:
        Refused: it holds personal data in a format that cannot be masked.
    """
    if config.mask.mode == "off":
        return body
    return mask_content(body, guess_mime_type(path), _build_redactor(config, name_session_scope(session.key)))


def mask_skill(config: Config, skill: Skill) -> Skill:
    """Returns a skill whose source and tests are masked, unless the configuration masks nothing."""
    if config.mask.mode == "off":
        return skill
    redactor = _build_redactor(config, f"skills {skill.tenant}")
    return replace(skill, source=redactor.mask_text(skill.source), tests=skill.tests and redactor.mask_text(skill.tests))


def _build_redactor(config: Config, scope: str) -> Redactor:
    known = find_credentials(config, os.environ) if config.servers else frozenset[str]()
    return build_detached_redactor(Detector(build_findings(config.mask, known)), load_ledger_key(config), scope)

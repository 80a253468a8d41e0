"""Offers the records of the audit, the filter that finds them, the words that they use, and claims on executions."""

from gristmill.ledger.audit.audit_entries import (
    ACCEPTED,
    BEGUN,
    INSTANCE,
    INTERRUPTED,
    AuditEntry,
    AuditFilter,
    AuditRecord,
    Kind,
)
from gristmill.ledger.journal import RunClaim

__all__ = ["ACCEPTED", "BEGUN", "INSTANCE", "INTERRUPTED", "AuditEntry", "AuditFilter", "AuditRecord", "Kind", "RunClaim"]

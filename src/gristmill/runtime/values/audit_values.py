"""Offers the records of the audit, the filter that finds them, and the words that they use."""

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

__all__ = ["ACCEPTED", "BEGUN", "INSTANCE", "INTERRUPTED", "AuditEntry", "AuditFilter", "AuditRecord", "Kind"]

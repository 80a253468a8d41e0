"""What the guides say of audit, store and metrics is so."""

import re
from pathlib import Path

from gristmill.config.sections.records_section import RecordsConfig
from gristmill.config.tree import StoreConfig
from gristmill.ledger.audit.audit_entries import AuditRecord
from gristmill.ledger.prometheus_metrics import Metrics

DOCS = Path(__file__).parents[2] / "docs"


def test_every_field_of_a_record_is_in_the_guide() -> None:
    guide = (DOCS / "guides" / "audit.md").read_text()
    assert [name for name in AuditRecord.__struct_fields__ if f"`{name}`" not in guide] == []


def test_every_setting_of_the_store_and_of_retention_is_in_the_guide() -> None:
    guide = (DOCS / "guides" / "store.md").read_text()
    names = [
        *StoreConfig.model_fields,
        *(name for name in RecordsConfig.model_fields if name not in ("metrics", "traces", "token_price")),
    ]
    assert [name for name in names if not re.search(rf"\b{name}\b", guide)] == []
    defaults = RecordsConfig()
    assert f"| {defaults.audit_days:.0f} |" in guide
    assert f"| {defaults.journal_days:.0f} |" in guide


def test_every_metric_of_the_registry_is_in_the_reference_and_no_other() -> None:
    page = (DOCS / "reference" / "metrics.md").read_text()
    shown = set(re.findall(r"^\| `(\w+)` \|", page, flags=re.MULTILINE))
    served = {line.split()[2] for line in Metrics().render().decode().splitlines() if line.startswith("# TYPE")}
    assert shown == served

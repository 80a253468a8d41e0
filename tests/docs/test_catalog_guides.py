"""Every example on the catalog's pages runs as it stands."""

import re
from pathlib import Path

import pytest

GUIDES = Path(__file__).resolve().parents[2] / "docs" / "guides"
PAGES = ("learned-types.md", "pinned-definitions.md")
EXAMPLES = [
    pytest.param(code, id=f"{page}-{number}")
    for page in PAGES
    for number, code in enumerate(re.findall(r"```python\n(.*?)```", (GUIDES / page).read_text(encoding="utf-8"), re.DOTALL))
]


@pytest.mark.parametrize("code", EXAMPLES)
def test_an_example_runs_as_it_stands(code: str) -> None:
    exec(compile(code, "example", "exec"), {"__name__": "example"})

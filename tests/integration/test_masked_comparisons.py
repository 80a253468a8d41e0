"""Programs compare masked values with what the model was shown and with what the user typed, whichever way results are masked."""

from pathlib import Path
from typing import Any, Literal

import pytest

from gristmill import Config, Runtime
from gristmill.config.sections.mask_section import MaskConfig
from gristmill.config.tree import SandboxConfig, StoreConfig

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def list_people() -> Any:
    return [
        {"mail": "ann@example.org", "spent": 5},
        {"mail": "bob@example.org", "spent": 7},
        {"mail": "ann@example.org", "spent": 1},
    ]


sent: list[str] = []


def send(mail: str) -> str:
    sent.append(mail)
    return "sent"


@pytest.mark.parametrize("mode", ["output", "full"])
async def test_both_forms_find_the_rows(tmp_path: Path, mode: Literal["output", "full"]) -> None:
    tmp_path.chmod(0o755)
    config = Config(mask=MaskConfig(mode=mode), sandbox=SandboxConfig(warm=0), store=StoreConfig(path=tmp_path / "state"))
    sent.clear()
    async with Runtime.open(config, tools={"crm.list_people": list_people, "crm.send": send}) as runtime:

        async def result(code: str, **options: Any) -> Any:
            outcome = await runtime.execute(code, session="s", **options)
            assert outcome.status == "ok", outcome.error
            return outcome.result

        rows = await result("from servers import crm\nrows = crm.list_people()\nrows")
        shown = rows[0]["mail"]
        assert shown.startswith("<EMAIL_")
        for mail in (shown, "ann@example.org"):
            assert await result(f"sum(row.spent for row in rows if row.mail == {mail!r})") == 6
            group = "from collections import Counter\ncounts = Counter(row.mail for row in rows)\n"
            assert await result(f"{group}wanted = {mail!r}\n[counts[wanted], wanted in counts, counts.get({mail!r})]") == [
                2,
                True,
                2,
            ]
            assert await result(f"crm.send(mail={mail!r})") == "sent"
        assert sent == ["ann@example.org", "ann@example.org"]
        assert await result("[row.spent for row in rows if row.mail == context.mail]", context={"mail": "bob@example.org"}) == [7]

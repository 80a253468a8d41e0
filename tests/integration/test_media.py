"""Images, sounds and binary resources reach the code as files of its workspace."""

from collections.abc import Generator
from pathlib import Path

import pytest

from gristmill import BlockingRuntime, Config
from gristmill.config.sections.mask_section import MaskConfig
from gristmill.config.sections.policy_section import PolicyConfig
from gristmill.config.tree import LimitsConfig, SandboxConfig, StoreConfig
from tests.servers.warm import server_of


@pytest.fixture(scope="module")
def pictures(state: Path) -> Generator[BlockingRuntime]:
    (state / "told.json").write_text("{}")
    server = server_of("shifting.py", str(state / "told.json"))
    limits = LimitsConfig(file_mb=1)
    config = Config(
        servers={"crm": server},
        sandbox=SandboxConfig(warm=0, limits=limits),
        policy=PolicyConfig(allow=("*",)),
        store=StoreConfig(path=state),
    )
    with BlockingRuntime(config) as runtime:
        runtime.settled(30)
        yield runtime


@pytest.mark.parametrize("session", [None, "pictures"])
def test_a_picture_is_a_file_with_a_handle(pictures: BlockingRuntime, session: str | None) -> None:
    outcome = pictures.execute(
        "import os\nos.makedirs('elsewhere', exist_ok=True)\nos.chdir('elsewhere')\nfrom servers import crm\n"
        "text, handle = crm.picture()\nos.chdir('..')\n"
        "[text, handle['mime_type'], handle['bytes'], handle['file'], open(handle['file'], 'rb').read(4).hex()]",
        session=session,
    )
    assert outcome.error is None
    text, mime, size, file, head = outcome.result
    assert (text, mime, size, head) == ("one pixel", "image/png", 70, "89504e47")
    assert file.startswith("media/")
    assert file.endswith(".png")


def test_a_picture_stays_in_the_session(pictures: BlockingRuntime) -> None:
    pictures.execute("from servers import crm\nhandle = crm.picture()[1]", session="album")
    pictures.drop_session("album")
    again = pictures.execute("import os\nos.listdir('media')", session="album")
    assert [name.endswith(".png") for name in again.result] == [True]


def test_a_binary_resource_keeps_its_address(pictures: BlockingRuntime) -> None:
    outcome = pictures.execute(
        "from servers import crm\nh = crm.document()\n[h['uri'], open(h['file'], 'rb').read()[2], h['file'][-4:]]"
    )
    assert outcome.result == ["file:///a.bin", 2, ".bin"]


def test_what_is_larger_than_a_file_may_be_stays_behind(pictures: BlockingRuntime) -> None:
    outcome = pictures.execute("from servers import crm\nimport os\nh = crm.sound(2_000_001)\n[h, os.listdir()]")
    handle, files = outcome.result
    assert (handle["file"], handle["bytes"], files) == (None, 2_000_001, [])
    assert "file_mb" in handle["note"]


def test_a_link_planted_in_the_workspace_leads_nowhere(pictures: BlockingRuntime, tmp_path: Path) -> None:
    outcome = pictures.execute(
        f"import os\nos.symlink({str(tmp_path)!r}, 'media')\nfrom servers import crm\ncrm.picture()", session="planted"
    )
    assert (outcome.status, list(tmp_path.iterdir())) == ("failed", [])


READ_ALL = (
    "import pathlib\nfrom servers import crm\nhandles = [*crm.report(), crm.picture()[1]]\n"
    "seen = [pathlib.Path(h['file']).read_bytes() if h['file'] else h['note'].encode() for h in handles]\n"
    "[['ann' + chr(64) + 'example' in str(data), len(data) == h['bytes'], h['file'] is None] for data, h in zip(seen, handles)]"
)


@pytest.mark.requirement("T92")
def test_bytes_are_masked_or_withheld_before_the_code_sees_them(state: Path) -> None:
    (state / "masked.json").write_text("{}")
    (state / "masked").mkdir(mode=0o755)
    results: list[object] = []
    for allowed in ((), ("crm.rep*",)):
        config = Config(
            servers={"crm": server_of("shifting.py", str(state / "masked.json"))},
            mask=MaskConfig(mode="full", allow_binary=allowed),
            sandbox=SandboxConfig(warm=0),
            policy=PolicyConfig(allow=("*",)),
            store=StoreConfig(path=state / "masked"),
        )
        with BlockingRuntime(config) as runtime:
            runtime.settled(30)
            results.append(runtime.execute(READ_ALL).result)
    table, document, picture = [False, True, False], [False, False, True], [False, False, True]
    assert results == [[table, document, picture], [[True, True, False], [True, True, False], picture]]

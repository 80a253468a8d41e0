"""What a program draws comes back as an image or a table, with and without a session."""

import base64
import sys
from collections.abc import Generator

import pytest

from gristmill import BlockingRuntime, Config
from gristmill.config.tree import SandboxConfig, StoreConfig

PNG = b"\x89PNG\r\n\x1a\n"
PYPLOT = """
class Figure:
    def __init__(self): self.lines = 0
    def savefig(self, file, **_): file.write(b"\\x89PNG\\r\\n\\x1a\\n" + b"|" * self.lines)
_open = {}
def get_fignums(): return list(_open)
def figure(number=None):
    number = number or len(_open) + 1
    return number if isinstance(number, Figure) else _open.setdefault(number, Figure())
def gcf(): return figure(max(_open, default=1))
def plot(*_):
    gcf().lines += 1
    return gcf()
def show(): raise RuntimeError("there is no screen")
"""


@pytest.fixture(scope="module")
def drawing(tmp_path_factory: pytest.TempPathFactory) -> Generator[BlockingRuntime]:
    """A runtime whose packages have a small stand-in for matplotlib: the real one is no package of ours."""
    folder = tmp_path_factory.mktemp("drawing")
    folder.chmod(0o755)
    package = folder / "venv" / "lib" / f"python{sys.version_info[0]}.{sys.version_info[1]}" / "site-packages" / "matplotlib"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("")
    (package / "pyplot.py").write_text(PYPLOT)
    config = Config(sandbox=SandboxConfig(warm=0, venv=folder / "venv"), store=StoreConfig(path=folder / "state"))
    with BlockingRuntime(config) as runtime:
        yield runtime


@pytest.mark.parametrize("session", [None, "drawing"])
def test_shown_and_returned_figures_come_back_as_images(drawing: BlockingRuntime, session: str | None) -> None:
    code = "import matplotlib.pyplot as plt\nplt.figure()\nplt.plot()\nplt.show()\nplt.plot()\n{'figure': plt.gcf()}"
    outcome = drawing.execute(code, session=session)
    assert outcome.status == "ok", outcome.error
    assert [(part.type, part.mime_type, base64.b64decode(part.data)) for part in outcome.content] == [
        ("image", "image/png", PNG + b"|"),
        ("image", "image/png", PNG + b"||"),
    ]
    assert outcome.result == {"figure": {"type": "image", "mime_type": "image/png", "part": 2, "bytes": len(PNG) + 2}}
    again = drawing.execute("import matplotlib.pyplot as plt\n'<table>x</table>'", session=session)
    assert [(part.type, part.data) for part in again.content] == [("table", "<table>x</table>")]


def test_a_picture_that_is_none_is_left_out_and_a_forged_one_ends_the_run(drawing: BlockingRuntime) -> None:
    code = "import matplotlib.pyplot as plt\nparts = plt.show.__globals__['SHOWN'].parts\n"
    left_out = drawing.execute(code + "parts.append(['image/png', 'AAAA'])")
    assert (left_out.content, left_out.advice) == ((), ("a picture is left out: it is not a PNG",))
    for forged in ("['text/javascript', 'x']", "['text/html', 'x', 1]", "['text/html', 'x'] for _ in range(9)"):
        assert drawing.execute(f"{code}parts.extend([{forged}])").status == "crashed"

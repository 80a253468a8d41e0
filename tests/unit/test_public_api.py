"""The front door: what `import gristmill` offers, no more and no less."""

import subprocess
import sys

import gristmill
import langchain_gristmill
from gristmill import errors
from gristmill.serve import langchain


def test_every_public_name_can_be_had() -> None:
    assert sorted(gristmill.__all__) == gristmill.__all__
    assert [name for name in gristmill.__all__ if getattr(gristmill, name, None) is None] == []
    assert len(gristmill.__all__) <= 30


def test_dir_lists_the_public_names() -> None:
    assert dir(gristmill) == sorted(gristmill.__all__)


def test_every_error_has_a_code_of_its_own_and_stands_in_the_drawing() -> None:
    found = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, errors.Error)]
    codes = [kind.code for kind in found]
    assert len(set(codes)) == len(codes)
    assert [kind.__name__ for kind in found if kind.__name__ not in (errors.__doc__ or "")] == []


def test_near_names_become_part_of_the_message() -> None:
    assert str(errors.UnknownTool("no such tool", near=["crm.find"])) == "no such tool; did you mean crm.find?"


def test_opening_the_front_door_imports_nothing_of_langchain() -> None:
    code = "import sys, gristmill, gristmill.testing; print([name for name in sys.modules if name.startswith('lang')])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.strip() == "[]"


def test_the_package_for_langchain_offers_the_names_of_the_door() -> None:
    assert langchain_gristmill.__all__ == langchain.__all__
    assert [name for name in langchain.__all__ if getattr(langchain_gristmill, name) is not getattr(langchain, name)] == []

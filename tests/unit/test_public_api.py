"""The front door: what `import gristmill` offers, no more and no less."""

import gristmill
from gristmill import errors


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

"""Programs as models write them run as meant, or say what to change: the corpus in ``bench/shapes``."""

from collections.abc import Generator
from pathlib import Path

import pytest
from bench.shapes.read_shapes import Shape, list_classes, read_shapes, run_shape
from bench.shapes.shape_tools import TOOLS

from gristmill import BlockingRuntime, Config
from gristmill.config.tree import SandboxConfig, StoreConfig

CORPUS = [(kind, shape) for kind in list_classes() for shape in read_shapes(kind)]


@pytest.fixture(scope="module")
def shapes_runtime(state: Path) -> Generator[BlockingRuntime]:
    config = Config(sandbox=SandboxConfig(warm=2), store=StoreConfig(path=state / "shapes"))
    with BlockingRuntime(config, tools=TOOLS) as opened:
        yield opened


def test_the_corpus_has_names_that_are_unique() -> None:
    names = [(kind, shape.name) for kind, shape in CORPUS]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize(("kind", "shape"), CORPUS, ids=[f"{kind}: {shape.name}" for kind, shape in CORPUS])
def test_a_shape_does_what_it_must(shapes_runtime: BlockingRuntime, kind: str, shape: Shape) -> None:
    assert run_shape(shapes_runtime, kind, shape) == []

"""``create_agent`` without its types, which leave the state of a graph open."""

from typing import Any

from langchain.agents import create_agent  # pyright: ignore[reportUnknownVariableType]

make_agent: Any = create_agent  # pyright: ignore[reportUnknownVariableType]

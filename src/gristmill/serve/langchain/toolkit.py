"""The toolkit for LangChain: two tools, however many tools the servers have."""

from typing import Any

from langchain_core.tools import BaseTool
from langchain_core.tools.base import BaseToolkit
from pydantic import ConfigDict, PrivateAttr

from gristmill.serve.langchain.call_surroundings import CodeOptions
from gristmill.serve.langchain.code_tools import ToolSource, build_execute_tool, build_search_tool
from gristmill.serve.langchain.open_source import GivenSource, open_source


class GristmillToolkit(BaseToolkit):
    """``search_tools`` and ``execute_code`` over an open ``Runtime``, a ``BlockingRuntime``, a client, or a service's address.

    ``token`` and ``approver`` are tokens for an address; ``options`` are the fields of ``CodeOptions``: ``session``,
    ``identify``, ``context``, ``limits``, ``budget``.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True)
    _source: ToolSource = PrivateAttr()

    def __init__(self, source: GivenSource, *, token: str | None = None, approver: str | None = None, **options: Any) -> None:
        super().__init__()
        backend, bridge = open_source(source, token=token, approver=approver)
        self._source = ToolSource(backend=backend, bridge=bridge, options=CodeOptions(**options))

    def get_tools(self) -> list[BaseTool]:
        """Returns both tools."""
        return [build_search_tool(self._source), build_execute_tool(self._source)]

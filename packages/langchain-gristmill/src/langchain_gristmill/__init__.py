"""Gristmill under the name that LangChain's integrations have: the names of ``gristmill.serve.langchain``."""

from gristmill.serve.langchain import CodeModeMiddleware, GristmillToolkit, MCPCodeExecutionChain

__all__ = ["CodeModeMiddleware", "GristmillToolkit", "MCPCodeExecutionChain"]

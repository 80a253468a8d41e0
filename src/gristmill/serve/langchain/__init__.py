"""The door for LangChain and LangGraph: a toolkit, a middleware for agents, and a chain.

It translates and decides nothing. Only this folder imports LangChain, which the extra ``gristmill[langchain]`` installs.
"""

from gristmill.serve.langchain.code_chain import MCPCodeExecutionChain
from gristmill.serve.langchain.code_mode import CodeModeMiddleware
from gristmill.serve.langchain.toolkit import GristmillToolkit

__all__ = ["CodeModeMiddleware", "GristmillToolkit", "MCPCodeExecutionChain"]

"""What a model is told: the two tools with their arguments, and the lines of prompt for each mode."""

from pydantic import BaseModel, Field

from gristmill.runtime.values.search_values import DetailLevel

QUESTION_CHARACTERS = 2_000
"""How much of a message is searched with."""
SEARCH, EXECUTE = "search_tools", "execute_code"
SEARCH_TEXT = (
    "Find tools of the connected servers. Answers with imports and typed signatures for execute_code. "
    "Search before you use a tool you have not seen."
)
EXECUTE_TEXT = (
    "Run Python in a sandbox; tools are functions that are imported as search_tools shows: `from servers.NAME import TOOL`. "
    "Do loops, joins and filters in one program. Only prints and the last expression come back: print little, "
    "write large data to files in the working directory."
)
CODE_PROMPT = (
    "Tools live on servers. Find them with search_tools, then call them from one Python program in execute_code: loop, join and "
    "filter there, and print only what answers the question. Values about the user are in `context`; do not ask for them."
)
HYBRID_PROMPT = (
    CODE_PROMPT
    + " Tools that you can call directly are for a single call with a small answer; for anything else write a program."
)


class SearchInput(BaseModel):
    """The arguments of ``search_tools``."""

    query: str = Field(description="what the tool should do")
    detail_level: DetailLevel = "full"
    limit: int = Field(default=5, ge=1, le=50)


class ExecuteInput(BaseModel):
    """The arguments of ``execute_code``."""

    code: str = Field(description="Python source; the value of its last expression is the result")
    resume: str | None = Field(default=None, description="id of a run that did not succeed: its calls are not repeated")


BLOCKS_PROMPT = """You can use tools by writing one Python program. To have it run, write it in a block that begins with ```run:

```run
from servers.NAME import TOOL
print(TOOL(argument=1))
```

The program runs in a sandbox, and you are told what it printed; then answer, or write another program. Write nothing after such
a block, and never invent its output. A block with another heading, such as ```python, is an illustration and is not run.
Loop, join and filter in the program, and print only what answers the question. Values about the user are in `context`. If no tool
and no computation is needed, answer in plain text."""
BLOCKS_OUTCOME = (
    "The program was run:\n\n{text}\n\nAnswer the user now in plain text, or write another ```run block if more is needed."
)
BLOCKS_CUT = "The block was cut off before its end, so it was not run: {text} Write a shorter program."
NO_CODE = "Programs cannot be run now ({why}). Answer as well as you can from what is known, and say what is not known."
DIRECT_PROGRAM = """from mcp_client import call_mcp_tool
call_mcp_tool(context.tool, dict(context.arguments))
"""
"""The program of a direct call: the arguments are values, never a part of it."""

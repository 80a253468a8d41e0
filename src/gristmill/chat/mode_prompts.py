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

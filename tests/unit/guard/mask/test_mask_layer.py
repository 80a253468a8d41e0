"""Real values go out where that is allowed; in full mode only masks come back."""

from typing import Literal

import anyio
import pytest

from gristmill.errors import ToolFailed
from gristmill.guard.mask.detector import Detector
from gristmill.guard.mask.mask_layer import MaskLayer
from gristmill.guard.mask.redactor import Redactor
from gristmill.guard.mask.vault import MaskVault
from gristmill.model import Json, ToolCall, ToolResult

MAIL = "ann@example.com"


class Server:
    """Answers with ``value`` or fails with ``error``; keeps the calls it got."""

    def __init__(self, value: Json = None, error: str | None = None) -> None:
        self.value, self.error = value, error
        self.calls: list[ToolCall] = []

    async def __call__(self, call: ToolCall) -> ToolResult:
        self.calls.append(call)
        if self.error:
            raise ToolFailed(self.error) from ValueError(self.error)
        return ToolResult(value=self.value)


def session(mode: Literal["output", "full"] = "full", *, reveal: bool = True) -> tuple[Redactor, MaskLayer]:
    redactor = Redactor(MaskVault(b"k" * 32), Detector())
    return redactor, MaskLayer(redactor, mode=mode, reveal=lambda call: reveal)


def call(**arguments: Json) -> ToolCall:
    return ToolCall(id=1, tool="files.write", arguments=arguments)


def test_in_full_mode_results_come_back_masked_and_masks_go_out_as_values() -> None:
    redactor, layer = session()
    server = Server({"mail": MAIL, "id": 7})
    result = anyio.run(layer, call(), server)
    mask = redactor.mask_text(MAIL)
    assert result.value == {"mail": mask, "id": 7}
    anyio.run(layer, ToolCall(id=2, tool="files.write", arguments={"text": f"To: {mask}"}, positional=(mask, 3)), server)
    assert (server.calls[1].arguments, server.calls[1].positional) == ({"text": f"To: {MAIL}"}, (MAIL, 3))


def test_in_output_mode_results_pass_and_masks_that_the_model_pasted_go_out_as_values() -> None:
    redactor, layer = session("output")
    server = Server({"mail": MAIL})
    result = anyio.run(layer, call(to=redactor.mask_text(MAIL)), server)
    assert (result.value, server.calls[0].arguments) == ({"mail": MAIL}, {"to": MAIL})


@pytest.mark.parametrize("mode", ["output", "full"])
def test_where_values_may_not_be_revealed_masks_go_out_as_they_are(mode: Literal["output", "full"]) -> None:
    redactor, layer = session(mode, reveal=False)
    asked = call(to=redactor.mask_text(MAIL))
    server = Server("ok")
    anyio.run(layer, asked, server)
    assert server.calls == [asked]


def test_a_call_without_masks_is_passed_on_itself() -> None:
    redactor, layer = session(reveal=False)
    redactor.mask_text(MAIL)
    asked, server = call(text="hello"), Server("ok")
    anyio.run(layer, asked, server)
    assert server.calls[0] is asked


def test_the_text_of_a_failure_is_masked_and_its_class_stays() -> None:
    redactor, layer = session()
    with pytest.raises(ToolFailed) as caught:
        anyio.run(layer, call(), Server(error=f"no mailbox {MAIL}"))
    assert (caught.value.message, caught.value.__cause__) == (f"no mailbox {redactor.mask_text(MAIL)}", None)

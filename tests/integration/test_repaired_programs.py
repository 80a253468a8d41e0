"""A program that does not parse is repaired and run, and the outcome says so."""

from gristmill import BlockingRuntime


def test_a_fenced_program_runs_and_the_outcome_lists_the_repair(runtime: BlockingRuntime) -> None:
    outcome = runtime.execute("Here:\n```python\nfrom servers import crm\ncrm.get(number=3)['number']\n```")
    assert (outcome.status, outcome.result) == ("ok", 3)
    assert outcome.repaired == ("the program was taken out of Markdown fences",)
    assert outcome.advice[0].startswith("the program was repaired before it ran")
    assert outcome.tools_called == ("crm.get",)


def test_a_program_in_json_never_succeeds_without_having_run(runtime: BlockingRuntime) -> None:
    outcome = runtime.execute('{"code": "print(6 * 7)"}')
    assert (outcome.status, outcome.output.strip(), outcome.result) == ("ok", "42", None)


def test_a_repaired_program_is_checked_as_any_other(runtime: BlockingRuntime) -> None:
    outcome = runtime.execute("```python\nfrom servers import crm\ncrm.fnid(q='x')\n```")
    assert outcome.status == "refused"
    assert "write find" in str(outcome.error)


def test_a_program_that_parses_is_run_as_it_was_sent(runtime: BlockingRuntime) -> None:
    outcome = runtime.execute("compile('x = = 1', 'f', 'exec')")
    assert (outcome.error_type, outcome.repaired) == ("SyntaxError", ())


def test_javascript_is_answered_with_python(runtime: BlockingRuntime) -> None:
    outcome = runtime.execute("const r = await crm.get({number: 3});\nconsole.log(r);", language="python")
    assert outcome.status == "failed"
    assert "r = crm.get(number=3)" in outcome.advice[-1]


def test_a_session_goes_on_after_a_repair(runtime: BlockingRuntime) -> None:
    runtime.execute("x = 5", session="repaired")
    outcome = runtime.execute("```\nx + 1\n```", session="repaired")
    assert (outcome.result, outcome.state) == (6, "kept")

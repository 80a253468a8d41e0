"""The figures that the pages show are those that are measured, and README shows the same as the page."""

import re
from pathlib import Path

from examples.tasks import TASKS
from examples.tasks.truth import open_truth

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "explain" / "savings.md").read_text()
README = (ROOT / "README.md").read_text()


def test_every_task_has_a_row_in_both_tables() -> None:
    rows = re.findall(r"^\| ([a-z]+-[a-z-]+) \| (?:chat|sync|report) \|", PAGE, re.MULTILINE)

    assert sorted(rows) == sorted([task.id for task in TASKS] * 2)


def test_the_summary_in_the_readme_is_that_of_the_page() -> None:
    (summary,) = re.findall(r"<!-- tokens -->\n(.*?)<!-- /tokens -->", README, re.DOTALL)

    assert summary.strip()
    assert summary.strip() in PAGE


def test_the_demonstration_in_the_readme_is_the_task_and_its_true_answer() -> None:
    task = next(task for task in TASKS if task.id == "pam-over-budget")

    assert task.question in README
    assert task.program in README
    assert str(task.expected(open_truth("pam"))) in README
    (shown,) = re.findall(r"direct ([\d,]+) · search then call ([\d,]+) · Gristmill ([\d,]+)", README)
    (row,) = re.findall(
        r"^\| pam-over-budget \| report \| 19 \| ([\d,]+) \| ([\d,]+) \| ([\d,]+) \|", PAGE.split("## Beside")[0], re.MULTILINE
    )
    assert shown == row


def test_every_task_is_within_its_bar_beside_idle_tools_too() -> None:
    assert PAGE.count("tokens in the largest request: none.") == 2

"""Numbers, times and rows as the pages tell them."""

from typing import Any

import pytest

from tests.unit.serve.dashboard.scripts import said

FORMAT = 'import { formatBytes, formatCount, formatMs, formatPercent, formatTime, timeZone } from "./src/text/format.ts";'
ROWS = 'import { addNewest, addOlder, loadNewest } from "./src/executions/paged-rows.ts";'
BUCKETS = 'import { describeStep, groupByTime } from "./src/overview/time-buckets.ts";'


def test_a_duration_is_never_sixty_of_a_smaller_unit() -> None:
    given = {
        0.04: "0 ms", 9.96: "10 ms", 999.4: "999 ms", 999.6: "1.0 s", 59_949: "59.9 s", 59_960: "1 min", 119_600: "2 min",
        61_000: "1 min 1 s", 3_599_600: "1 h", 18_001_000: "5 h", 18_060_000: "5 h 1 min", 172_800_000: "2 days", 180_000_000: "2 days 2 h",
    }  # fmt: skip
    assert said(FORMAT, "(...times) => times.map(formatMs)", *given) == list(given.values())


def test_sizes_and_shares_are_rounded_once() -> None:
    assert said(FORMAT, "(...sizes) => sizes.map(formatBytes)", 999, 1_000, 999_600, 9_990_000, 5e12) == [
        "999 B", "1.0 KB", "1.0 MB", "10 MB", "5000 GB",
    ]  # fmt: skip
    assert said(FORMAT, "() => [[0, 3], [1, 3], [3, 3]].map(([part, all]) => formatPercent(part, all))") == [
        "0 %",
        "33.3 %",
        "100 %",
    ]


@pytest.mark.parametrize("language", ["de_DE.UTF-8", "en_US.UTF-8"])
def test_numbers_are_written_as_the_service_writes_them(language: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("LANG", "LC_ALL"):
        monkeypatch.setenv(name, language)
    assert said(FORMAT, "(number) => formatCount(number)", 16_828_075) == "16,828,075"


def test_a_time_says_its_day_and_year_where_they_are_not_today() -> None:
    assert said(FORMAT, "(...times) => times.map(formatTime)", 1.0, 0) == ["1 Jan 1970, 00:00", "\u2013"]
    assert said(FORMAT, "() => formatTime(Date.now() / 1000)", zone="Asia/Tokyo").count(":") == 2


def test_the_time_zone_is_named() -> None:
    assert said(FORMAT, "() => timeZone") == "UTC"
    assert said(FORMAT, "() => timeZone", zone="Asia/Tokyo") == "Asia/Tokyo (GMT+9)"


def test_charts_have_few_steps_that_are_said() -> None:
    script = """(...spans) => spans.map((span) => {
      const rows = Array.from({ length: 100 }, (_, place) => ({ time: 1e9 + (span * place) / 99, status: "ok", ms: 1 }));
      const found = groupByTime(rows);
      return [found.times.length, describeStep(found.step), found.all.reduce((sum, one) => sum + one, 0)];
    })"""
    spans = {
        1: "one second",
        600: "15 seconds",
        46_800: "30 minutes",
        108_000: "one hour",
        34_560_000: "14 days",
        2e9: "579 days",
    }
    found: list[tuple[int, str, int]] = said(BUCKETS, script, *spans)
    assert [step for _, step, _ in found] == list(spans.values())
    assert all(size <= 42 and total == 100 for size, _, total in found)


def pages(*sizes: tuple[int, int], **changed: str) -> list[dict[str, Any]]:
    """Pages of rows with these first and last numbers, the newest first; ``changed`` has other statuses."""
    return [
        {
            "executions": [
                {"id": f"n{seq}", "seq": seq, "status": changed.get(f"n{seq}", "ok"), "time": seq}
                for seq in range(first, last - 1, -1)
            ],
            "next": last if last > 1 else None,
        }
        for first, last in sizes
    ]


SHOW = """(first, older, fresh) => {
  let shown = addNewest(null, { rows: first.executions, next: first.next, isApart: false });
  for (const page of older) shown = addOlder(shown, page);
  shown = addNewest(shown, fresh);
  return [shown.rows.map((row) => row.id), shown.next];
}"""


def test_rows_that_were_fetched_stay_when_new_ones_come() -> None:
    first, older = pages((60, 51), (50, 41))
    (new,) = pages((63, 54))
    rows, after = said(ROWS, SHOW, first, [older], {"rows": new["executions"], "next": new["next"], "isApart": False})
    assert rows == [f"n{number}" for number in range(63, 40, -1)]
    assert after == 41


def test_what_ran_and_has_ended_is_shown_once_as_it_ended() -> None:
    runs = {"id": "live", "status": "running", "time": 70}
    (first,) = pages((60, 51))
    ended = {"rows": [{**runs, "status": "ok", "seq": 61}, *first["executions"]], "next": 51, "isApart": False}
    first["executions"].insert(0, runs)
    rows, _ = said(ROWS, SHOW, first, [], ended)
    assert rows[:2] == ["live", "n60"]
    assert rows.count("live") == 1


FETCH = """async (shown, pages) => {
  const asked = [];
  const load = async (after) => {
    asked.push(after ?? null);
    return pages[asked.length - 1];
  };
  const found = await loadNewest(load, shown);
  return [asked, found.rows.length, found.isApart];
}"""


def test_a_gap_between_new_rows_and_shown_ones_is_filled() -> None:
    (known,) = pages((110, 60))
    shown = {"rows": known["executions"], "next": 60}
    assert said(ROWS, FETCH, shown, pages((200, 151), (150, 101), (100, 51))) == [[None, 151], 100, False]


def test_a_gap_that_is_too_wide_is_said() -> None:
    (known,) = pages((10, 5))
    many = pages(*((number, number) for number in range(100, 50, -1)))
    _, size, is_apart = said(ROWS, FETCH, {"rows": known["executions"], "next": 5}, many)
    assert (size, is_apart) == (21, True)


def test_what_another_process_runs_stays_where_it_is_and_hides_no_gap() -> None:
    first, older = pages((60, 51), (50, 41), n45="running", n58="running")
    (new,) = pages((63, 54))
    rows, _ = said(ROWS, SHOW, first, [older], {"rows": new["executions"], "next": new["next"], "isApart": False})
    assert "n45" in rows, "it is below what was asked for"
    (known,) = pages((110, 60), n105="running")
    fresh = pages((200, 151), (150, 101))
    fresh[0]["executions"][0]["id"] = "n105"  # it has ended, and so it is new
    assert said(ROWS, FETCH, {"rows": known["executions"], "next": 60}, fresh) == [[None, 151], 100, False]

"""What is unusual for a session is noticed once, what is usual never, and memory stays bounded."""

from gristmill.ledger import anomalies as anomaly
from gristmill.ledger.anomalies import Anomalies


def calm(found: Anomalies, count: int = 100, *, gap: float = 1.0, size: int = 1_000) -> float:
    """A session with habits; the time at its end."""
    at = 0.0
    for _ in range(count):
        at += gap
        assert found.observe("s", "crm.find", at=at, is_error=False, size=size) == ()
    return at


def test_a_new_tool_after_many_calls_is_noticed_and_is_no_news_the_second_time() -> None:
    found = Anomalies()
    at = calm(found)
    assert [one.kind for one in found.observe("s", "mail.send", at=at + 1, is_error=False, size=10)] == ["new_tool"]
    assert found.observe("s", "mail.send", at=at + 2, is_error=False, size=10) == ()


def test_a_new_tool_early_in_a_session_is_nothing_special() -> None:
    found = Anomalies()
    at = calm(found, 20)
    assert found.observe("s", "mail.send", at=at + 1, is_error=False, size=10) == ()


def test_an_answer_far_above_the_sessions_own_median_is_noticed_only_there() -> None:
    small, large = Anomalies(), Anomalies()
    (one,) = small.observe("s", "crm.find", at=calm(small) + 1, is_error=False, size=500_000)
    assert (one.kind, one.value, one.usual) == ("large_answer", 500_000, 1_000)
    assert large.observe("s", "crm.find", at=calm(large, size=400_000) + 1, is_error=False, size=500_000) == ()


def test_a_burst_of_errors_is_noticed_once() -> None:
    found = Anomalies()
    at = calm(found)
    kinds = [one.kind for step in range(20) for one in found.observe("s", "crm.find", at=at + step + 1, is_error=True, size=10)]
    assert kinds == ["error_burst"]


def test_calls_ten_times_quicker_than_usual_are_noticed_once() -> None:
    found = Anomalies()
    at = calm(found)
    kinds = [
        one.kind for step in range(40) for one in found.observe("s", "crm.find", at=at + step * 0.01, is_error=False, size=10)
    ]
    assert kinds == ["rate"]


def test_a_session_is_measured_against_itself_and_forgotten_when_it_ends() -> None:
    found = Anomalies()
    calm(found)
    assert found.observe("other", "mail.send", at=1.0, is_error=True, size=10_000_000) == ()
    found.forget("s")
    assert found.observe("s", "mail.send", at=1.0, is_error=True, size=10_000_000) == ()


def test_no_number_of_sessions_fills_the_memory() -> None:
    found = Anomalies()
    for number in range(anomaly.MOST_SESSIONS * 2):
        found.observe(str(number), "a.b", at=0.0, is_error=False, size=1)
    assert len(found._sessions) == anomaly.MOST_SESSIONS  # pyright: ignore[reportPrivateUsage]

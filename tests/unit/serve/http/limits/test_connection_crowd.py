"""Which connections are closed to make room."""

from gristmill.serve.http.limits.connection_crowd import PATIENCE_SECONDS, RESERVE, ConnectionCrowd


class Connection:
    def __init__(self, crowd: "Crowd") -> None:
        self._crowd = crowd
        crowd.open.append(self)
        crowd.crowd.add_waiting(self)

    def evict(self) -> None:
        self._crowd.open.remove(self)
        self._crowd.evicted.append(self)


class Crowd:
    def __init__(self, most: int) -> None:
        self.open: list[Connection] = []
        self.evicted: list[Connection] = []
        self.now = 0.0
        self.crowd = ConnectionCrowd(most=most, connections=self.open, clock=lambda: self.now)

    def enter(self, after: float = 0.0) -> Connection:
        self.now += after
        return Connection(self)


def test_the_connection_that_has_waited_longest_makes_room() -> None:
    crowd = Crowd(most=2)
    first, second, third = crowd.enter(), crowd.enter(), crowd.enter(after=PATIENCE_SECONDS)
    assert (crowd.open, crowd.evicted) == ([second, third], [first])


def test_a_connection_that_was_answered_has_waited_since_then() -> None:
    crowd = Crowd(most=2)
    first, second = crowd.enter(), crowd.enter()
    crowd.crowd.remove_waiting(first)
    crowd.crowd.add_waiting(first)
    crowd.enter(after=PATIENCE_SECONDS)
    assert crowd.evicted == [second]


def test_a_burst_closes_no_connection_whose_request_may_be_on_its_way_until_the_reserve_is_full() -> None:
    crowd = Crowd(most=2)
    burst = [crowd.enter() for _ in range(2 + RESERVE)]
    assert crowd.evicted == []
    crowd.enter()
    assert crowd.evicted == burst[:1]


def test_a_connection_that_is_being_answered_stays() -> None:
    crowd = Crowd(most=2)
    for _ in range(2):
        crowd.crowd.remove_waiting(crowd.enter())
    third = crowd.enter(after=PATIENCE_SECONDS)
    assert (crowd.evicted, crowd.crowd.answering) == ([], 2)
    crowd.enter(after=PATIENCE_SECONDS)
    assert crowd.evicted == [third]


def test_past_the_reserve_a_new_connection_is_closed_at_once() -> None:
    crowd = Crowd(most=2)
    for _ in range(2 + RESERVE):
        crowd.crowd.remove_waiting(crowd.enter())
    last = crowd.enter()
    assert crowd.evicted == [last]

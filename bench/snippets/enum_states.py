# what: Enum, auto, a small state machine
# expect: ["OPEN", "PAID", "CLOSED", 2]
from enum import Enum, auto


class State(Enum):
    OPEN = auto()
    PAID = auto()
    CLOSED = auto()

    @property
    def is_final(self):
        return self is State.CLOSED


moves = {State.OPEN: State.PAID, State.PAID: State.CLOSED}
state, path = State.OPEN, []
while not state.is_final:
    path.append(state.name)
    state = moves[state]
path + [state.name, State["PAID"].value]

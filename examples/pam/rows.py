"""The rows that PAM's tools answer with; they become the tools' output schemas."""

from typing_extensions import TypedDict


class Expense(TypedDict):
    """Money spent."""

    id: int
    trip_id: int | None
    date: str
    category: str
    amount: float
    merchant: str
    card: str
    note: str


class Total(TypedDict):
    """A sum per category."""

    category: str
    total: float
    count: int


class Limit(TypedDict):
    """What may be spent per month."""

    category: str
    monthly: float


class Trip(TypedDict):
    """A journey."""

    id: int
    name: str
    start_date: str
    end_date: str
    status: str
    budget: float


class Stop(TypedDict):
    """Nights at one park."""

    id: int
    trip_id: int
    park_id: int
    park: str
    state: str
    arrive: str
    nights: int
    cost: float


class Leg(TypedDict):
    """The way from one stop to the next."""

    from_park: str
    to_park: str
    miles: float
    hours: float


class Cost(TypedDict):
    """What a trip has cost so far, against its budget."""

    trip_id: int
    camping: float
    expenses: float
    total: float
    budget: float


class Plan(TypedDict):
    """A proposal: parks in order, and what it would cost."""

    parks: list[str]
    park_ids: list[int]
    miles: float
    nights: int
    camping_cost: float
    fuel_cost: float


class Park(TypedDict):
    """A place to stay."""

    id: int
    name: str
    state: str
    lat: float
    lon: float
    rate: float
    sites: int
    hookups: str
    pets: int
    wifi: int
    rating: float


class Review(TypedDict):
    """What a guest said."""

    id: int
    park_id: int
    stars: int
    text: str
    date: str


class Availability(TypedDict):
    """Whether a park has room."""

    park_id: int
    arrive: str
    nights: int
    free_sites: int


class Booking(TypedDict):
    """A reservation; ``pending`` until the park has answered."""

    id: int
    park_id: int
    arrive: str
    nights: int
    status: str


class FuelStop(TypedDict):
    """A fill."""

    id: int
    vehicle_id: int
    date: str
    station_id: int
    gallons: float
    price: float
    odometer: int


class Station(TypedDict):
    """Where fuel is sold, and for how much per gallon."""

    id: int
    name: str
    state: str
    lat: float
    lon: float
    diesel: float
    regular: float
    rv_lanes: int


class Price(TypedDict):
    """Mean prices of a state."""

    state: str
    diesel: float
    regular: float
    stations: int


class Vehicle(TypedDict):
    """Something to drive."""

    id: int
    name: str
    kind: str
    length_ft: int
    tank_gallons: float


class Mileage(TypedDict):
    """How far a vehicle gets."""

    vehicle_id: int
    miles: int
    gallons: float
    miles_per_gallon: float


class Event(TypedDict):
    """An entry of the calendar."""

    id: int
    title: str
    start_date: str
    end_date: str
    place: str
    with_email: str


class Gap(TypedDict):
    """Days without an entry, both ends included."""

    start_date: str
    end_date: str
    days: int


class Profile(TypedDict):
    """Who the traveller is."""

    id: int
    name: str
    email: str
    phone: str
    home_state: str


class Card(TypedDict):
    """A means of payment."""

    holder: str
    card: str


class Done(TypedDict):
    """Something was written."""

    id: int
    message: str


class Answer(TypedDict):
    """What a query found."""

    columns: list[str]
    rows: list[list[str | int | float | None]]
    truncated: bool

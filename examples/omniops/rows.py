"""What the three servers answer with; these become the tools' output schemas."""

from typing_extensions import TypedDict


class Product(TypedDict):
    """Something for sale."""

    sku: str
    name: str
    description: str
    category: str
    brand: str
    price: float
    updated_at: str


class FeedRow(Product):
    """A product as the supplier has it now; ``is_gone`` is 1 when it is no longer made."""

    is_gone: int


class Category(TypedDict):
    """A category and its size."""

    category: str
    products: int


class Stock(TypedDict):
    """What one warehouse has of one product."""

    sku: str
    warehouse: str
    on_hand: int
    reserved: int
    reorder_point: int


class Customer(TypedDict):
    """Somebody who bought something."""

    id: int
    name: str
    email: str
    phone: str
    country: str


class OrderRow(TypedDict):
    """An order without its items."""

    id: int
    customer_id: int
    date: str
    status: str
    total: float


class Item(TypedDict):
    """A line of an order."""

    sku: str
    name: str
    quantity: int
    price: float


class Order(OrderRow):
    """An order with its items."""

    items: list[Item]


class Shipment(TypedDict):
    """A parcel; ``delivered`` is empty while it is under way."""

    order_id: int
    carrier: str
    status: str
    shipped: str
    promised: str
    delivered: str | None


class ProductChange(TypedDict):
    """One difference: the fields before and after, each empty where the product was or is not there."""

    sku: str
    kind: str
    before: dict[str, str | float]
    after: dict[str, str | float]


class SyncSummary(TypedDict):
    """What a sync found, up to ten of the changes, and whether it was written."""

    checked: int
    added: int
    changed: int
    removed: int
    unchanged: int
    changes: list[ProductChange]
    applied: bool


class Period(TypedDict):
    """Sales of a day, week or month."""

    period: str
    orders: int
    revenue: float


class Share(TypedDict):
    """Sales of a part of the business."""

    name: str
    orders: int
    revenue: float


class Best(TypedDict):
    """A product and what it brought in."""

    sku: str
    name: str
    units: int
    revenue: float


class Report(TypedDict):
    """The figures of a month; ``is_cached`` when they had been computed before."""

    month: str
    orders: int
    revenue: float
    refunds: float
    customers: int
    best: list[Best]
    is_cached: bool


class ConversationRow(TypedDict):
    """A conversation with a customer, without what was written."""

    id: int
    customer_id: int
    order_id: int
    channel: str
    topic: str
    agent: str
    started: str
    first_reply_minutes: int
    minutes: int
    messages: int
    status: str
    rating: int | None


class MessageRow(TypedDict):
    """What was written in a conversation; ``author`` is customer, assistant, or the name of an agent."""

    at: str
    author: str
    text: str


class ConversationAnalysis(TypedDict):
    """How a conversation went. ``mood`` is from -1 to 1, by words: that of the customer at first, at last, and on the whole."""

    conversation: ConversationRow
    mood: float
    first_mood: float
    last_mood: float
    questions: int
    longest_wait_minutes: int
    orders: list[int]
    asks_for_manager: bool
    asks_for_refund: bool


class SupportMetrics(TypedDict):
    """Figures of the conversations of one topic, channel, agent or time."""

    name: str
    conversations: int
    resolved_percent: float
    escalated_percent: float
    first_reply_minutes: float
    minutes: float
    messages: float
    rated: int
    rating: float | None


class ConversationReport(TypedDict):
    """Support in a month; ``is_cached`` when it had been computed before."""

    month: str
    total: SupportMetrics
    by_topic: list[SupportMetrics]
    by_agent: list[SupportMetrics]
    orders_percent: float
    is_cached: bool


class Done(TypedDict):
    """Something was written."""

    message: str

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


class SyncSummary(TypedDict):
    """What a sync found, and whether it was written."""

    checked: int
    added: int
    changed: int
    removed: int
    unchanged: int
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


class Done(TypedDict):
    """Something was written."""

    message: str

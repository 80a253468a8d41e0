"""What a shop can be asked, whoever runs it. The tools of the commerce server know nothing else."""

from collections.abc import Iterator
from typing import Protocol

from mcp.server.mcpserver.exceptions import ToolError

from examples.omniops.rows import Customer, FeedRow, Order, OrderRow, Shipment, Stock


class Shop(Protocol):
    """Days are ISO dates and inclusive; ids are the shop's own numbers; lists are in the order of ids, stock in that of SKUs.

    Every method raises ``ToolError`` when the shop refuses, does not answer, or has no such record.
    """

    def orders(self, start: str, end: str, status: str | None, limit: int) -> list[OrderRow]:
        """Orders between two days; ``status`` is completed, processing, refunded or canceled."""
        ...

    def order(self, order_id: int) -> Order:
        """One order with its items."""
        ...

    def orders_of(self, customer_id: int) -> list[OrderRow]:
        """Orders of one customer."""
        ...

    def customer(self, customer_id: int) -> Customer:
        """One customer."""
        ...

    def customers(self, text: str, limit: int) -> list[Customer]:
        """Customers whose name or mail address contains a text."""
        ...

    def stock(self, sku: str) -> list[Stock]:
        """What each warehouse has of a product."""
        ...

    def low_stock(self, warehouse: str | None, limit: int) -> list[Stock]:
        """Stock with fewer free pieces than its reorder point."""
        ...

    def shipment(self, order_id: int) -> Shipment:
        """The parcel of an order."""
        ...

    def shipments(self, start: str, end: str, carrier: str | None, limit: int) -> list[Shipment]:
        """Parcels shipped between two days."""
        ...

    def products_since(self, since: str, offset: int = 0) -> Iterator[FeedRow]:
        """Products changed after a day, read page by page as they are asked for; ``offset`` of them are left out."""
        ...

    def set_stock(self, sku: str, warehouse: str, on_hand: int) -> None:
        """Set how many pieces a warehouse has."""
        ...

    def refund(self, order_id: int, reason: str) -> None:
        """Give the money of a completed order back."""
        ...

    def close(self) -> None:
        """Let go of connections."""
        ...


def no_record() -> ToolError:
    """The same words as our own database has for it."""
    return ToolError("there is no such record, or it belongs to somebody else")


def is_low(stock: Stock) -> bool:
    """Whether the free pieces are below the reorder point."""
    return stock["on_hand"] - stock["reserved"] < stock["reorder_point"]


def parcel_status(delivered: str | None) -> str:
    """What we call the state of a parcel."""
    return "delivered" if delivered else "under way"

"""The shop in our own database."""

from collections.abc import Iterator

from examples.omniops.rows import Customer, FeedRow, Item, Order, OrderRow, Shipment, Stock
from examples.records import Records

PAGE = 250
_ORDER = "SELECT id, customer_id, date, status, total FROM orders"
_CUSTOMER = "SELECT id, name, email, phone, country FROM customers"
_STOCK = "SELECT sku, warehouse, on_hand, reserved, reorder_point FROM inventory"
_SHIPMENT = "SELECT order_id, carrier, status, shipped, promised, delivered FROM shipments"


class LocalShop:
    """A ``Shop`` over records; ``feed`` is the supplier's catalogue."""

    def __init__(self, records: Records) -> None:
        self._records = records

    def orders(self, start: str, end: str, status: str | None, limit: int) -> list[OrderRow]:
        """Orders between two days."""
        return self._records.rows(
            OrderRow,
            f"""{_ORDER} WHERE date BETWEEN :start AND :end AND (CAST(:status AS TEXT) IS NULL OR status = :status)
                ORDER BY id LIMIT :limit""",
            start=start, end=end, status=status, limit=limit,
        )  # fmt: skip

    def order(self, order_id: int) -> Order:
        """One order with its items."""
        row = self._records.one(OrderRow, f"{_ORDER} WHERE id = :id", id=order_id)
        items = self._records.rows(
            Item,
            """SELECT i.sku, p.name, i.quantity, i.price FROM items i JOIN products p ON p.sku = i.sku
               WHERE order_id = :id ORDER BY i.sku, i.quantity""",
            id=order_id,
        )
        return {**row, "items": items}

    def orders_of(self, customer_id: int) -> list[OrderRow]:
        """Orders of one customer."""
        return self._records.rows(OrderRow, f"{_ORDER} WHERE customer_id = :customer ORDER BY id", customer=customer_id)

    def customer(self, customer_id: int) -> Customer:
        """One customer."""
        return self._records.one(Customer, f"{_CUSTOMER} WHERE id = :id", id=customer_id)

    def customers(self, text: str, limit: int) -> list[Customer]:
        """Customers whose name or mail address contains a text."""
        return self._records.rows(
            Customer,
            f"""{_CUSTOMER} WHERE instr(lower(name), lower(:text)) > 0 OR instr(lower(email), lower(:text)) > 0
                ORDER BY id LIMIT :limit""",
            text=text, limit=limit,
        )  # fmt: skip

    def stock(self, sku: str) -> list[Stock]:
        """What each warehouse has of a product."""
        return self._records.rows(Stock, f"{_STOCK} WHERE sku = :sku ORDER BY warehouse", sku=sku)

    def low_stock(self, warehouse: str | None, limit: int) -> list[Stock]:
        """Stock below its reorder point."""
        return self._records.rows(
            Stock,
            f"""{_STOCK} WHERE on_hand - reserved < reorder_point AND (CAST(:warehouse AS TEXT) IS NULL OR warehouse = :warehouse)
                ORDER BY sku, warehouse LIMIT :limit""",
            warehouse=warehouse, limit=limit,
        )  # fmt: skip

    def shipment(self, order_id: int) -> Shipment:
        """The parcel of an order."""
        return self._records.one(Shipment, f"{_SHIPMENT} WHERE order_id = :id", id=order_id)

    def shipments(self, start: str, end: str, carrier: str | None, limit: int) -> list[Shipment]:
        """Parcels shipped between two days."""
        return self._records.rows(
            Shipment,
            f"""{_SHIPMENT} WHERE shipped BETWEEN :start AND :end AND (CAST(:carrier AS TEXT) IS NULL OR carrier = :carrier)
                ORDER BY order_id LIMIT :limit""",
            start=start, end=end, carrier=carrier, limit=limit,
        )  # fmt: skip

    def products_since(self, since: str, offset: int = 0) -> Iterator[FeedRow]:
        """The supplier's changed products, a page at a time."""
        while page := self._page(since, offset):
            yield from page
            offset += len(page)

    def _page(self, since: str, offset: int) -> list[FeedRow]:
        return self._records.rows(
            FeedRow,
            """SELECT sku, name, description, category, brand, price, updated_at, is_gone FROM feed WHERE updated_at > :since
               ORDER BY id LIMIT :limit OFFSET :offset""",
            since=since, limit=PAGE, offset=offset,
        )  # fmt: skip

    def set_stock(self, sku: str, warehouse: str, on_hand: int) -> None:
        """Set how many pieces a warehouse has."""
        sql = "UPDATE inventory SET on_hand = :count WHERE sku = :sku AND warehouse = :warehouse"
        self._records.change(sql, sku=sku, warehouse=warehouse, count=on_hand)

    def refund(self, order_id: int, reason: str) -> None:  # noqa: ARG002  # our books keep no reasons
        """Mark a completed order as refunded."""
        self._records.change("UPDATE orders SET status = 'refunded' WHERE id = :id AND status = 'completed'", id=order_id)

    def close(self) -> None:
        """The records are whose who opened them."""

"""``python -m examples.omniops.commerce``: orders, customers, stock and parcels. What is written lives as long as the process."""

import sqlite3
from pathlib import Path

from examples.omniops.rows import Customer, Done, Item, Order, OrderRow, Shipment, Stock
from examples.omniops.search import open_records
from examples.omniops.sync import Sync
from examples.records import Records
from examples.serving import arguments, destroys, reads, serve, server_of, writes

PORT = 8032


def open_copy_of(path: Path | None) -> Records:
    """The shop in memory, so that orders and stock can change."""
    kept, own = open_records(path).connection, sqlite3.connect(":memory:", check_same_thread=False)
    kept.backup(own)
    kept.close()
    return Records(own)


class Commerce:
    """Tools about orders, customers, stock and parcels."""

    def __init__(self, records: Records) -> None:
        self._records = records

    @reads
    def list_orders(self, start_date: str, end_date: str, status: str | None = None, limit: int = 5_000) -> list[OrderRow]:
        """Orders between two days (inclusive); status is completed, processing, refunded or canceled."""
        return self._records.rows(
            OrderRow,
            """SELECT id, customer_id, date, status, total FROM orders WHERE date BETWEEN :start AND :end
               AND (:status IS NULL OR status = :status) ORDER BY id LIMIT :limit""",
            start=start_date, end=end_date, status=status, limit=limit,
        )  # fmt: skip

    @reads
    def get_order(self, order_id: int) -> Order:
        """One order with its items."""
        row = self._records.one(OrderRow, "SELECT id, customer_id, date, status, total FROM orders WHERE id = :id", id=order_id)
        items = self._records.rows(
            Item,
            """SELECT i.sku, p.name, i.quantity, i.price FROM items i JOIN products p ON p.sku = i.sku
               WHERE order_id = :id ORDER BY i.sku""",
            id=order_id,
        )
        return {**row, "items": items}

    @reads
    def get_orders_of_customer(self, customer_id: int) -> list[OrderRow]:
        """Orders of one customer, oldest first."""
        sql = "SELECT id, customer_id, date, status, total FROM orders WHERE customer_id = :customer ORDER BY id"
        return self._records.rows(OrderRow, sql, customer=customer_id)

    @reads
    def get_customer(self, customer_id: int) -> Customer:
        """One customer: name, mail address, phone, country."""
        return self._records.one(Customer, "SELECT id, name, email, phone, country FROM customers WHERE id = :id", id=customer_id)

    @reads
    def find_customers(self, text: str, limit: int = 20) -> list[Customer]:
        """Customers whose name or mail address contains a text."""
        return self._records.rows(
            Customer,
            """SELECT id, name, email, phone, country FROM customers
               WHERE instr(lower(name), lower(:text)) OR instr(lower(email), lower(:text)) ORDER BY id LIMIT :limit""",
            text=text, limit=limit,
        )  # fmt: skip

    @reads
    def get_inventory(self, sku: str) -> list[Stock]:
        """Stock of one product in each warehouse."""
        sql = "SELECT sku, warehouse, on_hand, reserved, reorder_point FROM inventory WHERE sku = :sku ORDER BY warehouse"
        return self._records.rows(Stock, sql, sku=sku)

    @reads
    def list_low_stock(self, warehouse: str | None = None, limit: int = 5_000) -> list[Stock]:
        """Stock whose free pieces (on hand less reserved) are below the reorder point, optionally of one warehouse."""
        return self._records.rows(
            Stock,
            """SELECT sku, warehouse, on_hand, reserved, reorder_point FROM inventory WHERE on_hand - reserved < reorder_point
               AND (:warehouse IS NULL OR warehouse = :warehouse) ORDER BY sku, warehouse LIMIT :limit""",
            warehouse=warehouse, limit=limit,
        )  # fmt: skip

    @reads
    def get_shipment(self, order_id: int) -> Shipment:
        """The parcel of an order: carrier, status, when it was promised and delivered."""
        sql = "SELECT order_id, carrier, status, shipped, promised, delivered FROM shipments WHERE order_id = :id"
        return self._records.one(Shipment, sql, id=order_id)

    @reads
    def list_shipments(self, start_date: str, end_date: str, carrier: str | None = None, limit: int = 5_000) -> list[Shipment]:
        """Parcels shipped between two days (inclusive), optionally of one carrier."""
        return self._records.rows(
            Shipment,
            """SELECT order_id, carrier, status, shipped, promised, delivered FROM shipments WHERE shipped BETWEEN :start AND :end
               AND (:carrier IS NULL OR carrier = :carrier) ORDER BY order_id LIMIT :limit""",
            start=start_date, end=end_date, carrier=carrier, limit=limit,
        )  # fmt: skip

    @writes
    def update_stock(self, sku: str, warehouse: str, on_hand: int) -> Done:
        """Set how many pieces of a product a warehouse has."""
        self._records.change(
            "UPDATE inventory SET on_hand = :count WHERE sku = :sku AND warehouse = :warehouse",
            sku=sku,
            warehouse=warehouse,
            count=on_hand,
        )
        return {"message": f"{sku} in {warehouse}: {on_hand}"}

    @destroys
    def refund_order(self, order_id: int, reason: str) -> Done:
        """Give the money of a completed order back."""
        self._records.change("UPDATE orders SET status = 'refunded' WHERE id = :id AND status = 'completed'", id=order_id)
        return {"message": f"order {order_id} refunded: {reason}"}


if __name__ == "__main__":
    parser = arguments("Omniops: commerce", port=PORT)
    parser.add_argument("--db", type=Path, help="another database of the same form")
    chosen = parser.parse_args()
    records = open_copy_of(chosen.db)
    serve(server_of("omniops-commerce", Commerce(records), Sync(records)), chosen.http)

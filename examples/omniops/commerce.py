"""``python -m examples.omniops.commerce``: orders, customers, stock and parcels of the shop that ``OMNIOPS_SHOP`` names.

Without one it is our own database, and what is written lives as long as the process.
"""

import os
from pathlib import Path

from examples.omniops.rows import Customer, Done, Order, OrderRow, Shipment, Stock
from examples.omniops.shops.chosen import open_shop
from examples.omniops.shops.shop import Shop
from examples.omniops.stored import chosen_records
from examples.omniops.sync import Sync
from examples.serving import arguments, destroys, reads, serve, server_of, writes

PORT = 8032


class Commerce:
    """Tools about orders, customers, stock and parcels."""

    def __init__(self, shop: Shop) -> None:
        self._shop = shop

    @reads
    def list_orders(self, start_date: str, end_date: str, status: str | None = None, limit: int = 5_000) -> list[OrderRow]:
        """Orders between two days (inclusive); status is completed, processing, refunded or canceled."""
        return self._shop.orders(start_date, end_date, status, limit)

    @reads
    def get_order(self, order_id: int) -> Order:
        """One order with its items."""
        return self._shop.order(order_id)

    @reads
    def get_orders_of_customer(self, customer_id: int) -> list[OrderRow]:
        """Orders of one customer, oldest first."""
        return self._shop.orders_of(customer_id)

    @reads
    def get_customer(self, customer_id: int) -> Customer:
        """One customer: name, mail address, phone, country."""
        return self._shop.customer(customer_id)

    @reads
    def find_customers(self, text: str, limit: int = 20) -> list[Customer]:
        """Customers whose name or mail address contains a text."""
        return self._shop.customers(text, limit)

    @reads
    def get_inventory(self, sku: str) -> list[Stock]:
        """Stock of one product in each warehouse."""
        return self._shop.stock(sku)

    @reads
    def list_low_stock(self, warehouse: str | None = None, limit: int = 5_000) -> list[Stock]:
        """Stock whose free pieces (on hand less reserved) are below the reorder point, optionally of one warehouse."""
        return self._shop.low_stock(warehouse, limit)

    @reads
    def get_shipment(self, order_id: int) -> Shipment:
        """The parcel of an order: carrier, status, when it was promised and delivered."""
        return self._shop.shipment(order_id)

    @reads
    def list_shipments(self, start_date: str, end_date: str, carrier: str | None = None, limit: int = 5_000) -> list[Shipment]:
        """Parcels shipped between two days (inclusive), optionally of one carrier."""
        return self._shop.shipments(start_date, end_date, carrier, limit)

    @writes
    def update_stock(self, sku: str, warehouse: str, on_hand: int) -> Done:
        """Set how many pieces of a product a warehouse has."""
        self._shop.set_stock(sku, warehouse, on_hand)
        return {"message": f"{sku} in {warehouse}: {on_hand}"}

    @destroys
    def refund_order(self, order_id: int, reason: str) -> Done:
        """Give the money of a completed order back."""
        self._shop.refund(order_id, reason)
        return {"message": f"order {order_id} refunded: {reason}"}


if __name__ == "__main__":
    parser = arguments("Omniops: commerce", port=PORT)
    parser.add_argument("--db", type=Path, help="another database of the same form")
    chosen = parser.parse_args()
    records = chosen_records(chosen.db, is_read_only=False)
    shop = open_shop(os.environ, records)
    serve(server_of("omniops-commerce", Commerce(shop), Sync(records, shop)), chosen.http)

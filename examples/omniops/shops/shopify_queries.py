"""What we ask Shopify for (GraphQL Admin API). Sizes keep every query below the cost that one query may have (1,000)."""

VERSION = "2026-07"
"""The API's version: each is served for a year. From 2026-04 on, what changes stock or money wants an idempotency key."""

_ORDER = """
fragment Row on Order {
  legacyResourceId createdAt cancelledAt closed displayFinancialStatus
  customer { legacyResourceId }
  totalPriceSet { shopMoney { amount } }
}"""
_PARCELS = """
fragment Parcels on Order {
  legacyResourceId
  fulfillments(first: 1) { createdAt estimatedDeliveryAt deliveredAt trackingInfo(first: 1) { company } }
}"""
_CUSTOMER = """
fragment Person on Customer {
  legacyResourceId displayName
  defaultEmailAddress { emailAddress }
  defaultPhoneNumber { phoneNumber }
  defaultAddress { countryCodeV2 }
}"""
_STOCK = """
fragment Levels on ProductVariant {
  sku
  metafield(namespace: "omniops", key: "reorder_points") { value }
  inventoryItem {
    id
    inventoryLevels(first: 5) {
      nodes { location { id name } quantities(names: ["on_hand", "reserved"]) { name quantity } }
    }
  }
}"""

ORDERS = """query ($query: String, $after: String) {
  orders(first: 100, after: $after, query: $query, sortKey: ID) { nodes { ...Row } pageInfo { hasNextPage endCursor } }
}""" + _ORDER  # fmt: skip
ORDER = """query ($id: ID!) {
  order(id: $id) {
    ...Row
    lineItems(first: 250) { nodes { sku title quantity originalUnitPriceSet { shopMoney { amount } } } }
  }
}""" + _ORDER  # fmt: skip
PARCELS = """query ($query: String, $after: String) {
  orders(first: 100, after: $after, query: $query, sortKey: ID) { nodes { ...Parcels } pageInfo { hasNextPage endCursor } }
}""" + _PARCELS  # fmt: skip
PARCEL = "query ($id: ID!) { order(id: $id) { ...Parcels } }" + _PARCELS
CUSTOMER = "query ($id: ID!) { customer(id: $id) { ...Person } }" + _CUSTOMER
CUSTOMERS = """query ($query: String, $after: String) {
  customers(first: 100, after: $after, query: $query, sortKey: ID) { nodes { ...Person } pageInfo { hasNextPage endCursor } }
}""" + _CUSTOMER  # fmt: skip
STOCK = """query ($query: String, $after: String) {
  productVariants(first: 40, after: $after, query: $query, sortKey: ID) {
    nodes { ...Levels } pageInfo { hasNextPage endCursor }
  }
}""" + _STOCK  # fmt: skip
PRODUCTS = """query ($query: String, $after: String) {
  products(first: 100, after: $after, query: $query, sortKey: ID) {
    nodes { title description productType vendor status updatedAt variants(first: 1) { nodes { sku price } } }
    pageInfo { hasNextPage endCursor }
  }
}"""
SET_STOCK = """mutation ($input: InventorySetQuantitiesInput!, $key: String!) {
  inventorySetQuantities(input: $input) @idempotent(key: $key) { userErrors { field message } }
}"""
PAYMENTS = """query ($id: ID!) {
  order(id: $id) { ...Row transactions(first: 20) { id kind status gateway amountSet { shopMoney { amount } } } }
}""" + _ORDER  # fmt: skip
REFUND = """mutation ($input: RefundInput!, $key: String!) {
  refundCreate(input: $input) @idempotent(key: $key) { userErrors { field message } }
}"""

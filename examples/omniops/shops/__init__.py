"""Where the shop's orders, stock and parcels live: our own database, WooCommerce, or Shopify."""

-- The shop as we know it, and `feed`: the catalogue as the supplier has it now.
CREATE TABLE products (sku TEXT PRIMARY KEY, name TEXT, description TEXT, category TEXT, brand TEXT, price REAL, updated_at TEXT);
CREATE TABLE feed (id INTEGER PRIMARY KEY, sku TEXT UNIQUE, name TEXT, description TEXT, category TEXT, brand TEXT, price REAL, updated_at TEXT, is_gone INTEGER);
CREATE TABLE inventory (sku TEXT, warehouse TEXT, on_hand INTEGER, reserved INTEGER, reorder_point INTEGER, PRIMARY KEY (sku, warehouse));
CREATE TABLE customers (id INTEGER PRIMARY KEY, name TEXT, email TEXT, phone TEXT, country TEXT);
CREATE TABLE orders (id INTEGER PRIMARY KEY, customer_id INTEGER, date TEXT, status TEXT, total REAL);
CREATE TABLE items (order_id INTEGER, sku TEXT, quantity INTEGER, price REAL);
CREATE TABLE shipments (order_id INTEGER PRIMARY KEY, carrier TEXT, status TEXT, shipped TEXT, promised TEXT, delivered TEXT);
CREATE INDEX items_of ON items (order_id);
CREATE INDEX orders_on ON orders (date);
CREATE INDEX orders_of ON orders (customer_id);
CREATE INDEX feed_since ON feed (updated_at);
-- What a product means, as 256 numbers of two bytes each, in base64 (meaning.py).
CREATE TABLE product_vectors (sku TEXT PRIMARY KEY, vector TEXT);
-- What customers and support wrote to each other; `status` is resolved, open or escalated, `rating` is 1 to 5 where it was
-- given, `source` the id of a chat (support_chat.py).
CREATE TABLE conversations (id INTEGER PRIMARY KEY, customer_id INTEGER, order_id INTEGER, channel TEXT, topic TEXT, agent TEXT, started TEXT, first_reply_minutes INTEGER, minutes INTEGER, messages INTEGER, status TEXT, rating INTEGER, source TEXT);
CREATE TABLE messages (id INTEGER PRIMARY KEY, conversation_id INTEGER, at TEXT, author TEXT, text TEXT);
CREATE INDEX conversations_on ON conversations (started);
CREATE INDEX messages_of ON messages (conversation_id);

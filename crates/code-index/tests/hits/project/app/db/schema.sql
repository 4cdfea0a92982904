-- Customers and what they bought.
CREATE TABLE customer (
  id BIGINT PRIMARY KEY,
  email TEXT NOT NULL UNIQUE,
  password_hash TEXT NOT NULL,
  locked_until TIMESTAMP
);

CREATE TABLE orders (
  id BIGINT PRIMARY KEY,
  customer BIGINT NOT NULL REFERENCES customer(id),
  total_cents BIGINT NOT NULL CHECK (total_cents >= 0),
  state TEXT NOT NULL DEFAULT 'pending'
);

CREATE INDEX orders_by_customer ON orders (customer);

-- One refund for each line of an order at most.
CREATE UNIQUE INDEX refund_once ON refund (order_line);

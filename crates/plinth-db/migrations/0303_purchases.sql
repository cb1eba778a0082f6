-- Purchases of credit packs at a payment provider. A row keeps the pack as it was when it was bought.

ALTER TABLE products ADD COLUMN currency TEXT NOT NULL DEFAULT 'usd';

CREATE TABLE purchases (
    id TEXT PRIMARY KEY,
    -- The account whose credits are bought, and the account of the person who buys them.
    account_id TEXT NOT NULL REFERENCES accounts (id),
    buyer_id TEXT NOT NULL REFERENCES accounts (id),
    -- The team workspace in which they are bought.
    workspace_id TEXT REFERENCES workspaces (id),
    product_id TEXT NOT NULL,
    name TEXT NOT NULL,
    credits BIGINT NOT NULL CHECK (credits > 0),
    price_cents BIGINT NOT NULL CHECK (price_cents > 0),
    currency TEXT NOT NULL,
    status TEXT NOT NULL,
    session_id TEXT UNIQUE,
    payment_id TEXT,
    refunded_cents BIGINT NOT NULL,
    refunded_credits BIGINT NOT NULL,
    created_at BIGINT NOT NULL,
    paid_at BIGINT
);
CREATE INDEX purchases_page ON purchases (account_id, created_at DESC, id DESC);
CREATE INDEX purchases_payment ON purchases (payment_id);

-- Each ledger entry of a purchase has a row, so that nothing is booked twice: the payment with 0, and each refund with the sum of
-- all refunds of the purchase up to it.
CREATE TABLE purchase_entries (
    purchase_id TEXT NOT NULL REFERENCES purchases (id),
    refunded_cents BIGINT NOT NULL,
    entry_id TEXT NOT NULL,
    PRIMARY KEY (purchase_id, refunded_cents)
);

-- The refunds that left credits owed. Only credits of renders that were ordered before a refund are removed for it. The sum of the
-- rows of a purchase is its `owed_credits`, except that the program of the version before changes only `owed_credits`.

CREATE TABLE owed_refunds (
    purchase_id TEXT NOT NULL REFERENCES purchases (id),
    -- Sum of all refunds of the purchase up to this one, in the smallest unit of the currency.
    refunded_cents BIGINT NOT NULL,
    -- Number of credits that are still owed.
    credits BIGINT NOT NULL,
    booked_at BIGINT NOT NULL,
    PRIMARY KEY (purchase_id, refunded_cents)
);
INSERT INTO owed_refunds SELECT id, refunded_cents, owed_credits, owed_at FROM purchases
WHERE owed_credits > 0 AND owed_at IS NOT NULL;

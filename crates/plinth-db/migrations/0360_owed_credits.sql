-- Credits of refunded purchases that were spent when the refund was booked. If they come back, because a render that was ordered before
-- the refund failed or was cancelled, they are removed then.

ALTER TABLE purchases ADD COLUMN owed_credits BIGINT NOT NULL DEFAULT 0;
-- The time of the last refund that left credits owed.
ALTER TABLE purchases ADD COLUMN owed_at BIGINT;
CREATE INDEX purchases_owed ON purchases (account_id) WHERE owed_credits > 0;

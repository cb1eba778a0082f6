-- The lease time with which a worker claimed the render, in milliseconds. Renewals have the same lease time, so a lease that ends later
-- than this time from now is from before the clock was set back. The value is NULL without a lease, and for
-- leases of programs that do not know this column.

ALTER TABLE renders ADD COLUMN lease_ms BIGINT;

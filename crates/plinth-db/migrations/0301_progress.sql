-- How far renders are: the fraction of the work that is done, the attempt that it belongs to, and when the frames will be
-- drawn. No index has these columns, so that PostgreSQL updates them without touching any index.

ALTER TABLE renders ADD COLUMN progress DOUBLE PRECISION;
ALTER TABLE renders ADD COLUMN progress_attempt BIGINT;
ALTER TABLE renders ADD COLUMN progress_ends_at BIGINT;

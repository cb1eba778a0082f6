-- Renders whose frames are equal have the same key here: a worker computes them once. Older ones have none.

ALTER TABLE renders ADD COLUMN frames_sha256 TEXT NOT NULL DEFAULT '';

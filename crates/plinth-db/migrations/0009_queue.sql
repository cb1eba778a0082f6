-- The queue in the order of fair shares.

-- How often its worker was lost, and until when the time of its slot has been counted.
ALTER TABLE renders ADD COLUMN losses BIGINT NOT NULL DEFAULT 0;
ALTER TABLE renders ADD COLUMN slot_since BIGINT;

-- Within an account; and renders that are drawn together.
DROP INDEX renders_waiting;
DROP INDEX renders_hls_waiting;
CREATE INDEX renders_queued ON renders (payer_id, is_system_preview, created_at, id)
    WHERE status IN ('pending', 'poster-done') AND deleted_at IS NULL;
CREATE INDEX renders_queued_frames ON renders (model_id, frames_sha256, created_at, id)
    WHERE status IN ('pending', 'poster-done') AND deleted_at IS NULL;
CREATE INDEX renders_unpackaged ON renders (payer_id, created_at, id)
    WHERE status = 'done' AND hls_status = 'pending' AND deleted_at IS NULL;

-- Slot time that accounts have used lately, as plinth_spec::fair_share counts it.
CREATE TABLE shares (
    account_id TEXT PRIMARY KEY,
    score DOUBLE PRECISION NOT NULL
);

-- Accounts that may have something queued, with their score. Every account that has is here; one that has no more is removed
-- when that is noticed.
CREATE TABLE queue (
    kind TEXT NOT NULL,
    account_id TEXT NOT NULL,
    score DOUBLE PRECISION NOT NULL,
    PRIMARY KEY (kind, account_id)
);
CREATE INDEX queue_order ON queue (kind, score, account_id);
INSERT INTO queue SELECT DISTINCT 'render', payer_id, 0 FROM renders
    WHERE status IN ('pending', 'poster-done') AND deleted_at IS NULL;
INSERT INTO queue SELECT DISTINCT 'package', payer_id, 0 FROM renders
    WHERE status = 'done' AND hls_status = 'pending' AND deleted_at IS NULL;

-- Worker pools: renders have a class, and the queue has a row for each class of an account, so that a worker which takes
-- some classes reads no others. Only columns and indexes are added, so an older program can go on using these tables;
-- what it queues has no class, and every worker takes that.

ALTER TABLE renders ADD COLUMN work_class TEXT;
-- Pool of the worker that claimed last.
ALTER TABLE renders ADD COLUMN worker_pool TEXT;

CREATE INDEX renders_queued_class ON renders (payer_id, work_class, is_system_preview, created_at, id)
    WHERE status IN ('pending', 'poster-done') AND deleted_at IS NULL;
CREATE INDEX renders_unpackaged_class ON renders (payer_id, work_class, created_at, id)
    WHERE status = 'done' AND hls_status = 'pending' AND deleted_at IS NULL;

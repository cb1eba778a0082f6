-- The sizes of renders, from which the counters of workspaces are checked. SQLite needs `deleted_at` in the index, or it also reads
-- each row; it is always NULL there.

CREATE INDEX renders_stored ON renders (workspace_id, stored_bytes, deleted_at)
    WHERE stored_bytes IS NOT NULL AND deleted_at IS NULL;

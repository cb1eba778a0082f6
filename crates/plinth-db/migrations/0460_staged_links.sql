-- When the link of a staged upload expires. The file is deleted two days later, which `garbage` stores; if its row is missing, the
-- file has been deleted. The time is NULL in rows of programs that do not know this column.

ALTER TABLE staged_uploads ADD COLUMN link_expires_at BIGINT;
UPDATE staged_uploads SET link_expires_at = coalesce(
    (SELECT due_at - 172800000 FROM garbage WHERE prefix = 'staged/' || staged_uploads.id || '.glb'), created_at
);
CREATE INDEX staged_uploads_open ON staged_uploads (workspace_id) WHERE finalized_at IS NULL;

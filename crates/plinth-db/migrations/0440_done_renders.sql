-- The pages of looks show the newest finished render of each look. Without this index, SQLite reads all finished renders of the
-- workspace for each look.

CREATE INDEX renders_done ON renders (workspace_id, settings_sha256, created_at DESC) WHERE status = 'done' AND deleted_at IS NULL;

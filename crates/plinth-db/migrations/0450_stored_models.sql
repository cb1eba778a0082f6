-- The files of deleted models are deleted from the store; their rows remain. And how many bytes the files of the models of each
-- workspace have in the store, which are part of `bytes`.

ALTER TABLE models ADD COLUMN file_deleted_at BIGINT;
-- SQLite needs `file_deleted_at` in the index, or it also reads each row; it is always NULL there.
CREATE INDEX models_stored ON models (workspace_id, file_size, file_deleted_at) WHERE file_deleted_at IS NULL;
CREATE INDEX models_deleted ON models (id) WHERE status = 'deleted' AND file_deleted_at IS NULL;

ALTER TABLE storage ADD COLUMN model_bytes BIGINT NOT NULL DEFAULT 0;
UPDATE storage SET model_bytes = (
    SELECT CAST(coalesce(sum(file_size), 0) AS BIGINT) FROM models WHERE models.workspace_id = storage.workspace_id
);

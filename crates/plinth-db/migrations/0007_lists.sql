-- Lists of renders: the length of a workspace's own is kept, because counting takes longer than reading a page; and each
-- list has an index without rows that are in none.

ALTER TABLE workspaces ADD COLUMN render_count BIGINT NOT NULL DEFAULT 0 CHECK (render_count >= 0);
UPDATE workspaces SET render_count =
    (SELECT count(*) FROM renders WHERE renders.workspace_id = workspaces.id AND renders.deleted_at IS NULL);

DROP INDEX renders_page;
CREATE INDEX renders_page ON renders (workspace_id, created_at DESC, id DESC) WHERE deleted_at IS NULL;
DROP INDEX renders_model;
CREATE INDEX renders_model ON renders (model_id, workspace_id, created_at DESC, id DESC) WHERE deleted_at IS NULL;

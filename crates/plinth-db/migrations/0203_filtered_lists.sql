-- Lists of renders in one state, and of renders that changed since a time, which clients ask for again and again.

CREATE INDEX renders_status ON renders (workspace_id, status, created_at DESC, id DESC) WHERE deleted_at IS NULL;
CREATE INDEX renders_changed ON renders (workspace_id, updated_at, id) WHERE deleted_at IS NULL;

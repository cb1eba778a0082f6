-- Lists of a model's renders in one state, and of models in one state or that changed since a time. The last columns only filter: the
-- database skips rows by the index, without reading them. On SQLite, reading the state of a model also reads its animations and names.

CREATE INDEX renders_model_status ON renders (model_id, workspace_id, status, created_at DESC, id DESC, updated_at)
    WHERE deleted_at IS NULL;
CREATE INDEX models_list ON models (workspace_id, created_at DESC, id DESC, status, updated_at);

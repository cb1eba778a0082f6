-- Models, and files on their way to become one.

CREATE TABLE models (
    id TEXT PRIMARY KEY,
    workspace_id TEXT NOT NULL REFERENCES workspaces (id),
    original_name TEXT NOT NULL,
    title TEXT,
    sku TEXT,
    file_size BIGINT NOT NULL,
    sha256 TEXT NOT NULL,
    animations TEXT NOT NULL,
    animation_count BIGINT NOT NULL,
    mesh_names TEXT,
    material_names TEXT,
    status TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL
);
CREATE INDEX models_page ON models (workspace_id, created_at DESC, id DESC);
CREATE INDEX models_sha256 ON models (workspace_id, sha256);

CREATE TABLE model_tags (
    model_id TEXT NOT NULL REFERENCES models (id),
    position BIGINT NOT NULL,
    tag TEXT NOT NULL,
    PRIMARY KEY (model_id, position)
);

CREATE TABLE staged_uploads (
    id TEXT PRIMARY KEY,
    ticket_sha256 TEXT NOT NULL UNIQUE,
    workspace_id TEXT NOT NULL REFERENCES workspaces (id),
    created_at BIGINT NOT NULL,
    finalized_at BIGINT
);
CREATE INDEX staged_uploads_age ON staged_uploads (created_at);

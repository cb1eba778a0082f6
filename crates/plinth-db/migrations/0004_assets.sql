-- Images and environments that render settings name.

CREATE TABLE overlays (
    id TEXT PRIMARY KEY,
    workspace_id TEXT NOT NULL REFERENCES workspaces (id),
    layer TEXT NOT NULL,
    name TEXT NOT NULL,
    description TEXT NOT NULL,
    alignment TEXT NOT NULL,
    opacity DOUBLE PRECISION NOT NULL,
    file_size BIGINT NOT NULL,
    width BIGINT NOT NULL,
    height BIGINT NOT NULL,
    filename TEXT NOT NULL,
    content_type TEXT NOT NULL,
    sha256 TEXT NOT NULL,
    is_system BOOLEAN NOT NULL,
    created_at BIGINT NOT NULL
);
CREATE INDEX overlays_page ON overlays (workspace_id, created_at DESC, id DESC);
CREATE INDEX overlays_system ON overlays (created_at DESC) WHERE is_system;

CREATE TABLE textures (
    id TEXT PRIMARY KEY,
    workspace_id TEXT NOT NULL REFERENCES workspaces (id),
    name TEXT NOT NULL,
    file_size BIGINT NOT NULL,
    width BIGINT NOT NULL,
    height BIGINT NOT NULL,
    content_type TEXT NOT NULL,
    sha256 TEXT NOT NULL,
    created_at BIGINT NOT NULL
);
CREATE UNIQUE INDEX textures_sha256 ON textures (workspace_id, sha256);
CREATE INDEX textures_page ON textures (workspace_id, created_at DESC, id DESC);

CREATE TABLE envs (
    id TEXT PRIMARY KEY,
    workspace_id TEXT NOT NULL REFERENCES workspaces (id),
    name TEXT NOT NULL,
    file_size BIGINT NOT NULL,
    width BIGINT,
    height BIGINT,
    has_thumb BOOLEAN NOT NULL,
    created_at BIGINT NOT NULL
);
CREATE INDEX envs_page ON envs (workspace_id, created_at DESC, id DESC);

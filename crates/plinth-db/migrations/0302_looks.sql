-- Looks: named render settings of a workspace. The composer of a workspace starts with its start look: the id of a look, or
-- of one of those that the program contains.

CREATE TABLE looks (
    id TEXT PRIMARY KEY,
    workspace_id TEXT NOT NULL REFERENCES workspaces (id),
    name TEXT NOT NULL,
    settings TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    UNIQUE (workspace_id, name)
);
ALTER TABLE workspaces ADD COLUMN start_look TEXT;

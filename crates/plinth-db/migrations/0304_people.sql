-- Browsers of sessions, links that set a password, administrators of teams, and invitations to teams.

ALTER TABLE sessions ADD COLUMN browser TEXT NOT NULL DEFAULT '';
ALTER TABLE sign_in_links ADD COLUMN sets_password BOOLEAN NOT NULL DEFAULT FALSE;

-- An editor with this mark is an administrator of the workspace. To programs that do not know the mark, it is an editor.
ALTER TABLE members ADD COLUMN is_manager BOOLEAN NOT NULL DEFAULT FALSE;

CREATE TABLE invitations (
    id TEXT PRIMARY KEY,
    sha256 TEXT NOT NULL UNIQUE,
    workspace_id TEXT NOT NULL REFERENCES workspaces (id),
    role TEXT NOT NULL,
    email TEXT,
    inviter_id TEXT NOT NULL REFERENCES accounts (id),
    created_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL,
    ended_at BIGINT
);
CREATE INDEX invitations_workspace ON invitations (workspace_id, created_at DESC, id DESC);

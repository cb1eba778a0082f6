-- Who may call, and what they own. Times are milliseconds since 1970.

CREATE TABLE accounts (
    id TEXT PRIMARY KEY,
    email TEXT NOT NULL UNIQUE,
    password_hash TEXT,
    is_admin BOOLEAN NOT NULL,
    suspended_at BIGINT,
    paid BIGINT NOT NULL CHECK (paid >= 0),
    free BIGINT NOT NULL CHECK (free >= 0),
    created_at BIGINT NOT NULL
);

CREATE TABLE workspaces (
    id TEXT PRIMARY KEY,
    name TEXT NOT NULL,
    owner_id TEXT NOT NULL REFERENCES accounts (id),
    is_personal BOOLEAN NOT NULL,
    created_at BIGINT NOT NULL,
    deleted_at BIGINT
);
CREATE UNIQUE INDEX workspaces_personal ON workspaces (owner_id) WHERE is_personal;

CREATE TABLE members (
    workspace_id TEXT NOT NULL REFERENCES workspaces (id),
    account_id TEXT NOT NULL REFERENCES accounts (id),
    role TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    PRIMARY KEY (workspace_id, account_id)
);

-- Only the hash and the last four characters of a secret are kept.
CREATE TABLE tokens (
    id TEXT PRIMARY KEY,
    account_id TEXT NOT NULL REFERENCES accounts (id),
    workspace_id TEXT NOT NULL REFERENCES workspaces (id),
    name TEXT NOT NULL,
    sha256 TEXT NOT NULL UNIQUE,
    last4 TEXT NOT NULL,
    scopes TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    expires_at BIGINT,
    revoked_at BIGINT,
    last_used_at BIGINT
);
CREATE INDEX tokens_account ON tokens (account_id, created_at);

CREATE TABLE sessions (
    sha256 TEXT PRIMARY KEY,
    account_id TEXT NOT NULL REFERENCES accounts (id),
    created_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL
);

CREATE TABLE sign_in_links (
    sha256 TEXT PRIMARY KEY,
    account_id TEXT NOT NULL REFERENCES accounts (id),
    expires_at BIGINT NOT NULL,
    used_at BIGINT
);

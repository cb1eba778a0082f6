-- Administration: a log of what administrators did, to which rows are only added, and indexes for the lists of accounts.

CREATE TABLE admin_log (
    id TEXT PRIMARY KEY,
    -- The administrator; NULL for commands.
    admin_id TEXT REFERENCES accounts (id),
    action TEXT NOT NULL,
    -- The account concerned, or the one that owns the object concerned.
    account_id TEXT REFERENCES accounts (id),
    -- What was changed, in words.
    subject TEXT NOT NULL,
    reason TEXT NOT NULL,
    created_at BIGINT NOT NULL
);
CREATE INDEX admin_log_page ON admin_log (created_at DESC, id DESC);
CREATE INDEX admin_log_account ON admin_log (account_id, created_at DESC, id DESC);

CREATE INDEX accounts_page ON accounts (created_at DESC, id DESC);
CREATE INDEX accounts_admins ON accounts (id) WHERE is_admin;
CREATE INDEX workspaces_owner ON workspaces (owner_id);

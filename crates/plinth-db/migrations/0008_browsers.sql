-- Browsers: when a session was last used, and where its account works. Keys are shown with the word they begin with.

ALTER TABLE sessions ADD COLUMN seen_at BIGINT NOT NULL DEFAULT 0;
ALTER TABLE sessions ADD COLUMN workspace_id TEXT REFERENCES workspaces (id);
CREATE INDEX sessions_account ON sessions (account_id);
CREATE INDEX sign_in_links_account ON sign_in_links (account_id);
CREATE INDEX members_account ON members (account_id);

ALTER TABLE tokens ADD COLUMN prefix TEXT NOT NULL DEFAULT '';

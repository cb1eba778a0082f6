-- Environments that administrators have published, so that all workspaces can use them.

ALTER TABLE envs ADD COLUMN is_system BOOLEAN NOT NULL DEFAULT FALSE;
CREATE INDEX envs_system ON envs (created_at DESC, id DESC) WHERE is_system;

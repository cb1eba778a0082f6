-- Renders: the row is the job. Money moves in the ledger; a render is charged once and refunded at most once.

CREATE TABLE renders (
    id TEXT PRIMARY KEY,
    workspace_id TEXT NOT NULL REFERENCES workspaces (id),
    model_id TEXT NOT NULL REFERENCES models (id),
    payer_id TEXT NOT NULL REFERENCES accounts (id),
    settings TEXT NOT NULL,
    settings_sha256 TEXT NOT NULL,
    replay_key TEXT NOT NULL,
    replay_ordinal BIGINT NOT NULL,
    is_system_preview BOOLEAN NOT NULL,
    pool TEXT,
    credits BIGINT NOT NULL CHECK (credits >= 0),
    status TEXT NOT NULL,
    hls_status TEXT NOT NULL,
    failure_code TEXT,
    error_message TEXT,
    warnings TEXT NOT NULL,
    attempt BIGINT NOT NULL,
    hls_attempt BIGINT NOT NULL,
    lease_token TEXT,
    lease_until BIGINT,
    worker TEXT,
    poster_attempt BIGINT,
    files_attempt BIGINT,
    files TEXT,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    deleted_at BIGINT
);
CREATE INDEX renders_page ON renders (workspace_id, created_at DESC, id DESC);
CREATE INDEX renders_model ON renders (model_id, created_at DESC);
CREATE INDEX renders_replay ON renders (workspace_id, settings_sha256, created_at);
CREATE INDEX renders_previews ON renders (payer_id, created_at) WHERE is_system_preview;
CREATE INDEX renders_waiting ON renders (created_at, id) WHERE status IN ('pending', 'poster-done');
CREATE INDEX renders_hls_waiting ON renders (created_at, id) WHERE status = 'done' AND hls_status = 'pending';
CREATE INDEX renders_leased ON renders (lease_until) WHERE lease_token IS NOT NULL;

CREATE TABLE ledger (
    id TEXT PRIMARY KEY,
    account_id TEXT NOT NULL REFERENCES accounts (id),
    workspace_id TEXT REFERENCES workspaces (id),
    render_id TEXT REFERENCES renders (id),
    type TEXT NOT NULL,
    pool TEXT NOT NULL,
    credits BIGINT NOT NULL,
    price_cents BIGINT NOT NULL,
    source TEXT NOT NULL,
    description TEXT NOT NULL,
    created_at BIGINT NOT NULL
);
CREATE INDEX ledger_page ON ledger (account_id, created_at DESC, id DESC);
CREATE UNIQUE INDEX ledger_one_charge ON ledger (render_id) WHERE type = 'render';
CREATE UNIQUE INDEX ledger_one_refund ON ledger (render_id) WHERE type = 'refund';

CREATE TABLE products (
    id TEXT PRIMARY KEY,
    name TEXT NOT NULL,
    credits BIGINT NOT NULL CHECK (credits > 0),
    price_cents BIGINT NOT NULL CHECK (price_cents >= 0),
    price_reference TEXT NOT NULL
);

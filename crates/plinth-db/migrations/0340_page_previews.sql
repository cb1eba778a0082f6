-- Previews that are drawn by a worker in another process. A row holds the newest request of one open page for one model, the
-- lease of the worker that has the model loaded, and the picture until it is read. On PostgreSQL the table is unlogged. It
-- replaces the table `previews`, whose requests of several pages of one account replaced each other.

CREATE TABLE page_previews (
    account_id TEXT NOT NULL,
    model_id TEXT NOT NULL,
    page_id TEXT NOT NULL,
    workspace_id TEXT NOT NULL,
    payer_id TEXT NOT NULL,
    request_id TEXT NOT NULL,
    request TEXT NOT NULL,
    status TEXT NOT NULL,
    asked_at BIGINT NOT NULL,
    lease_token TEXT,
    lease_until BIGINT,
    picture BYTEA,
    problem TEXT,
    PRIMARY KEY (account_id, model_id, page_id)
);

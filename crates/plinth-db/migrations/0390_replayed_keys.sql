-- Idempotency keys of requests that returned a render which a request with another key had created. A repeated request finds the
-- render by this row. The key of the request that created a render is in the render's row.

CREATE TABLE replayed_keys (
    workspace_id TEXT NOT NULL REFERENCES workspaces (id),
    replay_key TEXT NOT NULL,
    render_id TEXT NOT NULL REFERENCES renders (id),
    created_at BIGINT NOT NULL,
    PRIMARY KEY (workspace_id, replay_key, render_id)
);
CREATE INDEX replayed_keys_age ON replayed_keys (created_at);

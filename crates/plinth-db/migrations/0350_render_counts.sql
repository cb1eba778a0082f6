-- The number of renders of each workspace in each state. Triggers on `renders` insert the changes, so that transactions which change
-- renders of one workspace never wait for each other; they are added to the numbers later.

CREATE TABLE render_counts (
    workspace_id TEXT NOT NULL,
    status TEXT NOT NULL,
    renders BIGINT NOT NULL,
    PRIMARY KEY (workspace_id, status)
);
CREATE TABLE render_count_changes (
    workspace_id TEXT NOT NULL,
    status TEXT NOT NULL,
    change BIGINT NOT NULL
);
CREATE INDEX render_count_changes_key ON render_count_changes (workspace_id, status);

-- The number of renders of each workspace that changed last in each hour since 1970. Triggers on `renders` insert the changes, as for
-- `render_counts`; they are added to the numbers later.

CREATE TABLE render_hours (
    workspace_id TEXT NOT NULL,
    hour BIGINT NOT NULL,
    renders BIGINT NOT NULL,
    PRIMARY KEY (workspace_id, hour)
);
CREATE TABLE render_hour_changes (
    workspace_id TEXT NOT NULL,
    hour BIGINT NOT NULL,
    change BIGINT NOT NULL
);
CREATE INDEX render_hour_changes_key ON render_hour_changes (workspace_id, hour);

-- Counts the renders from before the triggers. Those that were changed since then are in the table of changes, and are subtracted.

INSERT INTO render_hours SELECT workspace_id, hour, CAST(sum(one) AS BIGINT) FROM (
    SELECT workspace_id, updated_at / 3600000 AS hour, 1 AS one FROM renders WHERE deleted_at IS NULL
    UNION ALL SELECT workspace_id, hour, -change FROM render_hour_changes
) AS counted GROUP BY workspace_id, hour;

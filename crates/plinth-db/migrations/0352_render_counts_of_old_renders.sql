-- Counts the renders from before the triggers. Those that were changed since then are in the table of changes, and are subtracted.

INSERT INTO render_counts SELECT workspace_id, status, CAST(sum(one) AS BIGINT) FROM (
    SELECT workspace_id, status, 1 AS one FROM renders WHERE deleted_at IS NULL
    UNION ALL SELECT workspace_id, status, -change FROM render_count_changes
) AS counted GROUP BY workspace_id, status;

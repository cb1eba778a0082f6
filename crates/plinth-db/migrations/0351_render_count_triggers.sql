-- Triggers that record each change of the number of renders in a state. The file with `.postgres` in its name is that of PostgreSQL.

CREATE TRIGGER renders_counted_insert AFTER INSERT ON renders WHEN NEW.deleted_at IS NULL
BEGIN
    INSERT INTO render_count_changes VALUES (NEW.workspace_id, NEW.status, 1);
END;

CREATE TRIGGER renders_counted_update AFTER UPDATE OF status, deleted_at ON renders
WHEN OLD.status <> NEW.status OR (OLD.deleted_at IS NULL) <> (NEW.deleted_at IS NULL)
BEGIN
    INSERT INTO render_count_changes SELECT OLD.workspace_id, OLD.status, -1 WHERE OLD.deleted_at IS NULL;
    INSERT INTO render_count_changes SELECT NEW.workspace_id, NEW.status, 1 WHERE NEW.deleted_at IS NULL;
END;

CREATE TRIGGER renders_counted_delete AFTER DELETE ON renders WHEN OLD.deleted_at IS NULL
BEGIN
    INSERT INTO render_count_changes VALUES (OLD.workspace_id, OLD.status, -1);
END;

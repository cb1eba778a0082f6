-- Triggers that record in which hour renders changed last. Most changes of a render are in the hour of the change before, and record
-- nothing. The file with `.postgres` in its name is that of PostgreSQL.

CREATE TRIGGER renders_hour_insert AFTER INSERT ON renders WHEN NEW.deleted_at IS NULL
BEGIN
    INSERT INTO render_hour_changes VALUES (NEW.workspace_id, NEW.updated_at / 3600000, 1);
END;

CREATE TRIGGER renders_hour_update AFTER UPDATE OF updated_at, deleted_at ON renders
WHEN OLD.updated_at / 3600000 <> NEW.updated_at / 3600000 OR (OLD.deleted_at IS NULL) <> (NEW.deleted_at IS NULL)
BEGIN
    INSERT INTO render_hour_changes SELECT OLD.workspace_id, OLD.updated_at / 3600000, -1 WHERE OLD.deleted_at IS NULL;
    INSERT INTO render_hour_changes SELECT NEW.workspace_id, NEW.updated_at / 3600000, 1 WHERE NEW.deleted_at IS NULL;
END;

CREATE TRIGGER renders_hour_delete AFTER DELETE ON renders WHEN OLD.deleted_at IS NULL
BEGIN
    INSERT INTO render_hour_changes VALUES (OLD.workspace_id, OLD.updated_at / 3600000, -1);
END;

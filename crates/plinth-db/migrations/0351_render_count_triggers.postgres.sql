-- Triggers that record each change of the number of renders in a state. The file without `.postgres` in its name is that of SQLite.

CREATE FUNCTION record_render_count_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP <> 'INSERT' THEN
        INSERT INTO render_count_changes SELECT OLD.workspace_id, OLD.status, -1 WHERE OLD.deleted_at IS NULL;
    END IF;
    IF TG_OP <> 'DELETE' THEN
        INSERT INTO render_count_changes SELECT NEW.workspace_id, NEW.status, 1 WHERE NEW.deleted_at IS NULL;
    END IF;
    RETURN NULL;
END
$$;

CREATE TRIGGER renders_counted AFTER INSERT OR DELETE ON renders
FOR EACH ROW EXECUTE FUNCTION record_render_count_change();

CREATE TRIGGER renders_counted_update AFTER UPDATE OF status, deleted_at ON renders
FOR EACH ROW WHEN (OLD.status <> NEW.status OR (OLD.deleted_at IS NULL) <> (NEW.deleted_at IS NULL))
EXECUTE FUNCTION record_render_count_change();

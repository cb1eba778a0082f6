-- Workers search the requests for previews that nobody has drawn. Rows of drawn previews, which keep the lease of their worker,
-- are far more.

CREATE INDEX page_previews_open ON page_previews (asked_at) WHERE status IN ('waiting', 'drawing');
CREATE INDEX page_previews_drawing ON page_previews (payer_id) WHERE status = 'drawing';

-- Traces: a render keeps the W3C trace context of the request that ordered it, so that its worker continues the same trace.

ALTER TABLE renders ADD COLUMN trace_parent TEXT;

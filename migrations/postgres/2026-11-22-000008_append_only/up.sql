-- PostgreSQL has no statement that replaces a row past the triggers: ON CONFLICT DO UPDATE is an update to them.
SELECT 1;

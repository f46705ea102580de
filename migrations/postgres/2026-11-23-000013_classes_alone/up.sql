-- The index by class does what this one did. It goes in a transaction of its own: on PostgreSQL the index by class is made under a
-- lock that lets others read, and whoever asks for a stronger lock while it holds that one meets them in a deadlock.
DROP INDEX IF EXISTS payments_by_status;

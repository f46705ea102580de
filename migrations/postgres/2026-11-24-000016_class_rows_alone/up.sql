-- The rows by class do what this index did, which had to change with every status. It goes in a transaction of its own, for the
-- reason that migration 13 gives. Each page keeps room for a second version of the payments on it.
DROP INDEX IF EXISTS payments_by_class;
ALTER TABLE payments SET (fillfactor = 50);

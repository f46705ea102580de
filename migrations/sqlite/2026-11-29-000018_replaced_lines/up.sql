-- `INSERT OR REPLACE` removes every row that is in its way: the one with the same identifier, and the one with the same number
-- of a row. A number that was not given reads as -1 here.
DROP TRIGGER audit_log_is_never_replaced;
CREATE TRIGGER audit_log_is_never_replaced BEFORE INSERT ON audit_log
WHEN EXISTS (SELECT 1 FROM audit_log WHERE id = new.id)
    OR new.rowid > 0 AND EXISTS (SELECT 1 FROM audit_log WHERE rowid = new.rowid)
BEGIN SELECT RAISE (ABORT, 'the audit log is never changed'); END;

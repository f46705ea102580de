-- `INSERT OR REPLACE` removes the row that is in its way without asking the triggers of removals.
CREATE TRIGGER entries_are_never_replaced BEFORE INSERT ON entries
WHEN EXISTS (SELECT 1 FROM entries WHERE merchant_id = new.merchant_id AND environment = new.environment
    AND transaction_id = new.transaction_id AND line = new.line)
BEGIN SELECT RAISE (ABORT, 'entries are never changed'); END;
CREATE TRIGGER audit_log_is_never_replaced BEFORE INSERT ON audit_log
WHEN EXISTS (SELECT 1 FROM audit_log WHERE id = new.id)
BEGIN SELECT RAISE (ABORT, 'the audit log is never changed'); END;

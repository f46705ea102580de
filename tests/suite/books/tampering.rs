//! What is done to a database behind the gateway's back, and the invariant of `quipu check` that names it.

use quipu_tests::Database;

/// A withdrawal whose amount and fee cannot be added.
const BEYOND_ADDITION: &str = "UPDATE payments SET amount = 9223372036854775807, fee = 1 WHERE type = 'withdrawal' AND status = 'pending'";

/// What is done, and the invariant that names it. Tables that refuse changes are freed of their triggers before.
pub(super) const TAMPERED: [(&str, &str); 123] = [
    ("UPDATE balances SET available = available + 1, adjustment = adjustment + 1", "balance_equals_entries"),
    ("UPDATE balances SET available = available + 1, deposit = deposit + 1", "totals_equal_payments"),
    ("UPDATE balances SET commission = commission + 1, adjustment = adjustment + 1", "totals_equal_payments"),
    ("UPDATE balances SET withdrawal = withdrawal + 1, adjustment = adjustment + 1", "totals_equal_payments"),
    ("UPDATE balances SET available = available - 1, frozen = frozen + 1 WHERE available > 0", "frozen_equals_open_withdrawals"),
    ("DELETE FROM balances WHERE currency = 'ARS'", "balance_equals_entries"),
    (
        "INSERT INTO balances SELECT merchant_id, 'live', currency, available, frozen, deposit, withdrawal, commission,
            adjustment FROM balances WHERE currency = 'ARS'",
        "balance_equals_entries",
    ),
    ("UPDATE entries SET amount = amount + 1 WHERE reason = 'deposit_completed' AND line = 1", "transaction_sums_to_zero"),
    ("UPDATE entries SET currency = 'UYU' WHERE reason = 'deposit_completed'", "balance_equals_entries"),
    ("UPDATE entries SET currency = 'UYU' WHERE reason = 'deposit_completed' AND line = 1", "transaction_sums_to_zero"),
    ("UPDATE entries SET environment = 'live' WHERE reason = 'deposit_completed'", "balance_equals_entries"),
    ("UPDATE entries SET reason = 'refund' WHERE reason = 'deposit_completed'", "entries_equal_payments"),
    ("UPDATE entries SET payment_id = NULL WHERE reason = 'refund'", "entries_equal_payments"),
    ("UPDATE entries SET payment_id = 'pay_0' WHERE reason = 'deposit_completed'", "entries_equal_payments"),
    ("UPDATE entries SET account = 'revenue' WHERE account = 'available' AND reason = 'deposit_completed'", "balance_equals_entries"),
    ("UPDATE entries SET amount = 2 * amount WHERE reason = 'withdrawal_created'", "balance_equals_entries"),
    ("DELETE FROM entries WHERE reason = 'deposit_completed'", "entries_equal_payments"),
    ("DELETE FROM entries WHERE reason = 'withdrawal_released' AND line = 1", "transaction_sums_to_zero"),
    (
        "INSERT INTO entries SELECT merchant_id, environment, 'twice' || transaction_id, line, currency, account, amount, reason,
            payment_id, created_at FROM entries WHERE reason = 'deposit_completed'",
        "entries_equal_payments",
    ),
    ("UPDATE payments SET status_version = status_version + 1", "status_versions_gapless"),
    ("UPDATE events SET status_version = NULL WHERE type = 'payment.completed'", "status_versions_gapless"),
    (
        "UPDATE work SET action = 'expire' WHERE subject IN (SELECT id FROM payments WHERE type = 'withdrawal')",
        "open_payments_are_due",
    ),
    ("UPDATE payments SET status = 'failed' WHERE status = 'cancelled'", "status_versions_gapless"),
    ("UPDATE payments SET status = 'completed' WHERE status = 'partial_refund'", "counters_equal_rows"),
    ("UPDATE payments SET amount = amount + 1 WHERE status = 'processing'", "events_equal_payments"),
    ("UPDATE payments SET amount = amount + 1 WHERE status = 'completed'", "totals_equal_payments"),
    ("UPDATE payments SET fee = fee + 1 WHERE status = 'completed'", "entries_equal_payments"),
    ("UPDATE payments SET received_amount = amount + 1 WHERE status = 'partial_refund'", "totals_equal_payments"),
    ("UPDATE payments SET refunded_amount = refunded_amount + 1 WHERE status = 'partial_refund'", "entries_equal_payments"),
    ("UPDATE payments SET currency = 'UYU' WHERE status = 'completed'", "entries_equal_payments"),
    ("UPDATE payments SET method = 'cash' WHERE status = 'completed'", "counters_equal_rows"),
    ("UPDATE payments SET type = 'deposit_pp' WHERE type = 'deposit'", "events_equal_payments"),
    ("UPDATE payments SET environment = 'live' WHERE status = 'cancelled'", "counters_equal_rows"),
    ("UPDATE payments SET holds_reference = NOT holds_reference WHERE status = 'processing'", "references_follow_status"),
    ("UPDATE payments SET holds_reference = NOT holds_reference WHERE status = 'cancelled'", "references_follow_status"),
    ("UPDATE payments SET late = NOT late WHERE status = 'completed'", "references_follow_status"),
    ("UPDATE payments SET revision = 0", "status_versions_gapless"),
    ("UPDATE payments SET customer_id = 7 WHERE status = 'completed'", "rows_belong_together"),
    ("DELETE FROM payments WHERE status = 'processing'", "counters_equal_rows"),
    ("UPDATE events SET status_version = 3 WHERE status = 'completed'", "status_versions_gapless"),
    ("UPDATE events SET status = 'failed' WHERE status = 'completed'", "status_versions_gapless"),
    ("UPDATE events SET previous_status = 'pending' WHERE status = 'cancelled' OR status = 'completed'", "status_versions_gapless"),
    ("DELETE FROM events WHERE status = 'cancelled'", "status_versions_gapless"),
    ("UPDATE events SET payload = replace(payload, '\"amount\":1000,', '\"amount\":1001,')", "events_equal_payments"),
    ("UPDATE events SET payload = replace(payload, '\"status\":\"cancelled\"', '\"status\":\"failed\"')", "events_equal_payments"),
    ("UPDATE events SET payload = substr(payload, 1, 100)", "events_equal_payments"),
    ("UPDATE events SET type = 'payment.failed' WHERE type = 'payment.cancelled'", "events_equal_payments"),
    ("DELETE FROM work WHERE queue = 'settlement'", "open_payments_are_due"),
    ("UPDATE work SET subject = (SELECT id FROM payments WHERE status = 'cancelled') WHERE queue = 'settlement' AND action = 'expire'", "open_payments_are_due"),
    ("DELETE FROM audit_log WHERE action = 'balance.adjust'", "adjustments_are_audited"),
    ("UPDATE audit_log SET after = replace(after, '100000', '1') WHERE action = 'balance.adjust'", "adjustments_are_audited"),
    ("DELETE FROM refunds", "entries_equal_payments"),
    ("UPDATE entries SET created_at = created_at + 1 WHERE reason = 'adjustment'", "entries_as_sealed"),
    ("DELETE FROM entries WHERE reason = 'refund'", "entries_as_sealed"),
    (
        "INSERT INTO entries SELECT merchant_id, environment, '0' || transaction_id, line, currency, account, 0, reason, payment_id,
            created_at FROM entries WHERE reason = 'refund'",
        "entries_as_sealed",
    ),
    ("UPDATE entries SET line = -line WHERE reason = 'adjustment'", "entries_as_sealed"),
    ("UPDATE entries SET transaction_id = '0' || transaction_id WHERE reason = 'refund'", "entries_as_sealed"),
    ("UPDATE audit_log SET actor_name = 'nobody' WHERE action = 'balance.adjust'", "audit_log_as_sealed"),
    ("DELETE FROM audit_log WHERE action = 'payment.complete'", "audit_log_as_sealed"),
    (
        "INSERT INTO audit_log SELECT '0' || id, at, actor_id, actor_name, 'merchant.read', merchant_id, subject, before, after
            FROM audit_log WHERE action = 'balance.adjust'",
        "audit_log_as_sealed",
    ),
    ("UPDATE audit_log SET at = at - 1000 WHERE action = 'payment.complete'", "audit_log_as_sealed"),
    ("UPDATE seals SET hash = replace(hash, 'a', 'b')", "entries_as_sealed"),
    ("DELETE FROM seals WHERE book = 'audit_log'", "audit_log_as_sealed"),
    ("UPDATE chains SET rows = rows - 1 WHERE rows > 1", "entries_as_sealed"),
    ("DELETE FROM seals; DELETE FROM chains", "entries_as_sealed"),
    ("DELETE FROM seals WHERE book = 'audit_log'; DELETE FROM chains WHERE book = 'audit_log'", "entries_as_sealed"),
    ("DELETE FROM sealing", "entries_as_sealed"),
    ("UPDATE sealing SET sealed_until = 9000000000000", "entries_as_sealed"),
    ("UPDATE sealing SET lease_until = 9000000000000", "entries_as_sealed"),
    ("UPDATE chains SET upto_id = 'zzzz' WHERE book = 'entries'", "entries_as_sealed"),
    ("UPDATE chains SET upto_at = 9000000000000 WHERE book = 'audit_log'", "audit_log_as_sealed"),
    ("UPDATE chains SET upto_at = upto_at - 1 WHERE book = 'audit_log'", "audit_log_as_sealed"),
    (
        "UPDATE seals SET upto_id = 'zzzz' WHERE book = 'entries'
            AND rows = (SELECT MAX(rows) FROM chains WHERE book = 'entries');
        UPDATE chains SET upto_id = 'zzzz' WHERE book = 'entries'
            AND rows = (SELECT MAX(rows) FROM chains WHERE book = 'entries')",
        "entries_as_sealed",
    ),
    ("UPDATE counters SET count = 7 WHERE name = 'tickets'", "counters_equal_rows"),
    ("DELETE FROM counters WHERE name = 'deliveries'", "counters_equal_rows"),
    ("UPDATE events SET payload = replace(payload, '\"fee\":0', '\"fee\":1')", "events_equal_payments"),
    ("UPDATE events SET payload = replace(payload, '\"net_amount\":1000', '\"net_amount\":999')", "events_equal_payments"),
    ("UPDATE events SET payload = replace(payload, '\"refunded_amount\":300', '\"refunded_amount\":299')", "events_equal_payments"),
    ("UPDATE events SET payload = replace(payload, '\"bank_account\":\"', '\"bank_account\":\"9')", "events_equal_payments"),
    ("UPDATE events SET payload = replace(payload, '\"customer_name\":\"', '\"customer_name\":\"Not ')", "events_equal_payments"),
    ("UPDATE events SET payload = replace(payload, '\"customer_data\":{', '\"customer_data\":{\"note\":\"a note\",')", "events_equal_payments"),
    ("UPDATE events SET created_at = created_at + 5", "events_equal_payments"),
    ("DELETE FROM events WHERE type LIKE 'payout.%'", "events_equal_payments"),
    ("UPDATE payments SET document = replace(document, '\"bank_account\":\"', '\"bank_account\":\"9')", "events_equal_payments"),
    ("UPDATE payments SET merchant_reference = 'another' WHERE status = 'processing' AND type = 'deposit'", "events_equal_payments"),
    ("UPDATE payments SET document = '{}'", "payments_can_be_read"),
    ("UPDATE payments SET document = 'no JSON'", "payments_can_be_read"),
    ("UPDATE work SET due_at = 9000000000000000 WHERE queue = 'settlement'", "open_payments_are_due"),
    ("UPDATE work SET due_at = due_at + 10000000000 WHERE queue = 'settlement' AND action = 'expire'", "open_payments_are_due"),
    (
        "UPDATE payments SET rail = 'http:acme' WHERE type = 'withdrawal' AND status = 'pending';
        UPDATE work SET due_at = due_at + 7200000 WHERE queue = 'settlement' AND action = 'submit'",
        "open_payments_are_due",
    ),
    ("UPDATE deliveries SET due_at = due_at + 40000000000 WHERE status = 0", "deliveries_are_due"),
    ("UPDATE work SET action = 'nothing' WHERE queue = 'settlement'", "open_payments_are_due"),
    ("UPDATE work SET action = 'submit' WHERE queue = 'settlement'", "open_payments_are_due"),
    ("DELETE FROM webhook_endpoints", "rows_belong_together"),
    ("UPDATE deliveries SET endpoint_id = 'nobody'", "rows_belong_together"),
    ("DELETE FROM payment_pages", "rows_belong_together"),
    ("UPDATE refunds SET amount = 250", "entries_equal_payments"),
    ("UPDATE refunds SET amount = 500 - amount", "events_equal_payments"),
    (
        "UPDATE events SET payload = replace(payload, '\"refunded_amount\":0', '\"refunded_amount\":1')
            WHERE status_version = 1 AND payment_id = (SELECT MIN(payment_id) FROM refunds)",
        "events_equal_payments",
    ),
    ("UPDATE payments SET late = NOT late, holds_reference = NOT holds_reference WHERE status = 'completed'", "events_equal_payments"),
    ("UPDATE payments SET late = NOT late, holds_reference = NOT holds_reference WHERE status = 'processing'", "events_equal_payments"),
    ("UPDATE payments SET completed_at = NULL WHERE status = 'completed'", "events_equal_payments"),
    ("UPDATE payments SET completed_at = completed_at - 86400000 WHERE status = 'partial_refund'", "events_equal_payments"),
    ("UPDATE payments SET completed_at = created_at WHERE status = 'cancelled'", "events_equal_payments"),
    ("UPDATE payments SET received_amount = amount WHERE status = 'processing'", "events_equal_payments"),
    ("UPDATE payments SET received_amount = amount + 1 WHERE type = 'withdrawal' AND status = 'completed'", "events_equal_payments"),
    (
        "INSERT INTO events SELECT merchant_id, environment, 'evt_0', NULL, type, NULL, NULL, NULL, replace(payload, id, 'evt_0'),
            created_at FROM events WHERE type = 'payment.cancelled'",
        "events_equal_payments",
    ),
    (
        "INSERT INTO callbacks SELECT 'acme 1', 'hrd_1', merchant_id, environment, 'acme', '1', 'completed', id, id, amount,
            currency, NULL, NULL, NULL, 'parked', created_at FROM payments WHERE status = 'cancelled'",
        "receipts_equal_callbacks",
    ),
    (
        "INSERT INTO callbacks SELECT 'acme 1', 'hrd_1', merchant_id, environment, 'acme', '1', 'completed', id, id, amount,
            currency, NULL, NULL, NULL, 'parked', created_at FROM payments WHERE status = 'cancelled';
        INSERT INTO receipts SELECT merchant_id, environment, 'rcp_1', id, 'acme', '1', 'completed', id, amount + 1, currency,
            'amount_mismatch', created_at, NULL, NULL, 1, NULL FROM payments WHERE status = 'cancelled'",
        "receipts_equal_callbacks",
    ),
    (
        "INSERT INTO bank_exports SELECT merchant_id, environment, 'exp_0', currency, method, late, created_at
            FROM payments WHERE status = 'cancelled'",
        "rows_belong_together",
    ),
    (
        "INSERT INTO bank_export_payments SELECT merchant_id, environment, id, 'exp_0' FROM payments WHERE status = 'cancelled'",
        "rows_belong_together",
    ),
    ("DROP TABLE seals", "schema_as_migrated"),
    (
        "UPDATE entries SET amount = 9223372036854775807 WHERE reason = 'deposit_completed' AND account = 'available'",
        "numbers_in_range",
    ),
    ("UPDATE refunds SET amount = 9223372036854775807", "numbers_in_range"),
    (BEYOND_ADDITION, "numbers_in_range"),
    ("UPDATE payments SET fee = -1 WHERE status = 'processing'", "numbers_in_range"),
    ("UPDATE payments SET expires_at = 9223372036854775807 WHERE status = 'processing'", "numbers_in_range"),
    ("UPDATE payments SET created_at = 9223372036854775807 WHERE status = 'processing'", "numbers_in_range"),
    ("UPDATE work SET due_at = 9223372036854775807 WHERE queue = 'settlement'", "numbers_in_range"),
    (
        "UPDATE audit_log SET after = replace(after, '100000', '999999999999999999') WHERE action = 'balance.adjust'",
        "numbers_in_range",
    ),
    ("UPDATE events SET status_version = 2147483647 WHERE status = 'cancelled'", "status_versions_gapless"),
    (
        "INSERT INTO entries SELECT merchant_id, environment, 'zz', 1, currency, 'available', 100, 'withdrawal_completed', id,
            created_at FROM payments WHERE status = 'cancelled';
        INSERT INTO entries SELECT merchant_id, environment, 'zz', 2, currency, 'adjustments', -100, 'withdrawal_completed', id,
            created_at FROM payments WHERE status = 'cancelled';
        UPDATE balances SET available = available + 100, adjustment = adjustment + 100",
        "entries_equal_payments",
    ),
    (
        "INSERT INTO entries SELECT merchant_id, environment, 'zz', 2, currency, 'available', 100, 'refund', NULL, created_at
            FROM payments WHERE status = 'cancelled';
        INSERT INTO entries SELECT merchant_id, environment, 'zz', 3, currency, 'adjustments', -100, 'refund', NULL, created_at
            FROM payments WHERE status = 'cancelled';
        UPDATE balances SET available = available + 100, adjustment = adjustment + 100",
        "entries_equal_payments",
    ),
];

const TAMPERED_IN_SQLITE: [(&str, &str); 14] = [
    (BEYOND_ADDITION, "numbers_in_range"),
    ("DELETE FROM merchants", "rows_belong_together"),
    ("UPDATE merchants SET id = id + 1", "rows_belong_together"),
    ("DROP TRIGGER entries_are_never_updated", "schema_as_migrated"),
    ("DROP TRIGGER audit_log_is_never_replaced", "schema_as_migrated"),
    ("CREATE TRIGGER mine AFTER INSERT ON payments BEGIN DELETE FROM events; END", "schema_as_migrated"),
    ("CREATE TRIGGER __diesel_mine AFTER INSERT ON payments BEGIN DELETE FROM events; END", "schema_as_migrated"),
    (
        "DROP TRIGGER entries_are_never_updated; CREATE TRIGGER entries_are_never_updated BEFORE UPDATE ON entries
            BEGIN SELECT RAISE (ABORT, 'entries --') WHERE 0 AND ('x\nare never changed'); END",
        "schema_as_migrated",
    ),
    ("DROP INDEX payments_holding_reference", "schema_as_migrated"),
    ("ALTER TABLE refunds ADD COLUMN mine TEXT", "schema_as_migrated"),
    ("UPDATE payments SET document = CAST(X'FF' AS TEXT) WHERE status = 'completed'", "payments_can_be_read"),
    ("UPDATE chains SET hash = CAST(X'FF' AS TEXT) WHERE book = 'entries'", "entries_as_sealed"),
    ("UPDATE chains SET hash = CAST(X'FF' AS TEXT) WHERE book = 'audit_log'", "audit_log_as_sealed"),
    (
        "PRAGMA ignore_check_constraints = ON; UPDATE payments SET amount = 0 WHERE status = 'processing'",
        "file_integrity",
    ),
];
const TAMPERED_IN_POSTGRES: [(&str, &str); 22] = [
    (BEYOND_ADDITION, "numbers_in_range"),
    ("UPDATE payment_classes SET class = replace(class, 'completed/', 'failed/')", "classes_equal_payments"),
    ("DELETE FROM payment_classes WHERE class LIKE 'cancelled/%'", "classes_equal_payments"),
    ("ALTER TABLE payments DISABLE TRIGGER payments_are_classed", "schema_as_migrated"),
    ("ALTER TABLE entries DISABLE TRIGGER entries_are_never_changed", "schema_as_migrated"),
    ("DROP TRIGGER audit_log_is_never_changed ON audit_log", "schema_as_migrated"),
    (
        "CREATE OR REPLACE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NULL; END $$",
        "schema_as_migrated",
    ),
    ("DROP INDEX payments_holding_reference", "schema_as_migrated"),
    ("ALTER TABLE balances DROP CONSTRAINT balances_check", "schema_as_migrated"),
    ("CREATE RULE mine AS ON INSERT TO audit_log DO INSTEAD NOTHING", "schema_as_migrated"),
    ("ALTER TABLE merchants DISABLE TRIGGER ALL", "schema_as_migrated"),
    (
        "UPDATE pg_index SET indisready = FALSE WHERE indexrelid = CAST('payments_holding_reference' AS regclass)",
        "schema_as_migrated",
    ),
    ("ALTER TABLE payments ALTER COLUMN fee DROP NOT NULL", "schema_as_migrated"),
    ("ALTER TABLE payments ALTER COLUMN fee TYPE NUMERIC", "schema_as_migrated"),
    ("ALTER TABLE refunds SET UNLOGGED", "schema_as_migrated"),
    ("ALTER TABLE refunds ENABLE ROW LEVEL SECURITY", "schema_as_migrated"),
    (
        "CREATE TRIGGER tickets_by_text_x AFTER INSERT ON entries FOR EACH STATEMENT EXECUTE FUNCTION refuse_change()",
        "schema_as_migrated",
    ),
    (
        "CREATE TRIGGER mine AFTER INSERT ON payments FOR EACH STATEMENT EXECUTE FUNCTION refuse_change()",
        "schema_as_migrated",
    ),
    (
        "DROP TRIGGER entries_are_never_changed ON entries; CREATE TRIGGER entries_are_never_changed
            BEFORE TRUNCATE ON entries FOR EACH STATEMENT EXECUTE FUNCTION refuse_change()",
        "schema_as_migrated",
    ),
    (
        "CREATE OR REPLACE TRIGGER entries_are_never_changed BEFORE UPDATE OR DELETE OR TRUNCATE ON entries
            FOR EACH STATEMENT WHEN (FALSE) EXECUTE FUNCTION refuse_change()",
        "schema_as_migrated",
    ),
    (
        "DROP INDEX payments_holding_reference; CREATE INDEX payments_holding_reference
            ON payments (merchant_id, environment, merchant_reference) WHERE holds_reference",
        "schema_as_migrated",
    ),
    (
        "ALTER TABLE balances DROP CONSTRAINT balances_check; ALTER TABLE balances ADD CONSTRAINT balances_check CHECK (TRUE)",
        "schema_as_migrated",
    ),
];

/// The same for what the two databases do each in its own words.
pub(super) const fn tampered_in(database: Database) -> &'static [(&'static str, &'static str)] {
    match database {
        Database::Sqlite => &TAMPERED_IN_SQLITE,
        Database::Postgres => &TAMPERED_IN_POSTGRES,
    }
}

/// What keeps the books append-only, out of the way.
pub(super) fn unguarded(database: Database) -> &'static str {
    match database {
        Database::Sqlite => {
            "DROP TRIGGER entries_are_never_updated; DROP TRIGGER entries_are_never_deleted;
             DROP TRIGGER audit_log_is_never_updated; DROP TRIGGER audit_log_is_never_deleted;
             DROP TRIGGER seals_are_never_updated; DROP TRIGGER seals_are_never_deleted"
        }
        Database::Postgres => {
            "ALTER TABLE entries DISABLE TRIGGER USER; ALTER TABLE audit_log DISABLE TRIGGER USER;
             ALTER TABLE seals DISABLE TRIGGER USER"
        }
    }
}

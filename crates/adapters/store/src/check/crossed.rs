//! Facts that two tables store must agree: payments with their events, references and work; corrections with
//! the lines of the audit log that name their authors.
//!
//! The bytes of an event are searched and not parsed as JSON, since a forged event might not be JSON. `instr`
//! is SQLite's function; on a server it has another name, see [`super::dialect`].

/// A payment holds its reference until its status frees it, and a late completion does not claim it again.
pub(super) const REFERENCES: &str = "
    SELECT CAST(merchant_id AS TEXT) || '/' || environment || ' ' || id AS subject,
        'is ' || status || CASE WHEN late THEN ', late,' ELSE '' END || ' and '
            || CASE WHEN holds_reference THEN 'holds' ELSE 'does not hold' END || ' its reference' AS detail
    FROM payments
    WHERE holds_reference <> (status NOT IN ('failed', 'expired', 'cancelled') AND NOT late)
    LIMIT 100";

/// The columns of an event agree with its bytes: its identifier, its merchant, and the step of the payment.
pub(super) const EVENT_BYTES: &str = "
    SELECT CAST(event.merchant_id AS TEXT) || '/' || event.environment || ' event ' || event.id AS subject,
        'the bytes of ' || event.type || ' do not say what its row says' AS detail
    FROM events AS event
    WHERE instr(event.payload, '{\"id\":\"' || event.id || '\",\"type\":\"' || event.type || '\"') <> 1
        OR instr(event.payload, '\"merchant_id\":' || CAST(event.merchant_id AS TEXT) || ',\"environment\":\"'
            || event.environment || '\",\"data\":{') = 0
        OR substr(event.payload, length(event.payload) - 1) <> '}}'
        OR event.payment_id IS NOT NULL AND (
            instr(event.payload, '\"data\":{\"status_version\":' || CAST(event.status_version AS TEXT) || ',') = 0
            OR instr(event.payload, '\"transaction_id\":\"' || event.payment_id || '\"') = 0
            OR instr(event.payload, '\"status\":\"' || event.status || '\",\"previous_status\":'
                || COALESCE('\"' || event.previous_status || '\"', 'null') || ',\"status_version\":'
                || CAST(event.status_version AS TEXT) || ',') = 0)
    LIMIT 100";

/// An event about a payment names it.
pub(super) const EVENT_OF_NOTHING: &str = "
    SELECT CAST(merchant_id AS TEXT) || '/' || environment || ' event ' || id AS subject,
        type || ' is about no payment' AS detail
    FROM events WHERE payment_id IS NULL AND (type LIKE 'payment.%' OR type LIKE 'payout.%')
    LIMIT 100";

/// A payment completed when its history says so, and late if it had ended before. Only a deposit that completed has
/// another amount than the agreed one.
pub(super) const COMPLETIONS: &str = "
    SELECT CAST(payment.merchant_id AS TEXT) || '/' || payment.environment || ' ' || payment.id AS subject,
        CASE WHEN payment.late THEN 'completed late, at ' ELSE 'completed at ' END
            || COALESCE(CAST(payment.completed_at AS TEXT), 'no time') || ' with '
            || COALESCE(CAST(payment.received_amount AS TEXT), 'the agreed amount') || '; its history has it completed at '
            || COALESCE(CAST(step.created_at AS TEXT) || ' from ' || step.previous_status, 'no time') AS detail
    FROM payments AS payment LEFT JOIN events AS step ON step.merchant_id = payment.merchant_id
        AND step.environment = payment.environment AND step.payment_id = payment.id
        AND step.type = 'payment.completed'
    WHERE payment.completed_at IS DISTINCT FROM step.created_at
        OR payment.late <> COALESCE(step.previous_status IN ('expired', 'cancelled'), FALSE)
        OR payment.received_amount IS NOT NULL
            AND (step.id IS NULL OR payment.type NOT IN ('deposit', 'deposit_pp'))
    LIMIT 100";

/// Each event about a refund tells of a sum that has grown by a refund of that time.
pub(super) const EVENTS_OF_REFUNDS: &str = "
    WITH totals AS (
        SELECT merchant_id, environment, payment_id, created_at, status_version, REFUNDED_OF(payload) AS total
        FROM events WHERE type = 'payment.refunded'
    ), told AS (
        SELECT totals.merchant_id, totals.environment, totals.payment_id, totals.created_at,
            total - COALESCE(LAG(total) OVER history, 0) AS amount
        FROM totals JOIN payments AS payment ON payment.merchant_id = totals.merchant_id
            AND payment.environment = totals.environment AND payment.id = totals.payment_id
        WHERE payment.type IN ('deposit', 'deposit_pp')
        WINDOW history AS (
            PARTITION BY totals.merchant_id, totals.environment, totals.payment_id ORDER BY totals.status_version
        )
    )
    SELECT CAST(merchant_id AS TEXT) || '/' || environment || ' ' || payment_id AS subject,
        'has ' || CAST(SUM(repaid) AS TEXT) || ' refunds of ' || COALESCE(CAST(amount AS TEXT), 'no amount') || ' at '
            || CAST(created_at AS TEXT) || '; its events tell of ' || CAST(SUM(told) AS TEXT) AS detail
    FROM (
        SELECT merchant_id, environment, payment_id, created_at, amount, 0 AS repaid, 1 AS told FROM told
        UNION ALL
        SELECT merchant_id, environment, payment_id, created_at, amount, 1, 0 FROM refunds
    ) AS one
    GROUP BY merchant_id, environment, payment_id, created_at, amount
    HAVING SUM(repaid) <> SUM(told)
    LIMIT 100";

/// A receipt tells of an event of a rail that was parked, and every such event has one.
pub(super) const RECEIPTS: &str = "
    SELECT CAST(merchant_id AS TEXT) || '/' || environment || ' event ' || name AS subject,
        CASE WHEN SUM(parked) = 0 THEN 'was not parked as its receipt says' ELSE 'has no receipt that says the same' END
            AS detail
    FROM (
        SELECT merchant_id, environment, name, payment_id, type, rail_reference, amount, currency, 0 AS receipts,
            1 AS parked
        FROM callbacks WHERE outcome = 'parked'
        UNION ALL
        SELECT merchant_id, environment, rail || ' ' || event_id, payment_id, type, rail_reference, amount, currency, 1, 0
        FROM receipts
    ) AS one
    GROUP BY merchant_id, environment, name, payment_id, type, rail_reference, amount, currency
    HAVING SUM(receipts) <> SUM(parked)
    LIMIT 100";

/// An event has the terms of its payment, which never change.
pub(super) const EVENT_TERMS: &str = "
    SELECT CAST(event.merchant_id AS TEXT) || '/' || event.environment || ' event ' || event.id AS subject,
        COALESCE('tells other terms than those of ' || payment.id, 'tells of ' || event.payment_id
            || ', which there is not') AS detail
    FROM events AS event LEFT JOIN payments AS payment ON payment.merchant_id = event.merchant_id
        AND payment.environment = event.environment AND payment.id = event.payment_id
    WHERE event.payment_id IS NOT NULL AND (payment.id IS NULL
        OR instr(event.payload, '\"type\":\"' || payment.type || '\",\"method\":\"' || payment.method
            || '\",\"currency\":\"' || payment.currency || '\",\"amount\":' || CAST(payment.amount AS TEXT) || ',') = 0)
    LIMIT 100";

/// A payment was written at least as often as its status changed.
pub(super) const REVISIONS: &str = "
    SELECT CAST(merchant_id AS TEXT) || '/' || environment || ' ' || id AS subject,
        'was written ' || CAST(revision AS TEXT) || ' times and changed its status '
            || CAST(status_version AS TEXT) || ' times' AS detail
    FROM payments WHERE revision < status_version
    LIMIT 100";

/// Every open deposit, and every open withdrawal on a provider's rail, has a row of work. On other rails a
/// withdrawal may wait for a person, or for nothing in the simulator.
pub(super) const OPEN_IS_DUE: &str = "
    SELECT CAST(payment.merchant_id AS TEXT) || '/' || payment.environment || ' ' || payment.id AS subject,
        'is ' || payment.status || ', and nothing will be done about it' AS detail
    FROM payments AS payment LEFT JOIN work ON work.queue = 'settlement' AND work.merchant_id = payment.merchant_id
        AND work.environment = payment.environment AND work.subject = payment.id
    WHERE work.subject IS NULL AND (
        payment.type IN ('deposit', 'deposit_pp') AND payment.status = 'processing'
        OR payment.type IN ('withdrawal', 'withdrawal_pp') AND payment.rail LIKE 'http:%' AND (payment.status = 'pending'
            OR payment.status = 'processing' AND NOT EXISTS (SELECT 1 FROM audit_log AS line
                WHERE line.subject = 'payment/' || payment.id AND line.action = 'payment.submit')))
    LIMIT 100";

/// Every payment with a row of work is open, except a withdrawal that the simulator is about to return.
pub(super) const DUE_IS_OPEN: &str = "
    SELECT CAST(work.merchant_id AS TEXT) || '/' || work.environment || ' ' || work.subject AS subject,
        'is due, but ' || COALESCE('is ' || payment.status, 'there is no such payment') AS detail
    FROM work LEFT JOIN payments AS payment ON payment.merchant_id = work.merchant_id
        AND payment.environment = work.environment AND payment.id = work.subject
    WHERE work.queue = 'settlement' AND COALESCE(payment.status, '') NOT IN ('pending', 'processing')
        AND NOT (payment.rail = 'simulator' AND payment.status = 'completed' AND work.action = 'ask'
            AND payment.type IN ('withdrawal', 'withdrawal_pp'))
    LIMIT 100";

/// Due work can be done, and is due within a year unless the payment itself waits for longer. A payment
/// expires when its time is over, and a payout goes to its provider at once; only work that fails then is
/// tried again after an hour.
pub(super) const DUE_IN_TIME: &str = "
    SELECT CAST(work.merchant_id AS TEXT) || '/' || work.environment || ' ' || work.subject AS subject,
        'is to ' || work.action || CASE WHEN work.due_at > NOW() THEN ' too late' ELSE '' END AS detail
    FROM work JOIN payments AS payment ON payment.merchant_id = work.merchant_id
        AND payment.environment = work.environment AND payment.id = work.subject
    WHERE work.queue = 'settlement' AND (work.action NOT IN ('submit', 'ask', 'expire')
        OR work.action = 'submit' AND payment.type NOT IN ('withdrawal', 'withdrawal_pp')
        OR work.action = 'expire' AND (payment.type = 'withdrawal'
            OR payment.type = 'withdrawal_pp' AND payment.status <> 'pending')
        OR work.action = 'ask' AND payment.status = 'pending' AND payment.rail LIKE 'http:%'
        OR work.action = 'expire' AND work.due_at > NOW() + 3660000
            AND work.due_at > COALESCE(payment.expires_at, work.due_at) + 60000
        OR work.action = 'submit' AND work.due_at > NOW() + 3660000 AND payment.rail LIKE 'http:%'
        OR work.due_at > NOW() + 31622400000 AND work.due_at > COALESCE(payment.expires_at, 0)
        OR work.due_since > NOW() + 31622400000 AND work.due_since > COALESCE(payment.expires_at, 0))
    LIMIT 100";

/// Pending deliveries are due within a year.
pub(super) const DELIVERIES_IN_TIME: &str = "
    SELECT CAST(merchant_id AS TEXT) || '/' || environment || ' event ' || event_id AS subject,
        'is to be delivered to ' || endpoint_id || ' too late' AS detail
    FROM deliveries WHERE status = 0 AND due_at > NOW() + 31622400000
    LIMIT 100";

/// Every correction of a balance has a line in the audit log, and every such line has entries of its amount.
pub(super) const ADJUSTMENTS: &str = "
    WITH moved AS (
        SELECT 'balance/' || CAST(merchant_id AS TEXT) || '/' || environment || '/' || currency AS subject,
            COUNT(*) AS count, SUM(amount) AS amount
        FROM entries WHERE reason = 'adjustment' AND account = 'available'
        GROUP BY merchant_id, environment, currency
    ), told AS (
        SELECT subject, COUNT(*) AS count, SUM(AMOUNT_OF(after)) AS amount
        FROM audit_log WHERE action = 'balance.adjust' GROUP BY subject
    )
    SELECT COALESCE(moved.subject, told.subject) AS subject,
        CAST(COALESCE(moved.count, 0) AS TEXT) || ' corrections of ' || CAST(COALESCE(moved.amount, 0) AS TEXT)
            || ' in all; the audit log tells of ' || CAST(COALESCE(told.count, 0) AS TEXT) || ' of '
            || CAST(COALESCE(told.amount, 0) AS TEXT) AS detail
    FROM moved FULL JOIN told ON moved.subject = told.subject
    WHERE COALESCE(moved.count, 0) <> COALESCE(told.count, 0)
        OR COALESCE(moved.amount, 0) <> COALESCE(told.amount, 0)
    LIMIT 100";

/// Every payment is in the class of its status, type, method and currency, and in no other.
pub(super) const CLASSES: &str = "
    WITH expected AS (
        SELECT merchant_id, environment, id, status || '/' || type || '/' || method || '/' || currency AS class FROM payments
    )
    SELECT COALESCE(expected.id, found.id) AS subject,
        CASE WHEN expected.id IS NULL THEN 'listed as ' || found.class || ', which it is not'
            ELSE 'not listed as ' || expected.class END AS detail
    FROM expected FULL JOIN payment_classes AS found ON found.merchant_id = expected.merchant_id
        AND found.environment = expected.environment AND found.id = expected.id AND found.class = expected.class
    WHERE expected.id IS NULL OR found.id IS NULL
    LIMIT 100";

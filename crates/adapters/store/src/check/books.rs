//! Checks of money: balances, entries, and the payments for which they were posted.

/// Every balance is the sum of its entries. Entries on platform accounts count with the opposite sign, as in
/// `Balance::add` of the ledger.
pub(super) const BALANCES: &str = "
    WITH summed AS (
        SELECT merchant_id, environment, currency,
            SUM(CASE WHEN account = 'available' THEN amount ELSE 0 END) AS available,
            SUM(CASE WHEN account = 'frozen' THEN amount ELSE 0 END) AS frozen,
            SUM(CASE WHEN account = 'clearing' AND reason NOT IN ('withdrawal_completed', 'withdrawal_returned')
                THEN -amount ELSE 0 END) AS deposit,
            SUM(CASE WHEN account = 'clearing' AND reason IN ('withdrawal_completed', 'withdrawal_returned')
                THEN amount ELSE 0 END) AS withdrawal,
            SUM(CASE WHEN account = 'revenue' THEN amount ELSE 0 END) AS commission,
            SUM(CASE WHEN account = 'adjustments' THEN -amount ELSE 0 END) AS adjustment
        FROM entries GROUP BY merchant_id, environment, currency
    ), compared AS (
        SELECT COALESCE(kept.merchant_id, summed.merchant_id) AS merchant_id,
            COALESCE(kept.environment, summed.environment) AS environment,
            COALESCE(kept.currency, summed.currency) AS currency,
            COALESCE(kept.available, 0) AS available, COALESCE(summed.available, 0) AS sum_available,
            COALESCE(kept.frozen, 0) AS frozen, COALESCE(summed.frozen, 0) AS sum_frozen,
            COALESCE(kept.deposit, 0) AS deposit, COALESCE(summed.deposit, 0) AS sum_deposit,
            COALESCE(kept.withdrawal, 0) AS withdrawal, COALESCE(summed.withdrawal, 0) AS sum_withdrawal,
            COALESCE(kept.commission, 0) AS commission, COALESCE(summed.commission, 0) AS sum_commission,
            COALESCE(kept.adjustment, 0) AS adjustment, COALESCE(summed.adjustment, 0) AS sum_adjustment
        FROM balances AS kept FULL JOIN summed ON kept.merchant_id = summed.merchant_id
            AND kept.environment = summed.environment AND kept.currency = summed.currency
    )
    SELECT CAST(merchant_id AS TEXT) || '/' || environment || ' ' || currency AS subject,
        'kept ' || CAST(available AS TEXT) || ' available, ' || CAST(frozen AS TEXT) || ' frozen, '
            || CAST(deposit AS TEXT) || ' deposit, ' || CAST(withdrawal AS TEXT) || ' withdrawal, '
            || CAST(commission AS TEXT) || ' commission, ' || CAST(adjustment AS TEXT) || ' adjustment; entries sum to '
            || CAST(sum_available AS TEXT) || ', ' || CAST(sum_frozen AS TEXT) || ', ' || CAST(sum_deposit AS TEXT)
            || ', ' || CAST(sum_withdrawal AS TEXT) || ', ' || CAST(sum_commission AS TEXT) || ', '
            || CAST(sum_adjustment AS TEXT) AS detail
    FROM compared
    WHERE available <> sum_available OR frozen <> sum_frozen OR deposit <> sum_deposit
        OR withdrawal <> sum_withdrawal OR commission <> sum_commission OR adjustment <> sum_adjustment
    LIMIT 100";

/// The entries of every transaction sum to zero, in one currency.
pub(super) const TRANSACTIONS: &str = "
    SELECT CAST(merchant_id AS TEXT) || '/' || environment || ' transaction ' || transaction_id AS subject,
        'the entries sum to ' || CAST(SUM(amount) AS TEXT) AS detail
    FROM entries GROUP BY merchant_id, environment, transaction_id
    HAVING SUM(amount) <> 0 OR MIN(currency) <> MAX(currency)
    LIMIT 100";

/// The steps in a payment's history follow each other: versions have no gap, and each step begins with the
/// status in which the one before ended.
pub(super) const STEPS: &str = "
    WITH steps AS (
        SELECT merchant_id, environment, payment_id, status_version, previous_status,
            LAG(status_version) OVER history AS version_before, LAG(status) OVER history AS status_before
        FROM events WHERE payment_id IS NOT NULL AND type LIKE 'payment.%'
        WINDOW history AS (PARTITION BY merchant_id, environment, payment_id ORDER BY status_version)
    )
    SELECT CAST(merchant_id AS TEXT) || '/' || environment || ' ' || payment_id AS subject,
        'version ' || COALESCE(CAST(status_version AS TEXT), 'nothing') || ' from ' || COALESCE(previous_status, 'nothing')
            || ' follows version ' || CAST(COALESCE(version_before, 0) AS TEXT) || ' '
            || COALESCE(status_before, 'nothing') AS detail
    FROM steps
    WHERE status_version IS DISTINCT FROM COALESCE(CAST(version_before AS BIGINT), 0) + 1 OR previous_status IS DISTINCT FROM status_before
    LIMIT 100";

/// The last step in the history of a payment has the payment's status and version.
pub(super) const ENDS: &str = "
    SELECT CAST(payment.merchant_id AS TEXT) || '/' || payment.environment || ' ' || payment.id AS subject,
        'stands at version ' || CAST(payment.status_version AS TEXT) || ' ' || payment.status || '; its history has '
            || COALESCE(CAST(step.status_version AS TEXT) || ' ' || step.status, 'no such step') AS detail
    FROM payments AS payment LEFT JOIN events AS step ON step.merchant_id = payment.merchant_id
        AND step.environment = payment.environment AND step.payment_id = payment.id
        AND step.status_version >= payment.status_version AND step.type LIKE 'payment.%'
    WHERE step.status_version IS DISTINCT FROM payment.status_version OR step.status IS DISTINCT FROM payment.status
    LIMIT 100";

/// The frozen total is the sum that open withdrawals hold.
pub(super) const FROZEN: &str = "
    WITH held AS (
        SELECT merchant_id, environment, currency, SUM(amount + fee) AS frozen FROM payments
        WHERE status IN ('pending', 'processing') AND type IN ('withdrawal', 'withdrawal_pp')
        GROUP BY merchant_id, environment, currency
    )
    SELECT CAST(COALESCE(kept.merchant_id, held.merchant_id) AS TEXT) || '/'
            || COALESCE(kept.environment, held.environment) || ' ' || COALESCE(kept.currency, held.currency) AS subject,
        'frozen ' || CAST(COALESCE(kept.frozen, 0) AS TEXT) || '; open withdrawals hold '
            || CAST(COALESCE(held.frozen, 0) AS TEXT) AS detail
    FROM balances AS kept FULL JOIN held ON kept.merchant_id = held.merchant_id
        AND kept.environment = held.environment AND kept.currency = held.currency
    WHERE COALESCE(kept.frozen, 0) <> COALESCE(held.frozen, 0)
    LIMIT 100";

/// The totals follow from the finished payments. A payment that completed without its money shows here, as
/// does money that moved without a payment.
pub(super) const TOTALS: &str = "
    WITH moved AS (
        SELECT merchant_id, environment, currency,
            SUM(CASE WHEN type IN ('deposit', 'deposit_pp') AND status IN ('completed', 'partial_refund', 'refunded')
                THEN COALESCE(received_amount, amount) - refunded_amount ELSE 0 END) AS deposit,
            SUM(CASE WHEN type IN ('withdrawal', 'withdrawal_pp') AND status = 'completed'
                THEN amount ELSE 0 END) AS withdrawal,
            SUM(CASE WHEN status IN ('completed', 'partial_refund', 'refunded') THEN fee ELSE 0 END) AS commission
        FROM payments GROUP BY merchant_id, environment, currency
    )
    SELECT CAST(COALESCE(kept.merchant_id, moved.merchant_id) AS TEXT) || '/'
            || COALESCE(kept.environment, moved.environment) || ' ' || COALESCE(kept.currency, moved.currency) AS subject,
        'kept ' || CAST(COALESCE(kept.deposit, 0) AS TEXT) || ' deposit, '
            || CAST(COALESCE(kept.withdrawal, 0) AS TEXT) || ' withdrawal, '
            || CAST(COALESCE(kept.commission, 0) AS TEXT) || ' commission; payments sum to '
            || CAST(COALESCE(moved.deposit, 0) AS TEXT) || ', ' || CAST(COALESCE(moved.withdrawal, 0) AS TEXT) || ', '
            || CAST(COALESCE(moved.commission, 0) AS TEXT) AS detail
    FROM balances AS kept FULL JOIN moved ON kept.merchant_id = moved.merchant_id
        AND kept.environment = moved.environment AND kept.currency = moved.currency
    WHERE COALESCE(kept.deposit, 0) <> COALESCE(moved.deposit, 0)
        OR COALESCE(kept.withdrawal, 0) <> COALESCE(moved.withdrawal, 0)
        OR COALESCE(kept.commission, 0) <> COALESCE(moved.commission, 0)
    LIMIT 100";

/// Each payment has exactly the entries that follow from its kind, amount, fee, refunds and status, each once
/// and in its own currency; and every refund has its row.
pub(super) const ENTRIES: &str = "
    WITH moved AS (
        SELECT merchant_id, environment, payment_id, MIN(currency) AS currency, MAX(currency) AS other_currency,
            SUM(CASE WHEN reason = 'deposit_completed' AND account = 'clearing' THEN 1 ELSE 0 END) AS deposits,
            SUM(CASE WHEN reason = 'deposit_completed' AND account = 'clearing' THEN amount ELSE 0 END) AS deposit_clearing,
            SUM(CASE WHEN reason = 'deposit_completed' AND account = 'available' THEN amount ELSE 0 END) AS deposit_available,
            SUM(CASE WHEN reason = 'deposit_completed' AND account = 'revenue' THEN amount ELSE 0 END) AS deposit_revenue,
            SUM(CASE WHEN reason = 'refund' AND account = 'clearing' THEN 1 ELSE 0 END) AS refunds,
            SUM(CASE WHEN reason = 'refund' AND account = 'clearing' THEN amount ELSE 0 END) AS refund_clearing,
            SUM(CASE WHEN reason = 'refund' AND account = 'available' THEN amount ELSE 0 END) AS refund_available,
            SUM(CASE WHEN reason = 'withdrawal_created' AND account = 'frozen' THEN 1 ELSE 0 END) AS creations,
            SUM(CASE WHEN reason = 'withdrawal_created' AND account = 'frozen' THEN amount ELSE 0 END) AS created_frozen,
            SUM(CASE WHEN reason = 'withdrawal_created' AND account = 'available' THEN amount ELSE 0 END) AS created_available,
            SUM(CASE WHEN reason = 'withdrawal_completed' AND account = 'frozen' THEN 1 ELSE 0 END) AS completions,
            SUM(CASE WHEN reason = 'withdrawal_completed' AND account = 'frozen' THEN amount ELSE 0 END) AS completed_frozen,
            SUM(CASE WHEN reason = 'withdrawal_completed' AND account = 'clearing' THEN amount ELSE 0 END) AS completed_clearing,
            SUM(CASE WHEN reason = 'withdrawal_completed' AND account = 'revenue' THEN amount ELSE 0 END) AS completed_revenue,
            SUM(CASE WHEN reason = 'withdrawal_released' AND account = 'frozen' THEN 1 ELSE 0 END) AS releases,
            SUM(CASE WHEN reason = 'withdrawal_released' AND account = 'frozen' THEN amount ELSE 0 END) AS released_frozen,
            SUM(CASE WHEN reason = 'withdrawal_released' AND account = 'available' THEN amount ELSE 0 END) AS released_available,
            SUM(CASE WHEN reason = 'withdrawal_returned' AND account = 'clearing' THEN 1 ELSE 0 END) AS returns,
            SUM(CASE WHEN reason = 'withdrawal_returned' AND account = 'clearing' THEN amount ELSE 0 END) AS returned_clearing,
            SUM(CASE WHEN reason = 'withdrawal_returned' AND account = 'available' THEN amount ELSE 0 END) AS returned_available
        FROM entries WHERE payment_id IS NOT NULL GROUP BY merchant_id, environment, payment_id
    ), repaid AS (
        SELECT merchant_id, environment, payment_id, COUNT(*) AS refunds, SUM(amount) AS total FROM refunds
        GROUP BY merchant_id, environment, payment_id
    ), expected AS (
        SELECT merchant_id, environment, id, status, currency, amount, fee, refunded_amount,
            COALESCE(received_amount, amount) AS received,
            CASE WHEN type IN ('deposit', 'deposit_pp') AND status IN ('completed', 'partial_refund', 'refunded')
                THEN 1 ELSE 0 END AS deposited,
            CASE WHEN type IN ('withdrawal', 'withdrawal_pp') THEN 1 ELSE 0 END AS created,
            CASE WHEN type IN ('withdrawal', 'withdrawal_pp') AND status IN ('completed', 'refunded')
                THEN 1 ELSE 0 END AS completed,
            CASE WHEN type IN ('withdrawal', 'withdrawal_pp') AND status IN ('failed', 'cancelled', 'expired')
                THEN 1 ELSE 0 END AS released,
            CASE WHEN type IN ('withdrawal', 'withdrawal_pp') AND status = 'refunded' THEN 1 ELSE 0 END AS returned
        FROM payments
    )
    SELECT CAST(payment.merchant_id AS TEXT) || '/' || payment.environment || ' ' || payment.id AS subject,
        'its entries do not follow from its kind, amount ' || CAST(payment.amount AS TEXT) || ', fee '
            || CAST(payment.fee AS TEXT) || ', refunds ' || CAST(payment.refunded_amount AS TEXT) || ' and status '
            || payment.status AS detail
    FROM expected AS payment
    LEFT JOIN moved ON moved.merchant_id = payment.merchant_id AND moved.environment = payment.environment
        AND moved.payment_id = payment.id
    LEFT JOIN repaid ON repaid.merchant_id = payment.merchant_id AND repaid.environment = payment.environment
        AND repaid.payment_id = payment.id
    WHERE COALESCE(moved.currency, payment.currency) <> payment.currency
        OR COALESCE(moved.other_currency, payment.currency) <> payment.currency
        OR COALESCE(moved.deposits, 0) <> deposited
        OR COALESCE(moved.deposit_clearing, 0) <> -received * deposited
        OR COALESCE(moved.deposit_available, 0) <> (received - fee) * deposited
        OR COALESCE(moved.deposit_revenue, 0) <> fee * deposited
        OR COALESCE(moved.refunds, 0) <> COALESCE(repaid.refunds, 0)
        OR COALESCE(moved.refund_clearing, 0) <> COALESCE(repaid.total, 0)
        OR COALESCE(moved.refund_available, 0) <> -COALESCE(repaid.total, 0)
        OR COALESCE(repaid.total, 0) <> refunded_amount * deposited
        OR COALESCE(moved.creations, 0) <> created
        OR COALESCE(moved.created_frozen, 0) <> (amount + fee) * created
        OR COALESCE(moved.created_available, 0) <> -(amount + fee) * created
        OR COALESCE(moved.completions, 0) <> completed
        OR COALESCE(moved.completed_frozen, 0) <> -(amount + fee) * completed
        OR COALESCE(moved.completed_clearing, 0) <> amount * completed
        OR COALESCE(moved.completed_revenue, 0) <> fee * completed
        OR COALESCE(moved.releases, 0) <> released
        OR COALESCE(moved.released_frozen, 0) <> -(amount + fee) * released
        OR COALESCE(moved.released_available, 0) <> (amount + fee) * released
        OR COALESCE(moved.returns, 0) <> returned
        OR COALESCE(moved.returned_clearing, 0) <> -amount * returned
        OR COALESCE(moved.returned_available, 0) <> amount * returned
    LIMIT 100";

/// The refunds of a payment have the amounts that its entries moved.
pub(super) const REFUNDS: &str = "
    SELECT CAST(merchant_id AS TEXT) || '/' || environment || ' ' || payment_id AS subject,
        'has ' || CAST(SUM(repaid) AS TEXT) || ' refunds of ' || CAST(amount AS TEXT) || ', and entries for '
            || CAST(SUM(moved) AS TEXT) AS detail
    FROM (
        SELECT merchant_id, environment, payment_id, amount, 0 AS repaid, 1 AS moved FROM entries
        WHERE reason = 'refund' AND account = 'clearing' AND payment_id IS NOT NULL
        UNION ALL
        SELECT merchant_id, environment, payment_id, amount, 1, 0 FROM refunds
    ) AS one
    GROUP BY merchant_id, environment, payment_id, amount
    HAVING SUM(repaid) <> SUM(moved)
    LIMIT 100";

/// Every entry is on an account that its reason moves, and names a payment that exists, or none if it is a correction
/// of the operator. So what the other checks sum up by reason and account is all that there is.
pub(super) const OWNERS: &str = "
    SELECT CAST(entry.merchant_id AS TEXT) || '/' || entry.environment || ' transaction ' || entry.transaction_id
            AS subject,
        entry.reason || ' on ' || entry.account || ' for ' || COALESCE(entry.payment_id, 'no payment') AS detail
    FROM entries AS entry LEFT JOIN payments AS payment ON payment.merchant_id = entry.merchant_id
        AND payment.environment = entry.environment AND payment.id = entry.payment_id
    WHERE (CASE entry.reason
            WHEN 'deposit_completed' THEN entry.account IN ('clearing', 'available', 'revenue')
            WHEN 'withdrawal_created' THEN entry.account IN ('available', 'frozen')
            WHEN 'withdrawal_completed' THEN entry.account IN ('frozen', 'clearing', 'revenue')
            WHEN 'withdrawal_released' THEN entry.account IN ('frozen', 'available')
            WHEN 'withdrawal_returned' THEN entry.account IN ('clearing', 'available')
            WHEN 'refund' THEN entry.account IN ('available', 'clearing')
            WHEN 'adjustment' THEN entry.account IN ('adjustments', 'available')
            ELSE FALSE END) = FALSE
        OR (CASE WHEN entry.reason = 'adjustment' THEN entry.payment_id IS NOT NULL ELSE payment.id IS NULL END)
    LIMIT 100";

/// The counters are equal to the number of payments, in all and for each day.
pub(super) const COUNTERS: &str = "
    WITH counted AS (
        SELECT merchant_id, environment, 'payments' AS name, status, type, method, currency, COUNT(*) AS count
        FROM payments GROUP BY merchant_id, environment, status, type, method, currency
        UNION ALL
        SELECT merchant_id, environment, 'payments/' || DATE_OF(created_at), status, type, method, currency, COUNT(*)
        FROM payments GROUP BY 1, 2, 3, 4, 5, 6, 7
    ), kept AS (
        SELECT merchant_id, environment, name, key1 AS status, key2 AS type, key3 AS method, key4 AS currency, count
        FROM counters WHERE name = 'payments' OR name LIKE 'payments/%'
    )
    SELECT CAST(COALESCE(kept.merchant_id, counted.merchant_id) AS TEXT) || '/'
            || COALESCE(kept.environment, counted.environment) || ' ' || COALESCE(kept.name, counted.name) || ' '
            || COALESCE(kept.status, counted.status) || ' ' || COALESCE(kept.type, counted.type) || ' '
            || COALESCE(kept.method, counted.method) || ' ' || COALESCE(kept.currency, counted.currency) AS subject,
        'counted ' || CAST(COALESCE(kept.count, 0) AS TEXT) || '; there are '
            || CAST(COALESCE(counted.count, 0) AS TEXT) AS detail
    FROM kept FULL JOIN counted ON kept.merchant_id = counted.merchant_id
        AND kept.environment = counted.environment AND kept.name = counted.name AND kept.status = counted.status
        AND kept.type = counted.type AND kept.method = counted.method AND kept.currency = counted.currency
    WHERE COALESCE(kept.count, 0) <> COALESCE(counted.count, 0)
    LIMIT 100";

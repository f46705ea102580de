//! Calls a person when something is parked: a warning in the log, and a counter for the monitoring.

use quipu_kernel::PaymentId;
use quipu_payments::{Attention, RailEventError, Receipt};

use crate::metrics::PARKED;

/// Warns and counts. The log line names only the receipt, from which staff find the rest, since the rail's
/// text may be about a customer.
pub(crate) struct LoudAttention;

impl Attention for LoudAttention {
    fn parked(&self, receipt: &Receipt) {
        metrics::counter!(PARKED).increment(1);
        let Receipt { receipt_id, rail, payment_id, reason, .. } = receipt;
        let (payment_id, reason) = (payment_id.as_ref().map(PaymentId::as_str), reason.as_str());
        tracing::warn!(receipt_id, rail, payment_id, reason, "a message of a rail was parked as a receipt");
    }

    fn lost(&self, rail: &str, payment: &PaymentId, error: &RailEventError) {
        let payment_id = payment.as_str();
        tracing::error!(rail, payment_id, %error,
            "a rail refused a deposit that may already be paid, and the receipt that says so may not have been stored: look \
             for one, or ask the provider whether the deposit was paid");
    }
}

#[cfg(test)]
mod tests {
    use std::{
        io::{self, Write},
        sync::{Arc, Mutex},
    };

    use quipu_kernel::Timestamp;
    use quipu_payments::{ParkReason, RailEventKind};

    use super::*;

    #[derive(Clone, Default)]
    struct Lines(Arc<Mutex<Vec<u8>>>);

    impl Write for Lines {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().expect("nobody panicked").write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn the_log_names_the_receipt_and_nothing_that_a_rail_wrote() {
        let receipt = Receipt {
            receipt_id: "rcp_1763683200000_abcdefghjkmn2345".to_owned(),
            tenant: None,
            payment_id: None,
            rail: "manual".to_owned(),
            event_id: "GE29NB0000000101904917/R1/+5GEL//0".to_owned(),
            kind: RailEventKind::Completed,
            rail_reference: "credit: rent of Ana".to_owned(),
            provider_reference: Some("of Ana too".to_owned()),
            amount: None,
            currency: None,
            reason: ParkReason::UnknownPayment,
            created_at: Timestamp::from_millis(1_763_683_200_000),
            resolved: None,
        };
        let lines = Lines::default();
        let writer = lines.clone();
        let log = tracing_subscriber::fmt().with_writer(move || writer.clone()).finish();
        tracing::subscriber::with_default(log, || LoudAttention.parked(&receipt));
        let text = String::from_utf8(lines.0.lock().expect("nobody panicked").clone()).expect("text");
        assert!(text.contains(&receipt.receipt_id) && text.contains("unknown_payment"), "{text}");
        assert!(!text.contains("Ana") && !text.contains("GE29NB"), "{text}");
    }
}

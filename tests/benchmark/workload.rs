//! The requests that are measured, as bytes.

use std::sync::{
    Arc,
    atomic::{AtomicU64, AtomicUsize, Ordering},
};

use crate::load::Request;

/// How many customers the merchant has.
pub(crate) const CUSTOMERS: u64 = 100_000;
/// The address of any of them.
const ANYBODY: &str = "customer{}@example.com";

/// Who asks, and what there is to ask for.
pub(crate) struct Caller {
    /// Its number.
    pub(crate) merchant_id: i64,
    /// An API key of the test environment.
    pub(crate) key: String,
    /// Payments of this merchant.
    pub(crate) payments: Vec<String>,
}

impl Caller {
    /// `POST` of withdrawals, each with a reference of its own.
    pub(crate) fn create_withdrawal(&self) -> Request {
        self.create(
            ANYBODY,
            "\"currency\":\"ARS\",\"method\":\"bank_transfer\",\"type\":\"withdrawal\",\
             \"payout\":{\"recipient_name\":\"Ana Perez\",\"bank_account\":\"0000003100010000000001\"}",
        )
    }

    /// `POST` of deposits, each with a reference of its own.
    pub(crate) fn create_deposit(&self) -> Request {
        self.create_deposit_for(ANYBODY)
    }

    /// `POST` of deposits by customers with such an e-mail address.
    pub(crate) fn create_deposit_for(&self, email: &'static str) -> Request {
        self.create(email, "\"currency\":\"MXN\",\"method\":\"spei\",\"type\":\"deposit\"")
    }

    fn create(&self, email: &'static str, members: &'static str) -> Request {
        let head = format!(
            "POST /api/v1/payments HTTP/1.1\r\nHost: bench\r\nX-API-Key: {}\r\nContent-Type: application/json\r\nContent-Length: ",
            self.key
        );
        Arc::new(move |buffer| {
            let email = email.replace("{}", &(next().wrapping_mul(7_919) % CUSTOMERS).to_string());
            let body = format!(
                "{{\"amount\":100,{members},\"merchant_reference\":\"{}\",\
                 \"customer\":{{\"name\":\"Ana Perez\",\"email\":\"{email}\"}}}}",
                uuid::Uuid::new_v4()
            );
            buffer.extend_from_slice(head.as_bytes());
            buffer.extend_from_slice(format!("{}\r\n\r\n{body}", body.len()).as_bytes());
        })
    }

    /// `GET` of one payment after another, far apart from each other.
    pub(crate) fn get(&self) -> Request {
        let requests: Vec<_> =
            self.payments.iter().map(|id| self.bytes_of(&format!("/api/v1/payments/{id}"))).collect();
        Arc::new(move |buffer| {
            let which = usize::try_from(next()).unwrap_or_default().wrapping_mul(7_919) % requests.len();
            buffer.extend_from_slice(&requests[which]);
        })
    }

    /// `GET` of the same path again and again.
    pub(crate) fn get_path(&self, path: &str) -> Request {
        let request = self.bytes_of(path);
        Arc::new(move |buffer| buffer.extend_from_slice(&request))
    }

    /// `GET` of one path after another.
    pub(crate) fn get_paths(&self, paths: &[String]) -> Request {
        let requests: Vec<_> = paths.iter().map(|path| self.bytes_of(path)).collect();
        let turn = AtomicUsize::new(0);
        Arc::new(move |buffer| {
            let which = turn.fetch_add(1, Ordering::Relaxed) % requests.len();
            buffer.extend_from_slice(&requests[which]);
        })
    }

    fn bytes_of(&self, path: &str) -> Vec<u8> {
        format!("GET {path} HTTP/1.1\r\nHost: bench\r\nX-API-Key: {}\r\n\r\n", self.key).into_bytes()
    }
}

/// A number this run has not used.
pub(crate) fn next() -> u64 {
    static USED: AtomicU64 = AtomicU64::new(0);
    USED.fetch_add(1, Ordering::Relaxed)
}

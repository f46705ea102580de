//! How a customer's e-mail address steers the simulator (docs/TESTING.md, "What you can ask for").

use quipu_payments::Customer;

/// The course of a customer's payments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Steering {
    /// It succeeds.
    Ordinary,
    /// It fails once the rail is asked.
    Fail,
    /// It expires after one delay.
    Expire,
    /// It stays `processing`.
    Stay,
    /// A withdrawal stays `pending`.
    Hold,
    /// The outcome of its creation or submission is unknown until it is asked about.
    Timeout,
    /// A withdrawal is returned after it was completed.
    Return,
    /// The rail sends every event twice.
    Duplicate,
    /// The rail sends the last event first.
    Reorder,
    /// Another amount arrives.
    Short,
}

impl Steering {
    /// Reads the address without regard to case. An address without a steering word belongs to an ordinary
    /// customer.
    pub(crate) fn of(customer: &Customer) -> Self {
        let Some((local, domain)) = customer.email.as_deref().and_then(|email| email.rsplit_once('@')) else {
            return Self::Ordinary;
        };
        if !domain.eq_ignore_ascii_case("simulator.test") {
            return Self::Ordinary;
        }
        match local.to_ascii_lowercase().as_str() {
            "fail" => Self::Fail,
            "expire" => Self::Expire,
            "stay" => Self::Stay,
            "hold" => Self::Hold,
            "timeout" => Self::Timeout,
            "return" => Self::Return,
            "duplicate" => Self::Duplicate,
            "reorder" => Self::Reorder,
            "short" => Self::Short,
            _ => Self::Ordinary,
        }
    }
}

#[cfg(test)]
mod tests {
    use quipu_kernel::CustomerId;

    use super::*;

    #[test]
    fn only_the_known_addresses_at_simulator_test_steer() {
        let table = [
            (Some("fail@simulator.test"), Steering::Fail),
            (Some("Fail@Simulator.Test"), Steering::Fail),
            (Some("expire@simulator.test"), Steering::Expire),
            (Some("stay@simulator.test"), Steering::Stay),
            (Some("hold@simulator.test"), Steering::Hold),
            (Some("timeout@simulator.test"), Steering::Timeout),
            (Some("return@simulator.test"), Steering::Return),
            (Some("duplicate@simulator.test"), Steering::Duplicate),
            (Some("reorder@simulator.test"), Steering::Reorder),
            (Some("short@simulator.test"), Steering::Short),
            (Some("ana@simulator.test"), Steering::Ordinary),
            (Some("fail@example.com"), Steering::Ordinary),
            (Some("fail@simulator.test.example.com"), Steering::Ordinary),
            (Some("fail"), Steering::Ordinary),
            (None, Steering::Ordinary),
        ];
        for (email, expected) in table {
            let customer =
                Customer { id: CustomerId(1), email: email.map(str::to_owned), phone: None, name: None };
            assert_eq!(Steering::of(&customer), expected, "{email:?}");
        }
    }
}

//! Changes as the use cases make them, built by hand.

use quipu_commit::{Changes, Nonce, Queue, WorkChange};
use quipu_kernel::{
    Amount, Currency, CustomerId, Entropy, Environment, MerchantId, Minor, PaymentIdSource, Tenant, Timestamp,
};
use quipu_ledger::Transaction;
use quipu_merchants::{Actor, AuditRecord, Method, ReturnUrls};
use quipu_payments::{
    BeforeChange, Customer, CustomerClaim, Due, DueAction, Payment, PaymentType, Payout, State, Status,
    Terms, events, put_moved, put_new,
};

pub(crate) const MXN: Currency = Currency::MXN;
/// 2026-01-01T00:00:00Z
pub(crate) const START: Timestamp = Timestamp::from_millis(1_767_225_600_000);

pub(crate) struct Random;

impl Entropy for Random {
    fn fill(&self, bytes: &mut [u8]) {
        for chunk in bytes.chunks_mut(16) {
            chunk.copy_from_slice(&uuid::Uuid::new_v4().as_bytes()[..chunk.len()]);
        }
    }
}

pub(crate) const fn tenant(merchant: i64) -> Tenant {
    Tenant::new(MerchantId(merchant), Environment::Test)
}

pub(crate) fn minor(units: i64) -> Minor {
    Minor::new(units).expect("in range")
}

pub(crate) fn amount(units: i64) -> Amount {
    Amount::new(units).expect("in range")
}

pub(crate) fn after(millis: i64) -> Timestamp {
    Timestamp::from_millis(START.millis() + millis)
}

pub(crate) fn unique(prefix: &str) -> String {
    format!("{prefix}-{}", uuid::Uuid::new_v4())
}

/// What a payment is made of, to be varied before it is built.
pub(crate) struct Sample {
    pub(crate) tenant: Tenant,
    pub(crate) kind: PaymentType,
    pub(crate) method: Method,
    pub(crate) currency: Currency,
    pub(crate) amount: i64,
    pub(crate) fee: i64,
    pub(crate) reference: String,
    pub(crate) customer: Customer,
    pub(crate) at: Timestamp,
    pub(crate) due: Option<Due>,
}

pub(crate) fn customer(email: Option<&str>, phone: Option<&str>) -> Customer {
    let owned = |text: Option<&str>| text.map(str::to_owned);
    Customer { id: CustomerId(0), email: owned(email), phone: owned(phone), name: Some("Ana".to_owned()) }
}

impl Sample {
    pub(crate) fn withdrawal(tenant: Tenant, amount: i64) -> Self {
        Self {
            tenant,
            kind: PaymentType::Withdrawal,
            method: Method::Spei,
            currency: MXN,
            amount,
            fee: 0,
            reference: unique("ref"),
            customer: customer(Some("ana@example.com"), None),
            at: START,
            due: None,
        }
    }

    pub(crate) fn deposit(tenant: Tenant, amount: i64) -> Self {
        Self { kind: PaymentType::Deposit, ..Self::withdrawal(tenant, amount) }
    }

    pub(crate) fn payment(&self) -> Payment {
        let withdrawal = self.kind == PaymentType::Withdrawal;
        let terms = Terms {
            id: PaymentIdSource::default().next(self.at, &Random),
            tenant: self.tenant,
            kind: self.kind,
            method: self.method,
            currency: self.currency,
            amount: amount(self.amount),
            merchant_reference: self.reference.clone(),
            customer: self.customer.clone(),
            // Whatever is open there waits for a person.
            rail: "manual".to_owned(),
            created_at: self.at,
            expires_at: None,
            description: None,
            note: None,
            external_id: None,
            traffic_type: None,
            webhook: None,
            return_urls: ReturnUrls::default(),
            redirect_scheme: None,
        };
        let payout = Payout { bank_account: Some("032180000118359719".to_owned()), ..Payout::default() };
        let state = State {
            fee: minor(self.fee),
            payout: withdrawal.then_some(payout),
            ..State::first(self.kind, self.at)
        };
        Payment::restore(terms, state)
    }

    /// The creation of this payment, with its entries and event.
    pub(crate) fn create(&self) -> Changes {
        self.create_as(self.payment(), CustomerClaim::MatchOrCreate(fresh_customer()))
    }

    /// The creation of such a payment as this one.
    pub(crate) fn create_as(&self, payment: Payment, claim: CustomerClaim) -> Changes {
        let mut changes = Changes::new(self.tenant, self.at);
        if self.kind == PaymentType::Withdrawal {
            let created =
                Transaction::withdrawal_created(self.currency, amount(self.amount), minor(self.fee));
            changes.transactions.push(created.expect("in range"));
        }
        for event in events(&payment, None, &Random) {
            changes.add(event);
        }
        // A deposit is always due some time: if nobody says when, after the test.
        let some_time = Due { at: after(1 << 34), action: DueAction::Expire };
        let open = (self.kind == PaymentType::Deposit).then_some(some_time);
        put_new(&mut changes, payment, claim, self.due.or(open));
        changes
    }
}

/// The payment that a change makes.
pub(crate) fn payment_of(changes: &Changes) -> &Payment {
    changes.saved().expect("a payment")
}

pub(crate) fn fresh_customer() -> CustomerId {
    let random = uuid::Uuid::new_v4().as_u128() & ((1 << 52) - 1);
    CustomerId(i64::try_from(random).expect("52 bits") + 1)
}

/// The move of a payment to another status, with the entries it takes.
pub(crate) fn move_to(payment: &Payment, status: Status, at: Timestamp) -> Changes {
    let (terms, from) = (payment.terms().clone(), payment.status());
    let mut state = payment.state().clone();
    state.status = status;
    state.version += 1;
    state.revision += 1;
    state.updated_at = at;
    state.completed_at = state.completed_at.or((status == Status::Completed).then_some(at));
    let fee = state.fee;
    let moved = Payment::restore(terms.clone(), state);
    let mut changes = Changes::new(terms.tenant, at);
    let withdrawal = terms.kind == PaymentType::Withdrawal;
    let transaction = match status {
        Status::Completed if withdrawal => {
            Transaction::withdrawal_completed(terms.currency, terms.amount, fee).ok()
        }
        Status::Completed => Transaction::deposit_completed(terms.currency, terms.amount, fee).ok(),
        Status::Failed | Status::Cancelled if withdrawal => {
            Transaction::withdrawal_released(terms.currency, terms.amount, fee).ok()
        }
        _ => None,
    };
    changes.transactions.extend(transaction);
    for event in events(&moved, Some(from), &Random) {
        changes.add(event);
    }
    let subject = moved.id().as_str().to_owned();
    changes.work.push(WorkChange::Drop { queue: Queue::SETTLEMENT, subject });
    put_moved(&mut changes, BeforeChange::of(payment), moved);
    changes
}

/// Money for a merchant to pay out from.
pub(crate) fn funding(tenant: Tenant, units: i64) -> Changes {
    let mut changes = Changes::new(tenant, START);
    adjust(&mut changes, MXN, units);
    changes
}

/// Adds a correction and the line of the audit log that tells of it.
pub(crate) fn adjust(changes: &mut Changes, currency: Currency, units: i64) {
    changes.transactions.push(Transaction::adjustment(currency, minor(units)));
    let actor = Actor { id: "test".to_owned(), name: "test".to_owned() };
    let line =
        AuditRecord::new(&Random, changes.at, actor, "balance.adjust", Some(changes.tenant.merchant()));
    let told = serde_json::json!({ "amount": units });
    changes.add(
        line.about(format!("balance/{}/{currency}", changes.tenant)).changing(serde_json::Value::Null, told),
    );
}

pub(crate) fn nonce(value: &str, expires_at: Timestamp) -> Nonce {
    Nonce { value: value.to_owned(), expires_at }
}

pub(crate) fn due(at: Timestamp, action: DueAction) -> Due {
    Due { at, action }
}

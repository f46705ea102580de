//! Requests that are accepted unchanged; tests change one thing at a time.

use serde_json::{Value, json};

use crate::scratch::unique_name;

/// A reference that no other payment has.
pub fn reference() -> String {
    unique_name("ref")
}

/// A deposit for a customer whose address does not steer the simulator.
pub fn deposit(currency: &str, method: &str, amount: i64) -> Value {
    json!({
        "amount": amount,
        "currency": currency,
        "method": method,
        "type": "deposit",
        "merchant_reference": reference(),
        "customer": { "name": "Ana Pérez", "email": "ana@example.com" },
    })
}

/// A withdrawal to a recipient.
pub fn withdrawal(currency: &str, method: &str, amount: i64, payout: Value) -> Value {
    let mut draft = deposit(currency, method, amount);
    draft["type"] = json!("withdrawal");
    draft["payout"] = payout;
    draft
}

/// A SPEI deposit, the simplest payment.
pub fn deposit_mxn(amount: i64) -> Value {
    deposit("MXN", "spei", amount)
}

/// A bank transfer within Argentina.
pub fn withdrawal_ars(amount: i64) -> Value {
    let payout = json!({ "recipient_name": "Ana Pérez", "bank_account": "0000003100010000000001" });
    withdrawal("ARS", "bank_transfer", amount, payout)
}

/// A payout to a partner's wallet.
pub fn partner_withdrawal(currency: &str, amount: i64, destination: Value) -> Value {
    let mut draft = withdrawal(currency, "bank_transfer", amount, json!({}));
    draft["payout"]["partnerDestination"] = destination;
    draft
}

/// Steers the simulator by the customer's address: `fail`, `expire`, `stay`, `hold` and so on.
pub fn steered(mut draft: Value, instruction: &str) -> Value {
    draft["customer"]["email"] = json!(format!("{instruction}@simulator.test"));
    draft
}

/// The draft with the value at a JSON pointer replaced, or added to its parent object.
#[track_caller]
pub fn with(mut draft: Value, pointer: &str, value: Value) -> Value {
    let (parent, member) = pointer.rsplit_once('/').expect("a JSON pointer");
    let parent = draft.pointer_mut(parent).unwrap_or_else(|| panic!("nothing at {parent}"));
    parent[member] = value;
    draft
}

/// The draft without the member at a JSON pointer.
#[track_caller]
pub fn without(mut draft: Value, pointer: &str) -> Value {
    let (parent, member) = pointer.rsplit_once('/').expect("a JSON pointer");
    let parent = draft.pointer_mut(parent).and_then(Value::as_object_mut);
    parent.unwrap_or_else(|| panic!("nothing around {pointer}")).remove(member);
    draft
}

//! The cost of authenticating a caller: `cargo bench -p quipu-signing`. It prints times and asserts nothing.

use std::{hint::black_box, time::Instant};

use quipu_kernel::{Entropy, Environment, Timestamp};
use quipu_signing::{
    ApiKey, Keyring, SignatureClaim, SignatureHeaders, SystemEntropy, WebhookSecret, generate_hmac_secret,
    generate_master_key, sign_request,
};

const ROUNDS: u32 = 100_000;

fn measure<T>(name: &str, mut work: impl FnMut() -> T) {
    let start = Instant::now();
    (0..ROUNDS).for_each(|_| drop(black_box(work())));
    println!("{name:<48} {:>6} ns", start.elapsed().as_nanos() / u128::from(ROUNDS));
}

fn main() {
    let keyring = Keyring::from_base64(&generate_master_key(&SystemEntropy)).expect("a master key");
    let key = ApiKey::generate(Environment::Test, &SystemEntropy);
    measure("read an API key and hash it", || ApiKey::parse(key.expose()).map(|key| key.hash(&keyring)));

    let secret = generate_hmac_secret(&SystemEntropy);
    let body = br#"{"amount":100000,"currency":"MXN","method":"spei","type":"deposit","merchant_reference":"order-1"}"#;
    let signature = sign_request(&secret, "1763683200", "nonce-0001", "POST", "/api/v2/payments", body);
    let headers = SignatureHeaders {
        merchant_id: Some("42"),
        timestamp: Some("1763683200"),
        nonce: Some("nonce-0001"),
        version: Some("v1"),
        signature: Some(&signature),
    };
    let now = Timestamp::from_millis(1_763_683_200_000);
    measure("read and verify a signed request", || {
        SignatureClaim::parse(&headers, now)?.over("POST", "/api/v2/payments", body)?.verify(&secret)
    });

    let sealed = keyring.seal_secret(&SystemEntropy, "hmac-credential/7", &secret);
    measure("seal a secret", || keyring.seal_secret(&SystemEntropy, "hmac-credential/7", &secret));
    measure("open a sealed secret", || keyring.open_secret("hmac-credential/7", &sealed));

    let webhook = WebhookSecret::generate(&SystemEntropy);
    measure("sign a delivery of 1 KiB", || webhook.sign("evt_1", now, &[b'x'; 1024]));

    let mut id = [0; 16];
    measure("16 random bytes", || SystemEntropy.fill(&mut id));
}

//! Writes every page in every state into a folder, for a person to look at: `gallery FOLDER`, then serve the
//! folder with any file server.

use std::{fs, path::Path, sync::LazyLock, time::Duration};

use quipu_kernel::{Amount, Currency, CustomerId, Environment, MerchantId, Minor, Tenant, Timestamp};
use quipu_merchants::{Accent, Method, ReturnUrls};
use quipu_pages::{
    Brand, Filled, Language, Notice, PaymentPage, SchemeView, View, Words, asset, front, scheme_page,
};
use quipu_payments::{
    BankDetails, CryptoDetails, Customer, Instructions, PayIdDetails, Payment, PaymentType, Payout,
    RedirectScheme, State, Status, Terms, VoucherDetails,
};

const ID: &str = "pay_1763683200000_abcdefghjkmn";
const MADE: Timestamp = Timestamp::from_millis(1_763_683_200_000);

/// Colours of merchants that no text can stand on, or that barely carry it.
const ACCENTS: [(&str, [u8; 3]); 3] =
    [("yellow", [0xff, 0xe6, 0x00]), ("purple", [0xd2, 0x00, 0xff]), ("black", [0x00; 3])];

fn main() -> std::io::Result<()> {
    let folder = std::env::args().nth(1).unwrap_or_else(|| "gallery".to_owned());
    let folder = Path::new(&folder);
    fs::create_dir_all(folder.join("assets"))?;
    let mut names = Vec::new();
    for language in Language::ALL {
        for (name, html) in pages(Words::of(language)) {
            let file = format!("{name}.{}.html", language.code());
            write_assets(folder, &html)?;
            fs::write(folder.join(&file), html)?;
            names.push(file);
        }
    }
    fs::write(folder.join("list.txt"), names.join("\n"))
}

/// Writes the files that a page names.
fn write_assets(folder: &Path, html: &str) -> std::io::Result<()> {
    for rest in html.split("\"/assets/").skip(1) {
        let name = rest.split('"').next().unwrap_or_default();
        if let Some(asset) = asset(name) {
            fs::write(folder.join("assets").join(name), asset.body)?;
        }
    }
    Ok(())
}

fn pages(words: Words) -> Vec<(String, String)> {
    let mut brand = Brand::plain("Café Aurora");
    brand.accent = Accent::new([0xb4, 0x23, 0x2f]);
    let plain = Brand::plain("Demo merchant");
    let mut pages = Vec::new();
    for (index, method) in Method::ALL.into_iter().enumerate() {
        let brand = if index % 2 == 0 { &plain } else { &brand };
        let payment = deposit(method, Status::Processing);
        pages.push((format!("pay-{}", method.as_str()), page(&payment, brand, words, None)));
    }
    for status in Status::ALL.into_iter().skip(2) {
        let payment = deposit(Method::Spei, status);
        pages.push((format!("deposit-{}", status.as_str()), page(&payment, &plain, words, None)));
    }
    pages.extend(unusual(&plain, words));
    pages.extend(over_or_long(&brand, words));
    for status in Status::ALL.into_iter().take(7) {
        pages.push((
            format!("withdrawal-{}", status.as_str()),
            page(&withdrawal(status, true), &plain, words, None),
        ));
    }
    for (name, accent) in ACCENTS {
        let brand = Brand { accent: Accent::new(accent), ..Brand::plain("Café Aurora") };
        let payment = deposit(Method::Card, Status::Processing);
        pages.push((format!("accent-{name}"), page(&payment, &brand, words, None)));
    }
    let empty = withdrawal(Status::Pending, false);
    pages.push(("form".to_owned(), page(&empty, &brand, words, None)));
    let filled = Filled {
        values: [("bsb".to_owned(), "1234".to_owned())].into(),
        problems: vec![
            "payout.bsb must be 6 digits".to_owned(),
            "payout.bank_account is required".to_owned(),
        ],
    };
    pages.push(("form-wrong".to_owned(), page(&empty, &brand, words, Some(&filled))));
    let given = withdrawal(Status::Pending, true);
    pages.push(("form-too-late".to_owned(), page(&given, &brand, words, Some(&filled))));
    let payment = deposit(Method::RedirectPay, Status::Processing);
    let scheme = SchemeView {
        payment: &payment,
        brand: &plain,
        words,
        root: "",
        path: "/simulated-scheme/x",
        back: Some("https://shop.example/done"),
        decision: None,
    };
    pages.push(("scheme".to_owned(), scheme_page(scheme)));
    for status in [Status::Completed, Status::Failed] {
        let payment = deposit(Method::RedirectPay, status);
        let decided = SchemeView { payment: &payment, ..scheme };
        pages.push((format!("scheme-{}", status.as_str()), scheme_page(decided)));
    }
    for (name, notice) in [
        ("notice", Notice::NoPage),
        ("notice-too-many", Notice::TooMany),
        ("notice-unavailable", Notice::Unavailable),
    ] {
        pages.push((name.to_owned(), notice.html(words, "")));
    }
    pages.push(("front".to_owned(), front(&[], "")));
    pages
}

/// Deposits that a status alone does not tell.
fn unusual(brand: &Brand, words: Words) -> Vec<(String, String)> {
    let late = |state: &mut State| state.late = true;
    let short = |state: &mut State| state.received_amount = Amount::new(10_000_000).ok();
    let bare = |state: &mut State| state.instructions = Instructions::default();
    let shown = |status, change: &dyn Fn(&mut State)| {
        let payment = deposit(Method::Spei, status);
        let mut state = payment.state().clone();
        change(&mut state);
        page(&Payment::restore(payment.terms().clone(), state), brand, words, None)
    };
    let crypto = deposit(Method::Crypto, Status::Processing);
    let mut without_amount = crypto.state().clone();
    if let Some(details) = &mut without_amount.instructions.crypto_details {
        details.uri = format!("tron:{}", details.address);
    }
    let without_amount = Payment::restore(crypto.terms().clone(), without_amount);
    let voucher = deposit(Method::Cash, Status::Processing);
    let mut wide = voucher.state().clone();
    if let Some(details) = &mut wide.instructions.voucher_details {
        details.barcode = "VOUCHER-".repeat(10);
    }
    let wide = Payment::restore(voucher.terms().clone(), wide);
    vec![
        ("pay-crypto-without-amount".to_owned(), page(&without_amount, brand, words, None)),
        ("pay-cash-without-bars".to_owned(), page(&wide, brand, words, None)),
        ("deposit-late".to_owned(), shown(Status::Completed, &late)),
        ("deposit-another-amount".to_owned(), shown(Status::Completed, &short)),
        ("deposit-without-instructions".to_owned(), shown(Status::Processing, &bare)),
    ]
}

/// Pages after their deadline, a merchant that takes no accounts, and amounts that fill a line.
fn over_or_long(brand: &Brand, words: Words) -> Vec<(String, String)> {
    let now = MADE.plus(Duration::from_hours(73));
    let (cash, form) = (deposit(Method::Cash, Status::Processing), withdrawal(Status::Pending, false));
    let html = |view| PaymentPage::new(view).html();
    let mut pages = vec![
        ("deposit-over".to_owned(), html(View { now, ..view(&cash, brand, words) })),
        ("form-over".to_owned(), html(View { now, ..view(&form, brand, words) })),
        ("form-unavailable".to_owned(), html(View { members: &[], ..view(&form, brand, words) })),
    ];
    for (name, units) in [("long", 99_999_999_999), ("longest", 9_007_199_254_740_991)] {
        for method in [Method::Cash, Method::Spei, Method::Crypto] {
            let payment = deposit(method, Status::Completed);
            let amount = Amount::new(units).unwrap_or_else(|_| unreachable!("in range"));
            let terms = Terms { amount, ..payment.terms().clone() };
            let state = State { received_amount: Amount::new(units - 1).ok(), ..payment.state().clone() };
            let paid = Payment::restore(terms.clone(), state.clone());
            pages.push((format!("paid-{name}-{}", method.as_str()), page(&paid, brand, words, None)));
            let open = Payment::restore(terms, State { status: Status::Processing, ..state });
            pages.push((format!("pay-{name}-{}", method.as_str()), page(&open, brand, words, None)));
        }
    }
    pages
}

/// What the recipient's form asks for.
static MEMBERS: LazyLock<[String; 3]> =
    LazyLock::new(|| ["recipient_name", "bsb", "bank_account"].map(str::to_owned));

fn view<'a>(payment: &'a Payment, brand: &'a Brand, words: Words) -> View<'a> {
    let now = MADE.plus(Duration::from_secs(19));
    let token = "w3Jv9Qx2b7Lk0TzR5mN8cYpFhUe";
    View { payment, brand, words, now, root: "", token, members: &*MEMBERS, filled: None }
}

fn page(payment: &Payment, brand: &Brand, words: Words, filled: Option<&Filled>) -> String {
    PaymentPage::new(View { filled, ..view(payment, brand, words) }).html()
}

fn terms(kind: PaymentType, method: Method, currency: Currency) -> Terms {
    let lives = method != Method::RedirectPay;
    Terms {
        id: ID.parse().unwrap_or_else(|_| unreachable!("an identifier")),
        tenant: Tenant::new(MerchantId(1), Environment::Test),
        kind,
        method,
        currency,
        amount: Amount::new(12_345_600).unwrap_or_else(|_| unreachable!("in range")),
        merchant_reference: "order-20431".to_owned(),
        customer: Customer {
            id: CustomerId(1),
            email: Some("ana@example.com".to_owned()),
            phone: None,
            name: None,
        },
        rail: "simulator".to_owned(),
        created_at: MADE,
        expires_at: lives.then(|| MADE.plus(Duration::from_hours(72))),
        description: Some("Two tickets, row 7".to_owned()),
        note: None,
        external_id: None,
        traffic_type: None,
        webhook: None,
        return_urls: ReturnUrls {
            success_url: Some("https://shop.example/done".to_owned()),
            cancel_url: Some("https://shop.example/cart".to_owned()),
        },
        redirect_scheme: (method == Method::RedirectPay).then_some(RedirectScheme::Lqr),
    }
}

fn deposit(method: Method, status: Status) -> Payment {
    let currency = match method {
        Method::BankTransfer | Method::PayId => Currency::AUD,
        Method::Spei => Currency::MXN,
        Method::CashStore => Currency::UYU,
        Method::Card => Currency::TRY,
        Method::Cash => Currency::ARS,
        Method::Crypto => Currency::GEL,
        Method::RedirectPay => Currency::LKR,
    };
    let terms = terms(PaymentType::DepositPp, method, currency);
    let mut state = State { status, ..State::first(terms.kind, MADE) };
    state.instructions = instructions(method, currency);
    state.refunded_amount = Minor::new(2_500_000).unwrap_or_default();
    Payment::restore(terms, state)
}

fn withdrawal(status: Status, known: bool) -> Payment {
    let terms = terms(PaymentType::WithdrawalPp, Method::BankTransfer, Currency::AUD);
    let payout = known.then(|| Payout {
        recipient_name: Some("Ana Perez".to_owned()),
        bsb: Some("062000".to_owned()),
        bank_account: Some("123456789".to_owned()),
        ..Payout::default()
    });
    let state = State { status, payout, ..State::first(terms.kind, MADE) };
    Payment::restore(terms, state)
}

fn instructions(method: Method, currency: Currency) -> Instructions {
    let mut shown = Instructions::default();
    match method {
        Method::BankTransfer | Method::Spei => {
            let clabe = method == Method::Spei;
            shown.bank_details = Some(BankDetails {
                amount: "12345600".to_owned(),
                purpose: ID.to_owned(),
                currency,
                bank_name: "Simulated Bank".to_owned(),
                swift_code: (!clabe).then(|| "SIMUAU2S".to_owned()),
                account_holder: "Quipu Simulator".to_owned(),
                account_number: if clabe { "646180110400000007" } else { "123456789" }.to_owned(),
                bsb: (!clabe).then(|| "999999".to_owned()),
            });
        }
        Method::PayId => {
            shown.payid_details = Some(PayIdDetails {
                payid: "pay-001234567890@simulator.test".to_owned(),
                payid_type: "email".to_owned(),
                payid_name: "Quipu Simulator".to_owned(),
                reference: ID.to_owned(),
            });
        }
        Method::Cash | Method::CashStore => {
            shown.voucher_details = Some(VoucherDetails {
                reference: "004512345678".to_owned(),
                barcode: "999004512345678".to_owned(),
                expires_at: None,
            });
        }
        Method::Crypto => {
            shown.crypto_details = Some(CryptoDetails {
                asset: "USDT".to_owned(),
                network: "tron".to_owned(),
                address: "TJRabPrwbZy45sbavfcjinPJC18kjpRTv8".to_owned(),
                uri: "tron:TJRabPrwbZy45sbavfcjinPJC18kjpRTv8?amount=29.915204".to_owned(),
            });
        }
        Method::Card | Method::RedirectPay => {
            shown.redirect_url = Some("https://scheme.example/pay".to_owned());
        }
    }
    shown
}

//! The page of one payment.

use askama::Template;
use quipu_kernel::{Environment, is_web_url};
use quipu_merchants::Direction;
use quipu_payments::Status;

use crate::{
    assets,
    clock::Clock,
    facts::{Fact, Facts, Value},
    form::{Filled, Form},
    frame::Frame,
    how_to_pay::HowToPay,
    money::{self, Shown},
    page_urls::PageUrls,
    rendered::rendered,
    story::{self, Story, is_live, is_over},
    view::View,
    words::Words,
};

/// The link to the next place.
struct Next {
    class: &'static str,
    href: String,
    text: String,
}

/// The page of one payment, ready to be written.
#[derive(Template)]
#[template(path = "payment.html")]
pub struct PaymentPage {
    frame: Frame,
    words: Words,
    urls: PageUrls,
    script: String,
    live: bool,
    /// Whether the time to act has run out.
    over: bool,
    revision: i64,
    now: i64,
    what: String,
    amount: Shown,
    about: Option<String>,
    story: Story,
    /// Why the account that was entered is not taken.
    sorry: Option<String>,
    test_notice: Option<String>,
    clock: Option<Clock>,
    next: Option<Next>,
    todo: Option<HowToPay>,
    form: Option<Form>,
    facts_title: Option<String>,
    facts: Vec<Fact>,
    merchant_reference: String,
    transaction_id: String,
}

impl PaymentPage {
    /// The page that this view describes.
    pub fn new(view: View<'_>) -> Self {
        let View { payment, brand, words, root, .. } = view;
        let (terms, state) = (payment.terms(), payment.state());
        let story = story::of(&view);
        let urls = PageUrls::new(root, view.token, words.language());
        let live = is_live(state.status);
        let is_deposit = terms.kind.direction() == Direction::Deposit;
        let is_test = terms.tenant.environment() == Environment::Test;
        let over = is_over(&view);
        let form = view.form();
        let wrong = form.as_ref().filter(|form| form.has_problems).map(|_| words.say("please-correct"));
        let title = wrong.as_deref().map_or(story.headline.as_str(), |wrong| wrong.trim_end_matches('.'));
        let frame = Frame::new(brand, words, root, title, |language| urls.page_in(language));
        let sorry = view.filled.filter(|_| state.payout.is_some()).map(|_| words.say("already-given"));
        let is_payable = is_deposit && live && !over;
        let todo = is_payable.then(|| HowToPay::of(payment, words)).flatten();
        let facts = match &state.payout {
            _ if is_payable => Facts::of_deposit(payment, words),
            Some(payout) if !is_deposit => Facts::of_payout(payout, payment, words),
            _ => Vec::new(),
        };
        let label = match (is_deposit, live) {
            (true, true) => "pay-merchant",
            (true, false) => "payment-to",
            (false, _) => "payout-from",
        };
        Self {
            frame: frame.of_test(is_test),
            words,
            script: assets::script(root),
            live,
            over,
            revision: state.revision,
            now: view.now.millis(),
            what: words.say_with(label, &[("merchant", &brand.name)]),
            amount: money::shown(terms.amount.minor(), terms.currency),
            about: terms.description.clone(),
            story,
            sorry,
            test_notice: is_test.then(|| words.say("test-notice")),
            clock: view.clock(),
            next: view.next(),
            todo,
            form,
            facts_title: (!is_deposit && !facts.is_empty()).then(|| words.say("goes-to")),
            facts,
            merchant_reference: terms.merchant_reference.clone(),
            transaction_id: payment.id().to_string(),
            urls,
        }
    }

    /// The page as HTML.
    pub fn html(&self) -> String {
        rendered(self)
    }
}

impl View<'_> {
    /// The countdown, if the payment waits for something.
    fn clock(&self) -> Option<Clock> {
        let until = story::deadline(self.payment)?;
        let by = if self.payment.waits_for_recipient() { "answer-by" } else { "pay-by" };
        Some(Clock::new((until, self.now), by, story::when_over(self), self.words))
    }

    /// The recipient's form, while an account can be given.
    fn form(&self) -> Option<Form> {
        let is_awaited = self.payment.waits_for_recipient() && !is_over(self) && !self.members.is_empty();
        let (terms, blank) = (self.payment.terms(), Filled::default());
        let filled = self.filled.unwrap_or(&blank);
        is_awaited.then(|| Form::new(self.members, terms.method, terms.currency, filled, self.words))
    }

    /// The next place to go: on to the merchant after success, back to it after failure, and a way out while
    /// the payment is open.
    fn next(&self) -> Option<Next> {
        let story = story::of(self);
        let urls = &self.payment.terms().return_urls;
        let (success, cancel) = (urls.success_url.as_ref(), urls.cancel_url.as_ref());
        let is_deposit = self.payment.terms().kind.direction() == Direction::Deposit;
        // Money that came and went back in part is still a success.
        let is_success = story.tone == "good" || self.payment.status() == Status::PartialRefund;
        let (url, class, key) = match story.tone {
            // Who has paid at the last moment does not leave without paying.
            "wait" if is_deposit && !is_over(self) => (cancel, "quiet", "leave-for"),
            // What the recipient had to do is done.
            "wait" if self.payment.state().payout.is_some() => (success, "button second", "return-to"),
            "wait" => (cancel, "quiet", "leave-form-for"),
            _ if is_success => (success, "button", "return-to"),
            _ => (cancel.or(success), "button", "return-to"),
        };
        let href = url.filter(|url| is_web_url(url))?.clone();
        Some(Next { class, href, text: self.words.say_with(key, &[("merchant", &self.brand.name)]) })
    }
}

#[cfg(test)]
mod tests {
    use quipu_kernel::Currency;
    use quipu_merchants::Method;
    use quipu_payments::{Instructions, VoucherDetails};

    use super::*;
    use crate::{brand::Brand, language::Language, samples};

    /// The page of a voucher with this barcode.
    fn voucher(barcode: &str, method: Method, language: Language) -> String {
        let (barcode, reference) = (barcode.to_owned(), samples::ID.to_owned());
        let details = VoucherDetails { barcode, reference, expires_at: None };
        let shown = Instructions { voucher_details: Some(details), ..Instructions::default() };
        let payment = samples::deposit(method, Currency::UYU, Status::Processing, shown);
        PaymentPage::new(samples::view(&payment, &Brand::plain("Aurora"), Words::of(language))).html()
    }

    #[test]
    fn after_the_deadline_a_deposit_is_not_to_be_paid_any_more() {
        let brand = Brand::plain("Aurora");
        for language in Language::ALL {
            let words = Words::of(language);
            for method in Method::ALL {
                let shown = samples::instructions(method);
                let payment = samples::deposit(method, Currency::AUD, Status::Processing, shown);
                let open = samples::view(&payment, &brand, words);
                let over = View { now: payment.terms().expires_at.expect("a deadline"), ..open };
                let (open, over) = (PaymentPage::new(open), PaymentPage::new(over));
                assert!(open.todo.is_some() && !open.over, "{method:?}");
                assert!(over.todo.is_none() && over.facts.is_empty() && over.over, "{method:?}");
                assert_eq!(over.story.headline, words.say("time-over"), "{method:?}");
                let html = over.html();
                assert!(html.contains("plain over\""), "{html}");
                assert!(
                    !html.contains("class=\"steps\"") && !html.contains(&words.say("how-to-pay")),
                    "{html}"
                );
            }
        }
    }

    #[test]
    fn a_recipients_page_has_its_form_while_an_account_can_be_given() {
        let (brand, payment) = (Brand::plain("Aurora"), samples::unfilled_withdrawal());
        let members = ["bsb".to_owned(), "bank_account".to_owned()];
        for language in Language::ALL {
            let words = Words::of(language);
            let view = View { members: &members, ..samples::view(&payment, &brand, words) };
            let open = PaymentPage::new(view);
            assert_eq!((open.form.is_some(), open.story.headline), (true, words.say("withdrawal-form")));
            let over =
                PaymentPage::new(View { now: payment.terms().expires_at.expect("a deadline"), ..view });
            assert_eq!((over.form.is_some(), over.story.headline), (false, words.say("withdrawal-expired")));
            let closed = PaymentPage::new(View { members: &[], ..view });
            let says = words.say_with("withdrawal-unavailable", &[("merchant", "Aurora")]);
            assert_eq!((closed.form.is_some(), closed.story.headline), (false, says));
            assert!(closed.clock.is_some(), "the time runs on");
        }
    }

    #[test]
    fn a_wrong_form_says_so_in_its_title_and_begins_at_what_is_wrong() {
        let (brand, payment) = (Brand::plain("Aurora"), samples::unfilled_withdrawal());
        let members = ["bsb".to_owned(), "bank_account".to_owned()];
        let problems = vec!["payout.bank_account is required".to_owned()];
        let filled = Filled { problems, ..Filled::default() };
        for language in Language::ALL {
            let words = Words::of(language);
            let view = View { members: &members, ..samples::view(&payment, &brand, words) };
            let html = PaymentPage::new(View { filled: Some(&filled), ..view }).html();
            let correct = words.say("please-correct");
            assert!(html.contains(&format!("<title>{} · Aurora", correct.trim_end_matches('.'))), "{html}");
            assert_eq!(html.matches(" autofocus").count(), 1, "{html}");
            let (before, _) = html.split_once(" autofocus").expect("a field to begin at");
            assert!(before.rsplit('<').next().is_some_and(|tag| tag.contains("bank_account")), "{html}");
            assert!(!PaymentPage::new(view).html().contains(" autofocus"));
        }
    }

    #[test]
    fn a_voucher_shows_its_bars_or_tells_their_number_and_always_asks_for_the_counters() {
        let (digits, letters) = ("1".repeat(60), "A".repeat(41));
        let table = [("0123456789", true), (&digits, true), (&letters, false), ("ñandú-77", false)];
        for language in Language::ALL {
            for method in [Method::Cash, Method::CashStore] {
                for (barcode, has_bars) in table {
                    let page = voucher(barcode, method, language);
                    let about = format!("{language:?} {method:?} {barcode}");
                    let says =
                        |key: &str| page.contains(&format!("<li>{}</li>", Words::of(language).say(key)));
                    let copies = |number: &str| page.contains(&format!("data-copy=\"{number}\""));
                    assert_eq!(page.contains("class=\"bars\""), has_bars, "{about}");
                    assert_eq!(
                        (says("voucher-2"), says("voucher-barcode")),
                        (has_bars, !has_bars),
                        "{about}"
                    );
                    assert_eq!(copies(barcode), !has_bars, "{about}");
                    assert!(page.contains(barcode), "{about}");
                    assert!(says("voucher-counter") && copies(samples::ID), "{about}");
                }
            }
        }
    }
}

//! A whole world: merchants, payers, a bank, receivers, and the nodes of a gateway between them, in one thread.
//!
//! The actors: [`Plan`] says what outsiders do; [`Engine`](engine::Engine) gives turns, moves the clock and
//! lets nodes die; [`Bank`](bank::Bank) knows what really became of money; [`Book`](book::Book) knows what
//! outsiders were told. When all is over the weather turns calm, everything that is due is done, and
//! [`verify`] holds the promises of the gateway against what is true.

mod bank;
mod book;
mod corrupt;
mod deaths;
mod engine;
mod fault;
mod node;
mod plan;
mod post;
mod rails;
mod receivers;
mod rounds;
mod shrink;
mod sim_store;
mod verify;

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use quipu_kernel::{Clock as _, Currency, Timestamp, locked};
use quipu_payments::RailEvent;
use quipu_webhooks::{Endpoint, EndpointId, EventName, Source, TargetUrl};

use self::{
    bank::{Bank, Intent},
    book::Book,
    engine::{Alarm, Engine, Kind},
    node::{Call, Node, Surroundings, tenant_of},
    plan::{Deed, ENDPOINTS, MERCHANTS, Payer, Way, Weather},
    sim_store::SimStore,
};
pub use self::{fault::Fault, plan::Plan, shrink::shrunk};
use crate::{
    chance::{Dice, Random},
    clock::{HandClock, START},
    rail::{BANK, DESK},
    routes::FixedRoutes,
};

const NODES: usize = 2;
/// What each merchant begins with, in each currency: so little that some withdrawals are refused.
const FUNDED: i64 = 40_000;
/// When the weather turns calm.
const CALM_AFTER: Duration = Duration::from_hours(4 * 24);
/// A world that is not at rest after so many turns never will be.
const MOST_TURNS: u64 = 400_000;
/// How long outsiders trust an idempotency key.
const KEY_HOLDS: Duration = Duration::from_hours(23);

/// What a history came to.
#[derive(Debug, Clone, Copy, Default)]
pub struct Summary {
    /// Payments that were made.
    pub payments: u64,
    /// Turns that were taken.
    pub turns: u64,
}

/// What will happen.
#[derive(Debug, Clone)]
enum AgendaItem {
    Deed(Deed, String),
    Pay(u64),
    /// A recipient fills in the page of a withdrawal.
    Fill(u64),
    Bank(Intent),
    /// A node that has died is found to be silent.
    Silence,
    /// What a dead node had in hand must have gone on; this many nodes have died by then.
    Aftermath(u64),
}

/// How often an outsider has asked in vain, and since when.
#[derive(Debug, Clone, Copy)]
struct Tries {
    number: u32,
    since: Timestamp,
}

struct World {
    engine: Engine,
    around: Surroundings,
    nodes: Vec<Arc<Node>>,
    weather: Weather,
    agenda: BTreeMap<(Timestamp, u64), (AgendaItem, Tries)>,
    entered: u64,
    /// Calls from outside, so that a lost one is made again.
    calls: Vec<(AgendaItem, Tries)>,
    outcomes: Arc<std::sync::Mutex<Vec<(usize, Call)>>>,
    endpoints: Vec<EndpointId>,
    /// How many nodes have died.
    deaths: u64,
}

/// Runs the plan, and tells what it came to, or every promise that was broken.
pub fn run_world(plan: &Plan, fault: Option<Fault>) -> Result<Summary, Vec<String>> {
    let mut world = World::new(plan, fault);
    world.run(plan)?;
    verify::verify(&world.around)?;
    let memory = &world.around.store.shared.memory;
    let payments = memory.contents().all::<quipu_payments::Payment>(quipu_commit::Aggregate::PAYMENT).count();
    Ok(Summary { payments: payments as u64, turns: world.engine.turns })
}

impl World {
    fn new(plan: &Plan, fault: Option<Fault>) -> Self {
        let clock = Arc::new(HandClock::default());
        let alarm = Alarm::new(clock);
        let weather = plan.weather;
        let fee_bps = if fault == Some(Fault::FeeMiscounted) { verify::FEE_BPS + 1 } else { verify::FEE_BPS };
        let around = Surroundings {
            store: SimStore::new(plan.seed, weather.outages, fault),
            bank: Arc::new(Bank::new(plan.seed, alarm.clone(), weather.moody_bank)),
            book: Arc::new(Book::default()),
            alarm: alarm.clone(),
            entropy: Arc::new(Random::new(plan.seed)),
            directory: Arc::new(FixedRoutes::of_world(fee_bps, verify::FEE_FIXED)),
            fault,
        };
        let mut world = Self {
            engine: Engine::new(alarm, plan.seed),
            nodes: (0..NODES).map(|_| Arc::new(Node::new(&around))).collect(),
            around,
            weather,
            agenda: BTreeMap::new(),
            entered: 0,
            calls: Vec::new(),
            outcomes: Arc::default(),
            endpoints: Vec::new(),
            deaths: 0,
        };
        world.furnish();
        for (after, deed) in &plan.deeds {
            world.enter_deed(START.plus(*after), deed);
        }
        world
    }

    /// Money and endpoints, before anything else happens.
    fn furnish(&mut self) {
        let mut dice = Dice::new(7);
        for merchant in 0..usize::try_from(MERCHANTS).unwrap_or(0) {
            let tenant = tenant_of(merchant);
            for currency in ["MXN", "ARS"] {
                let currency: Currency = currency.parse().expect("a currency");
                let mut changes = quipu_commit::Changes::new(tenant, START);
                let units = quipu_kernel::Minor::new(FUNDED).expect("in range");
                changes.transactions.push(quipu_ledger::Transaction::adjustment(currency, units));
                self.around.store.shared.memory.apply(changes).expect("funded");
            }
            for number in 0..ENDPOINTS {
                let id = EndpointId::restore(format!("endpoint-{merchant}-{number}"));
                let url = TargetUrl::restore(format!("https://shop.example/{merchant}/{number}"));
                let events: Vec<_> = if number == 0 {
                    EventName::DEFAULTS.to_vec()
                } else {
                    EventName::ALL.into_iter().filter(|_| dice.below(3) > 0).collect()
                };
                let endpoint = Endpoint::named(id.clone(), tenant, url, events, START);
                let endpoint = Endpoint { source: Source::Admin, ..endpoint };
                self.around.store.shared.post.letters().add(endpoint);
                self.endpoints.push(id);
            }
        }
    }

    fn enter(&mut self, at: Timestamp, item: AgendaItem) {
        self.entered += 1;
        self.agenda.insert((at, self.entered), (item, Tries { number: 0, since: at }));
    }

    fn enter_deed(&mut self, at: Timestamp, deed: &Deed) {
        let Deed::Create(number, wish) = deed else {
            return self.enter(at, AgendaItem::Deed(deed.clone(), String::new()));
        };
        self.around.book.open().wishes.entry(*number).or_default().wish = Some(*wish);
        for _ in 0..=wish.copies {
            self.enter(at, AgendaItem::Deed(deed.clone(), "first".to_owned()));
        }
        if matches!(wish.way, Way::SpeiDeposit | Way::Redirect | Way::DeskDeposit) {
            self.enter(at.plus(wish.payer.1), AgendaItem::Pay(*number));
        }
        if wish.way == Way::SpeiForm && wish.payer.0 != Payer::StaysAway {
            // A page waits three times as long as a deposit does.
            self.enter(at.plus(3 * wish.payer.1), AgendaItem::Fill(*number));
        }
    }

    fn run(&mut self, plan: &Plan) -> Result<(), Vec<String>> {
        let calm_at = START.plus(CALM_AFTER);
        let mut calm = false;
        while self.engine.turns < MOST_TURNS {
            let now = self.around.alarm.clock.now();
            if !calm && now >= calm_at {
                calm = true;
                self.calm_down(now);
            }
            self.begin_due(now);
            if let Some(node) = self.engine.turn() {
                self.after_turn();
                if self.is_last_turn() {
                    self.kill(node);
                }
                continue;
            }
            match self.next_moment() {
                Some(next) if calm || next < calm_at => self.around.alarm.clock.reach(next),
                _ if !calm => self.around.alarm.clock.reach(calm_at),
                _ => return Ok(()),
            }
        }
        Err(vec![format!("seed {}: it never comes to rest", plan.seed)])
    }

    /// Nothing goes wrong any more, and receivers are there again.
    fn calm_down(&mut self, now: Timestamp) {
        self.weather = Weather::CALM;
        self.around.store.calm_down();
        self.around.bank.calm_down();
        for id in self.endpoints.clone() {
            self.around.store.shared.post.letters().switch(&id, true, now);
        }
    }

    /// When something will happen next.
    fn next_moment(&self) -> Option<Timestamp> {
        let planned = self.agenda.keys().next().map(|(at, _)| *at);
        let now = self.around.alarm.clock.now();
        let all = self.next_rounds().chain([planned, self.engine.next()].into_iter().flatten());
        // A lease without an end is never due in a lifetime.
        all.filter(|at| at.since(now) < Duration::from_hours(24 * 365)).min().map(|at| at.max(now))
    }

    fn begin_due(&mut self, now: Timestamp) {
        loop {
            // What happens may make the bank intend more, even where nothing else is left to happen.
            for (at, intent) in self.around.bank.intents() {
                self.enter(at, AgendaItem::Bank(intent));
            }
            let Some(entry) = self.agenda.first_entry().filter(|entry| entry.key().0 <= now) else { break };
            let (item, tries) = entry.remove();
            self.happen(item, tries);
        }
        self.begin_rounds(now);
    }

    fn any_node(&mut self) -> usize {
        usize::try_from(self.engine.dice.below(NODES as u64)).unwrap_or(0)
    }

    fn happen(&mut self, item: AgendaItem, tries: Tries) {
        match item {
            AgendaItem::Pay(number) => self.pay(number),
            AgendaItem::Silence => self.release_claims(),
            AgendaItem::Aftermath(deaths) => self.look_at_orphans(deaths),
            AgendaItem::Bank(Intent::Decide(reference)) => self.around.bank.decide(&reference),
            AgendaItem::Bank(Intent::SendBack(reference)) => self.around.bank.send_back(&reference),
            AgendaItem::Deed(Deed::Switch(endpoint, on), _) => {
                let now = self.around.alarm.clock.now();
                let id = &self.endpoints[endpoint % self.endpoints.len()];
                self.around.store.shared.post.letters().switch(id, on, now);
            }
            call => self.call(call, tries),
        }
    }

    /// A payer does what the plan says, if anybody told them how to pay.
    fn pay(&mut self, number: u64) {
        let Some(id) = self.around.book.payment(number) else { return };
        let Some(payment) = self.around.store.shared.memory.payment_of(&id) else { return };
        let wish = self.around.book.open().wishes.get(&number).and_then(|known| known.wish);
        let Some(wish) = wish else { return };
        if wish.way == Way::DeskDeposit {
            self.around.bank.open(DESK, id.as_str(), &payment);
        }
        match wish.payer.0 {
            Payer::Pays => self.around.bank.pay(id.as_str(), Some(wish.amount)),
            Payer::PaysShort => self.around.bank.pay(id.as_str(), Some(wish.amount / 2)),
            Payer::IsDeclined => self.around.bank.pay(id.as_str(), None),
            Payer::StaysAway => {}
        }
    }

    /// Some node is called from outside.
    fn call(&mut self, item: AgendaItem, tries: Tries) {
        let node = self.any_node();
        let number = self.calls.len();
        let doing = self.doing(&item, Arc::clone(&self.nodes[node]), number);
        self.calls.push((item, tries));
        self.engine.begin(node, Kind::Call(number), doing);
    }

    fn doing(&self, item: &AgendaItem, node: Arc<Node>, number: usize) -> engine::Doing {
        let (item, outcomes) = (item.clone(), Arc::clone(&self.outcomes));
        Box::pin(async move {
            let outcome = act(&node, &item).await;
            locked(&outcomes).push((number, outcome));
        })
    }

    /// Whoever was not answered for good asks again.
    fn after_turn(&mut self) {
        let outcomes = std::mem::take(&mut *locked(&self.outcomes));
        for (number, outcome) in outcomes {
            if outcome == Call::Again {
                self.ask_again(number);
            }
        }
    }

    fn ask_again(&mut self, number: usize) {
        let (item, tries) = self.calls[number].clone();
        self.around.book.open().retries += 1;
        let at = self.around.alarm.clock.now().plus(Duration::from_mins(1 << tries.number.min(8)));
        let item = match item {
            // A key holds for a day: whoever has no answer by then gives up.
            AgendaItem::Deed(Deed::Create(number, _), _) if at > tries.since.plus(KEY_HOLDS) => {
                self.around.book.open().wishes.entry(number).or_default().gave_up = true;
                return;
            }
            // Signed again, since the first nonce may be burnt.
            AgendaItem::Deed(deed, _) => AgendaItem::Deed(deed, format!("again-{number}")),
            other => other,
        };
        self.entered += 1;
        let tries = Tries { number: tries.number + 1, ..tries };
        self.agenda.insert((at, self.entered), (item, tries));
    }
}

/// What a call from outside does on a node.
async fn act(node: &Node, item: &AgendaItem) -> Call {
    let known = |number: &u64| {
        let id = node.around.book.payment(*number)?;
        node.around.store.shared.memory.payment_of(&id)
    };
    match item {
        AgendaItem::Bank(Intent::Tell(rail, event)) => tell(node, rail, event).await,
        AgendaItem::Fill(number) => match known(number) {
            Some(payment) => node.fill(payment.terms().tenant, payment.id()).await,
            None => Call::Done,
        },
        AgendaItem::Deed(deed, signature) => match deed {
            Deed::Create(number, wish) => node.create(*number, wish, signature).await,
            Deed::Cancel(number) => match known(number) {
                Some(payment) => node.cancel(payment.terms().tenant, payment.id()).await,
                None => Call::Done,
            },
            Deed::Refund(number, part) => match known(number) {
                Some(payment) => node.refund(payment.id(), payment.terms().amount.get() * part / 100).await,
                None => Call::Done,
            },
            Deed::Decide(number, decision) => match known(number) {
                Some(payment) => node.decide(payment.id(), *decision).await,
                None => Call::Done,
            },
            Deed::Resolve(resolution) => node.resolve(*resolution).await,
            Deed::Adjust(number, merchant, units) => {
                node.adjust(*number, tenant_of(*merchant), Currency::MXN, *units).await
            }
            Deed::Switch(..) => Call::Done,
        },
        AgendaItem::Pay(_) | AgendaItem::Bank(_) | AgendaItem::Silence | AgendaItem::Aftermath(_) => {
            Call::Done
        }
    }
}

async fn tell(node: &Node, rail: &'static str, event: &RailEvent) -> Call {
    node.hear(rail, event).await
}

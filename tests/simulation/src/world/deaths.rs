//! Nodes that die, and what the others make of it.

use std::{sync::Arc, time::Duration};

use quipu_commit::Aggregate;
use quipu_kernel::Clock as _;
use quipu_payments::Payment;

use super::{AgendaItem, World, node::Node};

/// How long nothing is heard of a node before others take its work.
const SILENCE: Duration = Duration::from_secs(7);
/// How long after the death of a node all that it had in hand has gone on.
const SOON: Duration = Duration::from_secs(10);
/// Of so many turns one ends with a death.
const TURNS_OF_A_LIFE: u64 = 400;
/// The same where nothing else goes wrong.
const TURNS_OF_A_SHORT_LIFE: u64 = 60;

impl World {
    /// Whether the node whose turn has ended dies.
    pub(super) fn is_last_turn(&mut self) -> bool {
        let turns = if self.weather.harms_only_nodes() { TURNS_OF_A_SHORT_LIFE } else { TURNS_OF_A_LIFE };
        self.weather.deaths && self.engine.dice.one_in(turns)
    }

    /// Ends a node; another begins in its place.
    pub(super) fn kill(&mut self, node: usize) {
        let lost = self.engine.kill(node);
        self.nodes[node] = Arc::new(Node::new(&self.around));
        self.deaths += 1;
        let now = self.around.alarm.clock.now();
        self.enter(now.plus(SILENCE), AgendaItem::Silence);
        self.enter(now.plus(SOON), AgendaItem::Aftermath(self.deaths));
        for number in lost {
            self.ask_again(number);
        }
    }

    /// Others find that a node is silent. What living nodes have in hand is given back as well, as if they stood
    /// still for a while.
    pub(super) fn release_claims(&self) {
        self.around.store.shared.memory.contents().release_all();
    }

    /// No deposit waits any more for the instructions that a dead node asked for, unless another node has died
    /// since or something else goes wrong.
    pub(super) fn look_at_orphans(&self, deaths: u64) {
        if deaths != self.deaths || !self.weather.harms_only_nodes() {
            return;
        }
        let died_at = self.around.alarm.clock.now().minus(SOON);
        let contents = self.around.store.shared.memory.contents();
        let payments = contents.all::<Payment>(Aggregate::PAYMENT).map(|(_, payment)| payment);
        let orphans = payments
            .filter(|payment| payment.awaits_instructions() && payment.terms().created_at <= died_at)
            .map(|payment| format!("{} was left alone by a dead node", payment.id()));
        self.around.book.open().complaints.extend(orphans);
    }
}

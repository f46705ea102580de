//! Chance that follows from a seed.

use std::sync::atomic::{AtomicU64, Ordering};

use quipu_kernel::Entropy;

const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

/// `SplitMix64`: small, and the same everywhere.
const fn mixed(mut state: u64) -> u64 {
    state = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    state = (state ^ (state >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    state ^ (state >> 31)
}

/// What chance decides in a history.
#[derive(Debug, Clone)]
pub struct Dice(u64);

impl Dice {
    /// The dice of this seed.
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Any number.
    pub const fn any(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(STEP);
        mixed(self.0)
    }

    /// A number below `bound`, which is not zero.
    pub const fn below(&mut self, bound: u64) -> u64 {
        self.any() % bound
    }

    /// True once in so many times.
    pub const fn one_in(&mut self, times: u64) -> bool {
        self.below(times) == 0
    }

    /// One of these.
    pub fn pick<'a, T>(&mut self, among: &'a [T]) -> &'a T {
        let most = u64::try_from(among.len()).unwrap_or(u64::MAX);
        &among[usize::try_from(self.below(most)).unwrap_or(0)]
    }
}

/// Bytes for identifiers, which follow from a seed too.
#[derive(Debug)]
pub struct Random(AtomicU64);

impl Random {
    /// The bytes of this seed.
    pub const fn new(seed: u64) -> Self {
        // Apart from the dice of the same seed.
        Self(AtomicU64::new(mixed(seed ^ 0x5155_4950_5500_0001)))
    }
}

impl Entropy for Random {
    fn fill(&self, bytes: &mut [u8]) {
        for chunk in bytes.chunks_mut(8) {
            let number = mixed(self.0.fetch_add(STEP, Ordering::Relaxed).wrapping_add(STEP));
            chunk.copy_from_slice(&number.to_le_bytes()[..chunk.len()]);
        }
    }
}

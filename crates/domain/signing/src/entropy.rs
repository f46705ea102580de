//! The system's random source, made cheap enough for identifiers.

use std::cell::RefCell;

use quipu_kernel::Entropy;
use ring::rand::{SecureRandom, SystemRandom};

/// The bytes that one system call fetches; a payment takes about 40.
const POOL_BYTES: usize = 4096;

/// The system's secure random source.
///
/// Each thread fetches a few kilobytes at a time, because a system call for every identifier costs more than
/// the identifier. Bytes that were handed out are erased from the pool, so that they can be neither given
/// twice nor found there later.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemEntropy;

struct Pool {
    bytes: Box<[u8; POOL_BYTES]>,
    used: usize,
}

thread_local! {
    static POOL: RefCell<Pool> = RefCell::new(Pool { bytes: Box::new([0; POOL_BYTES]), used: POOL_BYTES });
}

impl Entropy for SystemEntropy {
    /// # Panics
    /// If the system provides no randomness, since nothing may be issued then.
    fn fill(&self, bytes: &mut [u8]) {
        if bytes.len() > POOL_BYTES / 4 {
            return fetch(bytes);
        }
        POOL.with_borrow_mut(|pool| {
            if pool.used + bytes.len() > POOL_BYTES {
                fetch(&mut pool.bytes[..]);
                pool.used = 0;
            }
            let given = &mut pool.bytes[pool.used..][..bytes.len()];
            bytes.copy_from_slice(given);
            given.fill(0);
            pool.used += bytes.len();
        });
    }
}

fn fetch(bytes: &mut [u8]) {
    SystemRandom::new().fill(bytes).expect("the operating system has a source of randomness");
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn no_bytes_are_given_twice() {
        let mut seen = HashSet::new();
        for length in (16..64).cycle().take(2000) {
            let mut bytes = vec![0; length];
            SystemEntropy.fill(&mut bytes);
            assert!(seen.insert(bytes[..16].to_vec()));
        }
    }

    #[test]
    fn what_is_handed_out_is_erased_from_the_pool() {
        SystemEntropy.fill(&mut [0; 100]);
        POOL.with_borrow(|pool| assert!(pool.bytes[..pool.used].iter().all(|byte| *byte == 0)));
    }

    #[test]
    fn more_than_a_pool_is_served_as_well() {
        let mut bytes = vec![0; 3 * POOL_BYTES];
        SystemEntropy.fill(&mut bytes);
        assert!(bytes.chunks(64).all(|chunk| chunk.iter().any(|byte| *byte != 0)));
    }
}

//! Collisions: both sides rekey the same SA at the same time. RFC 7296 §2.8.1, §2.8.2.

/// The lower of the two nonces of an exchange, which decides a collision.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct LowestNonce(Vec<u8>);

impl LowestNonce {
    pub(super) fn of(a: &[u8], b: &[u8]) -> Self {
        Self(a.min(b).to_vec())
    }

    /// RFC 7296 §2.8.1: the SA created with the lowest of the four nonces is the one to be closed.
    pub(super) fn loses_to(&self, rival: &Self) -> bool {
        self < rival
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lowest_nonce_of_all_four_loses() {
        let ours = LowestNonce::of(&[5, 0], &[9]);
        let theirs = LowestNonce::of(&[6], &[5, 1]);
        assert!(ours.loses_to(&theirs));
        assert!(!theirs.loses_to(&ours));
    }

    #[test]
    fn a_nonce_that_is_a_prefix_of_another_is_lower() {
        assert!(LowestNonce::of(&[1, 2], &[3]).loses_to(&LowestNonce::of(&[1, 2, 0], &[3])));
    }
}

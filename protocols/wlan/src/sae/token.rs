//! Anti-clogging tokens, §12.4.6: what an access point under many commits asks a station to return before it computes anything.
//!
//! A token is a MAC of the station's address under a secret that changes, so that nothing is kept for a station until it returns
//! one. It proves that the station receives what is sent to its address. On a radio everybody can receive it: tokens make a flood
//! from invented addresses dearer and do not end it, which is why the table of open instances has a limit of its own.

use std::time::Duration;

use keytoll_crypto_api::algorithm::Prf;
use keytoll_crypto_api::{Crypto, Digest, Rng, Secret, about};
use keytoll_engine::Time;

use crate::MacAddr;

/// The secrets of the tokens that are good at the moment.
#[derive(Debug)]
pub(super) struct Tokens {
    secret: Secret,
    /// That of the tokens given before the last change.
    previous: Secret,
    changed_at: Time,
    change_after: Duration,
}

impl Tokens {
    pub(super) fn new(change_after: Duration, rng: &mut Rng) -> Self {
        let [secret, previous] = [draw(rng), draw(rng)];
        Self { secret, previous, changed_at: Time::ZERO, change_after }
    }

    /// The token of a station.
    pub(super) fn give(
        &mut self,
        station: MacAddr,
        now: Time,
        rng: &mut Rng,
        crypto: &mut dyn Crypto,
    ) -> Digest {
        self.change(now, rng);
        token(&self.secret, station, crypto)
    }

    /// Whether a token was given to this station a short time ago.
    pub(super) fn are(
        &mut self,
        token: &[u8],
        station: MacAddr,
        now: Time,
        rng: &mut Rng,
        crypto: &mut dyn Crypto,
    ) -> bool {
        self.change(now, rng);
        let is_of = |secret, crypto: &mut dyn Crypto| self::token(secret, station, crypto).matches(token);
        is_of(&self.secret, crypto) || is_of(&self.previous, crypto)
    }

    fn change(&mut self, now: Time, rng: &mut Rng) {
        for _ in 0..2 {
            if now.since(self.changed_at) >= self.change_after {
                self.previous = std::mem::replace(&mut self.secret, draw(rng));
                self.changed_at += self.change_after;
            }
        }
        if now.since(self.changed_at) >= self.change_after {
            self.changed_at = now;
        }
    }
}

fn token(secret: &Secret, station: MacAddr, crypto: &mut dyn Crypto) -> Digest {
    about(crypto, "token", |crypto| crypto.prf(Prf::HmacSha256, secret, &[&station]))
}

fn draw(rng: &mut Rng) -> Secret {
    Secret::new(rng.bytes::<32>().to_vec())
}

#[cfg(test)]
mod tests {
    use keytoll_crypto::Real;

    use super::*;

    #[test]
    fn a_token_is_good_for_its_station_and_for_one_change() {
        let (rng, crypto) = (&mut Rng::named(1, "tokens"), &mut Real::default());
        let mut tokens = Tokens::new(Duration::from_secs(60), rng);
        let at = |seconds: u64| Time::from_nanos(seconds * 1_000_000_000);
        let token = tokens.give([1; 6], at(50), rng, crypto);
        assert_eq!(token.len(), 32);
        assert!(tokens.are(&token, [1; 6], at(50), rng, crypto));
        assert!(!tokens.are(&token, [2; 6], at(50), rng, crypto), "another station's");
        assert!(!tokens.are(&token[1..], [1; 6], at(50), rng, crypto));
        assert!(tokens.are(&token, [1; 6], at(119), rng, crypto), "after one change");
        assert!(!tokens.are(&token, [1; 6], at(121), rng, crypto), "after two");
        let later = tokens.give([1; 6], at(1000), rng, crypto);
        assert!(tokens.are(&later, [1; 6], at(1001), rng, crypto));
        assert!(!tokens.are(&later, [1; 6], at(5000), rng, crypto));
    }
}

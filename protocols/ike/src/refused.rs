//! Refused offers (NO_PROPOSAL_CHOSEN): the peer's address, what it offered, and what would have been accepted. Read RFC 7296
//! §2.7 and RFC 2408 §5.4 first.
//!
//! Strangers can cause them as often as they like, so they are stored as bytes and suites and formatted only on demand.

use std::fmt;

use keytoll_crypto_api::suite::Suite;
use keytoll_net::{Socket, wire::Reader};

use crate::v1;
use crate::v1::number::AuthenticationMethod;
use crate::v2;
use crate::wire::SecurityAssociation;

/// A refused offer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RefusedProposal {
    /// The peer's address.
    pub remote: Socket,
    /// All of them.
    pub offered: Offered,
    /// What would have been accepted.
    pub acceptable: Acceptable,
}

/// Text is truncated to so many characters.
const CHARS_MAX: usize = 400;

/// Suites beyond these are not kept.
pub(crate) const ACCEPTABLE_MAX: usize = 16;

/// An SA payload as received.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Offered {
    is_v1: bool,
    body: Vec<u8>,
}

impl Offered {
    pub(crate) fn v1(body: &[u8]) -> Self {
        Self { is_v1: true, body: body.to_vec() }
    }

    pub(crate) fn v2(sa: &SecurityAssociation<'_>) -> Self {
        Self { is_v1: false, body: sa.body().to_vec() }
    }

    fn words(&self) -> Option<String> {
        let mut r = Reader::new(&self.body);
        if self.is_v1 {
            return v1::wire::SecurityAssociation::read(&mut r).ok().map(|sa| v1::words::offer(&sa));
        }
        SecurityAssociation::read(&mut r).ok().map(|sa| v2::words::proposals(&sa))
    }
}

impl fmt::Display for Offered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words = self.words().filter(|words| !words.is_empty());
        f.write_str(&shortened(words.as_deref().unwrap_or("nothing")))
    }
}

/// The acceptable suites, in IKEv1 each with its authentication method.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Acceptable(Vec<(Suite, Option<AuthenticationMethod>)>);

impl Acceptable {
    pub(crate) fn suites(suites: &[Suite]) -> Self {
        Self(suites.iter().take(ACCEPTABLE_MAX).map(|suite| (*suite, None)).collect())
    }

    /// Those of phase 1 of IKEv1.
    pub(crate) fn phase1(suites: impl Iterator<Item = (Suite, AuthenticationMethod)>) -> Self {
        let mut kept = Self::default();
        for (suite, method) in suites {
            // RFC 2409 §4: there is a hash, but no integrity algorithm beside it.
            let one = (Suite { integrity: None, ..suite }, Some(method));
            if kept.0.len() < ACCEPTABLE_MAX && !kept.0.contains(&one) {
                kept.0.push(one);
            }
        }
        kept
    }
}

impl fmt::Display for Acceptable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words = self.0.iter().map(|(suite, method)| match method {
            Some(method) => format!("{suite} by {method}"),
            None => suite.to_string(),
        });
        let words = words.collect::<Vec<_>>().join(" or ");
        f.write_str(&shortened(if words.is_empty() {
            "nothing from this address in this mode"
        } else {
            &words
        }))
    }
}

fn shortened(words: &str) -> String {
    let mut shown: String = words.chars().take(CHARS_MAX).collect();
    if shown.len() < words.len() {
        shown.push('…');
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    fn suites(words: &[&str]) -> Vec<Suite> {
        words.iter().map(|words| Suite::ike(words).unwrap()).collect()
    }

    #[test]
    fn acceptable_suites_are_listed_once_and_truncated() {
        let told = Acceptable::suites(&suites(&["aes128gcm16-prfsha256-x25519", "aes256-sha384-ecp384"]));
        assert_eq!(told.to_string(), "aes128gcm16-prfsha256-x25519 or aes256-sha384-prfsha384-ecp384");
        assert_eq!(Acceptable::default().to_string(), "nothing from this address in this mode");
        let twice = suites(&["aes128-sha1-modp1024"; 2]);
        let told = Acceptable::phase1(twice.into_iter().zip([AuthenticationMethod::PRE_SHARED_KEY; 2]));
        assert_eq!(told.to_string(), "aes128-prfsha1-modp1024 by PRE_SHARED_KEY");
        let many = suites(&["aes256-sha512-prfsha512-modp4096"; 100]);
        let told = Acceptable::suites(&many).to_string();
        assert!(told.chars().count() == CHARS_MAX + 1 && told.ends_with('…'), "{told}");
    }

    #[test]
    fn an_empty_offer_is_shown_as_nothing() {
        for is_v1 in [false, true] {
            assert_eq!(Offered { is_v1, body: vec![0xff; 9] }.to_string(), "nothing");
            assert_eq!(Offered { is_v1, body: Vec::new() }.to_string(), "nothing");
        }
    }
}

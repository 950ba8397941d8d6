//! Cookies of IKEv2 in the facts of a run: what a gateway asks for when it has many half-open SAs, and what that costs its initiators.
//! Read RFC 7296 §2.6 first.

use keytoll_engine::trace::{Fact, Message, Name};
use keytoll_ike::names;
use keytoll_ike::number::{ExchangeType, PayloadType};

const REQUEST: Name = names::message_name(ExchangeType::IKE_SA_INIT, false);
const RESPONSE: Name = names::message_name(ExchangeType::IKE_SA_INIT, true);
const NOTIFY: Name = names::payload(PayloadType::NOTIFY);

/// What a message does about a cookie.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cookie {
    /// It asks for one, and nothing else happens.
    Asked,
    /// It begins once more and shows one: that is a round trip more.
    Shown,
}

/// Looks for cookies in the facts of one node after the other, in their order.
#[derive(Debug, Clone, Copy, Default)]
pub struct Cookies {
    /// Whether the last fact told why a request is refused.
    refuses: bool,
}

impl Cookies {
    /// What a fact does about a cookie.
    pub fn see(&mut self, fact: &Fact) -> Option<Cookie> {
        let refuses = std::mem::replace(&mut self.refuses, matches!(fact, Fact::Discarded { .. }));
        match fact {
            Fact::Sent(message) if message.response => (asks(message) && !refuses).then_some(Cookie::Asked),
            Fact::Sent(message) => shows(message).then_some(Cookie::Shown),
            _ => None,
        }
    }
}

// RFC 7296 §2.6, §1.2: without state a responder answers with one notification, to ask for a cookie or to refuse. What it refuses it
// discards, and says why just before.
fn asks(message: &Message) -> bool {
    message.parts.as_slice() == [NOTIFY] && message.name == RESPONSE
}

// RFC 7296 §2.6: the cookie is the first payload, and no other notification comes before the SA payload.
fn shows(message: &Message) -> bool {
    !message.retransmission && message.parts.as_slice().first() == Some(&NOTIFY) && message.name == REQUEST
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sent(response: bool, parts: &[&'static str]) -> Fact {
        let message = names::message(ExchangeType::IKE_SA_INIT, response);
        let parts = parts.iter().map(|part| Name::intern(part).unwrap()).collect();
        Fact::Sent(Message { parts, ..message })
    }

    #[test]
    fn cookies_are_told_from_what_else_is_notified() {
        let mut cookies = Cookies::default();
        let mut see = |fact: &Fact| cookies.see(fact);
        assert_eq!(see(&sent(false, &["SA", "KE", "Nonce", "N", "N"])), None);
        assert_eq!(see(&sent(true, &["N"])), Some(Cookie::Asked));
        assert_eq!(see(&sent(false, &["N", "SA", "KE", "Nonce"])), Some(Cookie::Shown));
        assert_eq!(see(&sent(true, &["SA", "KE", "Nonce", "N"])), None);
        let refused = Fact::Discarded { protocol: names::IKE, why: "no proposal chosen".into() };
        assert_eq!((see(&refused), see(&sent(true, &["N"]))), (None, None));
        assert_eq!(see(&sent(true, &["N"])), Some(Cookie::Asked));
        let Fact::Sent(again) = sent(false, &["N", "SA"]) else { return };
        assert_eq!(see(&Fact::Sent(Message { retransmission: true, ..again })), None);
    }
}

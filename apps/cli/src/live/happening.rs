//! What happened, for people and for programs: a name and some fields, as a line of the log or of JSON.

use std::fmt;

use keytoll_engine::{Addr, Time};
use keytoll_hosts::{Child, Event};
use keytoll_ike::Unproved;
use keytoll_ike::v2::event::Established;
use keytoll_ike::v2::{self, SaId};
use keytoll_ike::wire::{Identity, TrafficSelector};
use keytoll_scenario::node::Role;
use serde_json::{Map, Value, json};

use crate::printable;

/// Something that happened.
#[derive(Debug)]
pub(crate) struct Happening {
    name: &'static str,
    fields: Vec<(&'static str, Value)>,
}

impl Happening {
    pub(crate) fn new(name: &'static str) -> Self {
        Self { name, fields: Vec::new() }
    }

    /// With one more field; none is left out.
    pub(crate) fn with(mut self, key: &'static str, value: impl Into<Option<Value>>) -> Self {
        self.fields.extend(value.into().map(|value| (key, value)));
        self
    }

    /// One or more refused proposals.
    pub(crate) fn of_refused_proposal() -> Self {
        Self::new("proposal-refused").with("why", shown(v2::Reason::NoProposalChosen))
    }

    /// What a host tells; none if it is its own affair.
    pub(crate) fn of(event: &Event) -> Option<Self> {
        Some(match event {
            Event::Usable => Self::new("usable"),
            Event::EchoReply => Self::new("echo-reply"),
            Event::GaveUp(why, gateway) => {
                Self::new("failed").with("why", shown(why)).with("remote", shown(gateway))
            }
            Event::ChildUp(child) => of_child("child-up", child),
            Event::ChildRekeyed { old, new } => {
                of_child("child-rekeyed", new).with("old_spi", child_spi(*old))
            }
            Event::ChildDown(spi) => Self::new("child-down").with("inbound_spi", child_spi(*spi)),
            Event::Accepted(name) => Self::new("accepted").with("user", text(name)),
            Event::Rejected { name, why } => {
                Self::new("rejected").with("user", text(name)).with("why", Value::from(*why))
            }
            Event::Answered { imsi, outcome } => {
                let answered = Self::new("answered").with("imsi", Value::from(imsi.as_str()));
                match outcome {
                    Ok(vectors) => answered.with("vectors", Value::from(*vectors)),
                    Err(refusal) => answered.with("why", Value::from(refusal.to_string())),
                }
            }
            // Only a simulated world has such traffic.
            Event::TrafficEnded => return None,
            Event::Ike(event) => return of_ike(event),
        })
    }

    /// Whether an event is one that somebody should look into.
    pub(crate) fn is_bad_news(event: &Event) -> bool {
        use v2::Event::{ChildFailed, Failed, ProposalRefused};
        matches!(
            event,
            Event::Rejected { .. }
                | Event::GaveUp(..)
                | Event::Ike(Failed(..) | ChildFailed(..) | ProposalRefused(_))
        )
    }

    /// Whether somebody should look into it.
    pub(crate) fn is_bad(&self) -> bool {
        matches!(self.name, "failed" | "child-failed" | "proposal-refused" | "rejected" | "refused")
    }

    /// As a line of JSON.
    pub(crate) fn json(&self, role: Role, at: Time) -> Value {
        let mut object = Map::new();
        object.insert("event".into(), self.name.into());
        object.insert("node".into(), role.name().into());
        object.insert("at_ms".into(), millis(at));
        object.extend(self.fields.iter().map(|(key, value)| ((*key).to_owned(), value.clone())));
        Value::Object(object)
    }
}

impl fmt::Display for Happening {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)?;
        self.fields.iter().try_for_each(|(key, value)| match value {
            Value::String(text) => write!(f, " {key}={}", printable::value(text)),
            other => write!(f, " {key}={other}"),
        })
    }
}

/// Milliseconds with three decimals.
pub(crate) fn millis(at: Time) -> Value {
    json!((at.as_nanos() / 1000) as f64 / 1000.0)
}

/// A name that should be text and may be anything.
fn text(name: &[u8]) -> Value {
    Value::from(name.escape_ascii().to_string())
}

/// An IKE SPI.
pub(crate) fn spi(spi: u64) -> Value {
    Value::from(format!("{spi:016x}"))
}

/// An ESP SPI.
pub(crate) fn child_spi(spi: u32) -> Value {
    Value::from(format!("{spi:08x}"))
}

/// An address.
pub(crate) fn address(address: Addr) -> Value {
    Value::from(address.to_string())
}

/// An identity, an address, a suite: whatever has a text.
pub(crate) fn shown(value: impl fmt::Display) -> Value {
    Value::from(value.to_string())
}

/// A stranger may call itself anything, and at any length.
fn claimed(identity: &Identity) -> Value {
    const CHARS_MAX: usize = 256;
    let mut text = identity.to_string();
    if let Some((end, _)) = text.char_indices().nth(CHARS_MAX) {
        text.truncate(end);
        text.push('…');
    }
    Value::from(text)
}

fn of_child(name: &'static str, child: &Child) -> Happening {
    let traffic = |selector: Option<TrafficSelector>| selector.map(shown);
    Happening::new(name)
        .with("spi", spi(child.sa.0))
        .with("inbound_spi", child_spi(child.inbound_spi))
        .with("outbound_spi", child_spi(child.outbound_spi))
        .with("suite", shown(child.suite))
        .with("local", traffic(child.local))
        .with("remote", traffic(child.remote))
        .with("encapsulated", Value::from(child.encapsulated))
}

fn of_ike(event: &v2::Event) -> Option<Happening> {
    let ended = |name, sa: &SaId, why: &v2::Reason| {
        Happening::new(name).with("spi", spi(sa.0)).with("why", shown(why))
    };
    Some(match event {
        v2::Event::Established(established) => of_established(established),
        v2::Event::Rekeyed { old, new } => {
            Happening::new("rekeyed").with("spi", spi(new.0)).with("old_spi", spi(old.0))
        }
        v2::Event::Closed(sa, why) => ended("closed", sa, why),
        v2::Event::Failed(sa, why, peer) => of_unproved(ended("failed", sa, why), peer.as_deref()),
        v2::Event::ChildFailed(sa, why) => ended("child-failed", sa, why),
        v2::Event::ProposalRefused(refused) => Happening::of_refused_proposal()
            .with("remote", address(refused.remote))
            .with("offered", shown(&refused.offered))
            .with("acceptable", shown(&refused.acceptable)),
        _ => return None,
    })
}

/// With the peer, of whom nothing is proved: where it is, who it says it is, and what is most likely wrong.
fn of_unproved(happening: Happening, peer: Option<&Unproved>) -> Happening {
    let Some(peer) = peer else { return happening };
    happening
        .with("remote", address(peer.remote))
        .with("claimed", peer.claimed.as_ref().map(claimed))
        .with("likely", peer.likely.map(shown))
}

fn of_established(established: &Established) -> Happening {
    let is_other = established.peer.as_ref() != Some(&established.claimed);
    Happening::new("established")
        .with("spi", spi(established.sa.0))
        .with("peer_spi", spi(established.peer_spi))
        .with("peer", established.peer.as_ref().map(shown))
        .with("claimed", is_other.then(|| shown(&established.claimed)))
        .with("remote", address(established.remote))
        .with("suite", shown(established.suite))
        .with("address", established.address.map(shown))
        .with("auth_lifetime_s", established.auth_lifetime.map(|lifetime| Value::from(lifetime.as_secs())))
}

#[cfg(test)]
mod tests {
    use keytoll_ike::Likely;
    use keytoll_ike::number::IdKind;

    use super::*;

    /// A user may be called anything, and programs read the log.
    #[test]
    fn no_value_makes_a_field_of_its_own() {
        let line = |name: &str| Happening::new("accepted").with("user", shown(name)).to_string();
        assert_eq!(line("ue@lab.example.org"), "accepted user=ue@lab.example.org");
        assert_eq!(line("x peer=boss address=10.0.0.1"), r#"accepted user="x peer=boss address=10.0.0.1""#);
        assert_eq!(line("x\u{a0}y"), "accepted user=\"x\u{a0}y\"");
        assert_eq!(line("peer=boss"), r#"accepted user="peer=boss""#);
        assert_eq!(line(r#"x" peer="boss"#), r#"accepted user="x\" peer=\"boss""#);
        assert_eq!(line(r"x\"), r#"accepted user="x\\""#);
        assert_eq!(line(""), r#"accepted user="""#);
    }

    /// Who is not let in may call itself anything, too.
    #[test]
    fn whoever_is_not_let_in_is_named_in_words_of_ours() {
        let name = Identity::new(IdKind::ID_FQDN, b"x\n2026 INFO keytoll: accepted user=boss");
        let remote = Addr::new([192, 0, 2, 7].into(), 500);
        let peer = Unproved { remote, claimed: Some(name), likely: Some(Likely::KeysDiffer) };
        let why = v2::Reason::AuthenticationFailed;
        let failed = Event::Ike(v2::Event::Failed(SaId(1), why, Some(Box::new(peer))));
        assert!(Happening::is_bad_news(&failed));
        let happening = Happening::of(&failed).unwrap();
        let known = "remote=192.0.2.7:500 claimed=fqdn:#780a";
        let line = happening.to_string();
        assert!(
            line.starts_with(&format!("failed spi=0000000000000001 why=AUTHENTICATION_FAILED {known}")),
            "{line}"
        );
        assert!(line.ends_with(" likely=\"the pre-shared keys differ\""), "{line}");
        let json = happening.json(Role::Gateway, Time::ZERO);
        assert_eq!(json["likely"], "the pre-shared keys differ");
        let long = claimed(&Identity::new(IdKind::ID_FQDN, "é".repeat(5000).as_bytes()));
        assert_eq!(long.as_str().unwrap().chars().count(), 257);
        let lost = Event::Ike(v2::Event::Failed(SaId(1), v2::Reason::Internal, None));
        assert_eq!(
            Happening::of(&lost).unwrap().to_string(),
            "failed spi=0000000000000001 why=\"internal error\""
        );
    }

    /// What an HSS, an AAA server and a gateway are told by others, and log.
    #[test]
    fn nothing_that_others_say_begins_a_line_of_the_log() {
        let foreign = "001\n2026-01-01 INFO keytoll: accepted user=boss\u{1b}[2J";
        let answered = Event::Answered { imsi: foreign.to_owned(), outcome: Ok(1) };
        let rejected = Event::Rejected { name: foreign.into(), why: "EAP unknown user" };
        for event in [answered, rejected, Event::Accepted(foreign.into())] {
            let happening = Happening::of(&event).unwrap();
            let line = happening.to_string();
            assert!(!line.chars().any(char::is_control), "{line}");
            assert!(line.contains(r"\n2026"), "{line}");
            let json = happening.json(Role::Hss, Time::ZERO).to_string();
            assert!(!json.chars().any(char::is_control), "{json}");
        }
    }
}

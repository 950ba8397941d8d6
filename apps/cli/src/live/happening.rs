//! What happened, for people and for programs: a name and some fields, as a line of the log or of JSON.

use std::fmt;

use keytoll_engine::{Addr, Time};
use keytoll_hosts::{Child, Event};
use keytoll_ike::v2::event::Established;
use keytoll_ike::v2::{self, SaId};
use keytoll_ike::wire::TrafficSelector;
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

    /// What a host tells; none if it is its own affair.
    pub(crate) fn of(event: &Event) -> Option<Self> {
        Some(match event {
            Event::Usable => Self::new("usable"),
            Event::EchoReply => Self::new("echo-reply"),
            Event::GaveUp(why) => Self::new("failed").with("why", shown(why)),
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
        use v2::Event::{ChildFailed, Failed};
        matches!(event, Event::Rejected { .. } | Event::GaveUp(_) | Event::Ike(Failed(..) | ChildFailed(..)))
    }

    /// Whether somebody should look into it.
    pub(crate) fn is_bad(&self) -> bool {
        matches!(self.name, "failed" | "child-failed" | "rejected" | "refused")
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
        v2::Event::Failed(sa, why) => ended("failed", sa, why),
        v2::Event::ChildFailed(sa, why) => ended("child-failed", sa, why),
        _ => return None,
    })
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

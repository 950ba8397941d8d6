//! Events for people and for programs: a name and some fields, as a line of the log or of JSON.

use std::fmt;
use std::net::SocketAddr;

use keytoll_engine::Time;
use keytoll_hosts::described::{self, Fields};
use keytoll_hosts::event::{Failure, Naming, Reason};
use keytoll_hosts::{Child, Event, SessionId};
use keytoll_net::{Addr, Host};
use keytoll_scenario::node::Role;
use serde_json::{Map, Value, json};
use tracing::{info, warn};

use crate::printable;

/// The event of refused proposals of a peer.
pub(crate) const PROPOSAL_REFUSED: &str = "proposal-refused";
/// The event of a refused RADIUS client.
pub(crate) const CLIENT_REFUSED: &str = "client-refused";

/// A named event with fields.
#[derive(Debug)]
pub(crate) struct Happening {
    name: &'static str,
    fields: Vec<(&'static str, Value)>,
}

impl Happening {
    pub(crate) fn new(name: &'static str) -> Self {
        Self { name, fields: Vec::new() }
    }

    /// Adds a field; an absent value is left out.
    pub(crate) fn with(mut self, key: &'static str, value: impl Into<Option<Value>>) -> Self {
        self.fields.extend(value.into().map(|value| (key, value)));
        self
    }

    /// Adds the fields of a protocol family's description.
    fn described(mut self, fields: Fields) -> Self {
        self.fields.extend(fields.into_iter().map(|(key, value)| (key, self::value(value))));
        self
    }

    /// Adds a session, if there is one.
    fn session(self, naming: Naming, session: impl Into<Option<SessionId>>) -> Self {
        self.with(naming.field, session.into().map(|session| shown((naming.text)(session))))
    }

    /// The event of a host, whose sessions have these names; `None` for internal ones.
    pub(crate) fn of(event: &Event, naming: Naming) -> Option<Self> {
        Some(match event {
            Event::Usable => Self::new("usable"),
            Event::EchoReply => Self::new("echo-reply"),
            Event::GaveUp(failure) | Event::Failed(failure) => of_failure(failure, naming),
            Event::Established(established) => Self::new("established")
                .session(naming, established.session)
                .described(established.details.fields()),
            Event::SubscriberProved { session, subscriber } => {
                Self::new("subscriber-proved").session(naming, *session).with("subscriber", text(subscriber))
            }
            Event::Rekeyed { old, new } => {
                Self::new("rekeyed").session(naming, *new).with(naming.old_field, shown((naming.text)(*old)))
            }
            Event::Closed { session, why } => ended("closed", naming, *session, why),
            Event::ChildFailed { session, why } => ended("child-failed", naming, *session, why),
            Event::ProposalRefused { remote, why, details } => {
                let refused = Self::new(PROPOSAL_REFUSED).with("why", shown(why));
                refused.with("remote", address(*remote)).described(details.fields())
            }
            Event::ChildUp(child) => of_child("child-up", naming, child),
            Event::ChildRekeyed { old, new } => {
                of_child("child-rekeyed", naming, new).with("old_spi", child_spi(*old))
            }
            Event::ChildDown(spi) => Self::new("child-down").with("inbound_spi", child_spi(*spi)),
            Event::Accepted(name) => Self::new("accepted").with("user", text(name)),
            Event::Rejected { name, client, why } => {
                let rejected = Self::new("rejected").with("user", text(name)).with("why", Value::from(*why));
                rejected.with("remote", client.map(shown))
            }
            Event::ClientRefused { client, why } => {
                let refused =
                    Self::new(CLIENT_REFUSED).with("why", Value::from(*why)).with("remote", shown(client));
                refused.with("likely", likely(why).map(Value::from))
            }
            Event::Answered { imsi, outcome } => {
                let answered = Self::new("answered").with("imsi", Value::from(imsi.as_str()));
                match outcome {
                    Ok(vectors) => answered.with("vectors", Value::from(*vectors)),
                    Err(refusal) => answered.with("why", Value::from(refusal.to_string())),
                }
            }
            // Only a simulated world has generated traffic.
            Event::TrafficEnded => return None,
        })
    }

    /// Whether an event deserves a warning.
    pub(crate) fn is_bad_news(event: &Event) -> bool {
        let is_refusal = matches!(
            event,
            Event::Rejected { .. } | Event::ClientRefused { .. } | Event::ProposalRefused { .. }
        );
        is_refusal || event.is_failure()
    }

    /// Whether it deserves a warning.
    fn is_bad(&self) -> bool {
        const BAD: [&str; 6] =
            ["failed", "child-failed", PROPOSAL_REFUSED, CLIENT_REFUSED, "rejected", "refused"];
        BAD.contains(&self.name)
    }

    /// Of a failure that a stranger may have caused: from where, which and why.
    pub(crate) fn complaint(&self) -> Option<(Host, (&'static str, &str))> {
        let text =
            |key: &str| self.fields.iter().find(|(of, _)| *of == key).and_then(|(_, value)| value.as_str());
        let from = text("remote").filter(|_| ["failed", "rejected"].contains(&self.name))?;
        let ip = from.parse().or_else(|_| from.parse().map(|socket: SocketAddr| socket.ip())).ok()?;
        Some((Host::Ip(ip), (self.name, text("why").unwrap_or_default())))
    }

    /// Logs it.
    pub(crate) fn log(&self) {
        if self.is_bad() {
            warn!(target: "keytoll", "{self}");
        } else {
            info!(target: "keytoll", "{self}");
        }
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

/// The likely cause why a client is refused. RFC 2865 §3 and RFC 3579 §3.2: a wrong authenticator means another shared secret.
fn likely(why: &str) -> Option<&'static str> {
    match why {
        "wrong authenticator" | "wrong Message-Authenticator" => {
            Some("its shared secret is another one than in `clients`")
        }
        "unknown client" => Some("its address is not in `clients`"),
        _ => None,
    }
}

/// Milliseconds with three decimals.
pub(crate) fn millis(at: Time) -> Value {
    json!((at.as_nanos() / 1000) as f64 / 1000.0)
}

/// A name that should be text but may be anything.
fn text(name: &[u8]) -> Value {
    Value::from(name.escape_ascii().to_string())
}

/// An ESP SPI.
pub(crate) fn child_spi(spi: u32) -> Value {
    Value::from(format!("{spi:08x}"))
}

/// An address.
pub(crate) fn address(address: Addr) -> Value {
    Value::from(address.to_string())
}

/// Anything with a text form: an identity, an address, a suite.
pub(crate) fn shown(value: impl fmt::Display) -> Value {
    Value::from(value.to_string())
}

/// A field of a family as JSON.
pub(crate) fn value(value: described::Value) -> Value {
    match value {
        described::Value::Text(text) => Value::from(text),
        described::Value::Number(number) => Value::from(number),
        described::Value::Flag(flag) => Value::from(flag),
        described::Value::List(texts) => Value::from(texts),
    }
}

fn of_child(name: &'static str, naming: Naming, child: &Child) -> Happening {
    Happening::new(name)
        .session(naming, child.session)
        .with("inbound_spi", child_spi(child.inbound_spi))
        .with("outbound_spi", child_spi(child.outbound_spi))
        .with("suite", shown(child.suite))
        .with("local", child.local.map(shown))
        .with("remote", child.remote.map(shown))
        .with("encapsulated", Value::from(child.encapsulated))
}

fn ended(name: &'static str, naming: Naming, session: SessionId, why: &Reason) -> Happening {
    Happening::new(name).session(naming, session).with("why", shown(why))
}

/// Adds the unauthenticated identity of the peer, and the likely cause.
fn of_failure(failure: &Failure, naming: Naming) -> Happening {
    Happening::new("failed")
        .session(naming, failure.session)
        .with("why", shown(&failure.why))
        .described(failure.peer.as_ref().map(|peer| peer.fields()).unwrap_or_default())
        .with("likely", failure.likely.map(Value::from))
}

#[cfg(test)]
mod tests {
    use keytoll_hosts::described::Details;

    use super::*;

    /// User names may be anything, and programs read the log.
    #[test]
    fn no_value_can_forge_a_field() {
        let line = |name: &str| Happening::new("accepted").with("user", shown(name)).to_string();
        assert_eq!(line("ue@lab.example.org"), "accepted user=ue@lab.example.org");
        assert_eq!(line("x peer=boss address=10.0.0.1"), r#"accepted user="x peer=boss address=10.0.0.1""#);
        assert_eq!(line("x\u{a0}y"), "accepted user=\"x\u{a0}y\"");
        assert_eq!(line("peer=boss"), r#"accepted user="peer=boss""#);
        assert_eq!(line(r#"x" peer="boss"#), r#"accepted user="x\" peer=\"boss""#);
        assert_eq!(line(r"x\"), r#"accepted user="x\\""#);
        assert_eq!(line(""), r#"accepted user="""#);
    }

    const NAMING: Naming =
        Naming { field: "spi", old_field: "old_spi", text: |session| format!("{:016x}", session.0) };

    /// An unauthenticated peer may claim any name, too.
    #[test]
    fn a_refused_peer_is_named_with_the_likely_cause() {
        let known = Fields::new()
            .with("remote", described::Value::shown("192.0.2.7:500"))
            .with("claimed", described::Value::shown("fqdn:#780a"));
        let failure = Failure {
            session: Some(SessionId(1)),
            why: Reason::new("AUTHENTICATION_FAILED"),
            likely: Some("the pre-shared keys differ"),
            peer: Some(Details::of(Box::new(known))),
        };
        let failed = Event::Failed(Box::new(failure));
        assert!(Happening::is_bad_news(&failed));
        let happening = Happening::of(&failed, NAMING).unwrap();
        assert_eq!(
            happening.to_string(),
            "failed spi=0000000000000001 why=AUTHENTICATION_FAILED remote=192.0.2.7:500 claimed=fqdn:#780a \
             likely=\"the pre-shared keys differ\""
        );
        let json = happening.json(Role::Gateway, Time::ZERO);
        assert_eq!(json["likely"], "the pre-shared keys differ");
        let (session, why) = (Some(SessionId(1)), Reason::new("internal error"));
        let lost = Event::Failed(Box::new(Failure { session, why, likely: None, peer: None }));
        assert_eq!(
            Happening::of(&lost, NAMING).unwrap().to_string(),
            "failed spi=0000000000000001 why=\"internal error\""
        );
    }

    /// Untrusted text in the logs of an HSS, an AAA server and a gateway.
    #[test]
    fn untrusted_text_cannot_forge_a_line_of_the_log() {
        let foreign = "001\n2026-01-01 INFO keytoll: accepted user=boss\u{1b}[2J";
        let answered = Event::Answered { imsi: foreign.to_owned(), outcome: Ok(1) };
        let rejected = Event::Rejected { name: foreign.into(), client: None, why: "EAP unknown user" };
        for event in [answered, rejected, Event::Accepted(foreign.into())] {
            let happening = Happening::of(&event, NAMING).unwrap();
            let line = happening.to_string();
            assert!(!line.chars().any(char::is_control), "{line}");
            assert!(line.contains(r"\n2026"), "{line}");
            let json = happening.json(Role::Hss, Time::ZERO).to_string();
            assert!(!json.chars().any(char::is_control), "{json}");
        }
    }
}

//! RADIUS as captures and observers know it: RFC 2865, RFC 2866, RFC 3579.

mod sessions;
mod words;

use keytoll_crypto_api::{Crypto, Secret};
use keytoll_engine::trace::{Message, Node, Protocol};
use keytoll_family::keys::typed;
use keytoll_family::{
    About, Access, Analyser, Book, ByPort, Content, Conversation, Dissected, Entry, Family, Judgement,
    Method, Opening, Outcome, Passed, Recogniser, Tables,
};
use keytoll_net::Addr;
use keytoll_net::wire::DecodeError;

use crate::number::Code;
use crate::wire::Packet;
use crate::{RADIUS, names};

pub use words::Radius;

/// RFC 2865 §3, RFC 2866 §3, the numbers before them, and RFC 5176 §2.1.
const PORTS: &[u16] = &[1812, 1813, 1645, 1646, 3799];

/// RADIUS.
#[derive(Debug)]
pub struct RadiusFamily;

impl Family for RadiusFamily {
    fn protocols(&self) -> &'static [Protocol] {
        &[RADIUS]
    }

    fn recogniser(&self) -> Option<Box<dyn Recogniser>> {
        Some(Box::new(ByPort { protocol: RADIUS, ports: PORTS, looks_like: is_radius }))
    }

    fn message(&self, _: Protocol, bytes: &[u8]) -> Result<Message, DecodeError> {
        message(bytes)
    }

    fn analyser(&self, tables: &mut Tables) -> Option<Box<dyn Analyser>> {
        let secret = tables.text("preferences").into_iter().flat_map(str::lines);
        let secret = secret.filter_map(|line| line.strip_prefix(PREFERENCE)).next_back();
        let secret = secret.map(|secret| Secret::from(secret.trim().as_bytes()));
        Some(Box::new(RadiusAnalyser { secret, sessions: sessions::Sessions::default() }))
    }

    fn shared_secret(&self, secret: &[u8]) -> Option<Result<Vec<String>, String>> {
        let lines = |secret| vec![format!("{PREFERENCE} {secret}"), VALIDATE.to_owned()];
        let untyped = || "RADIUS with a secret that cannot be typed".to_owned();
        Some(typed(secret).map(lines).ok_or_else(untyped))
    }

    fn wireshark(&self, _: Protocol, _: &[u8]) -> Option<(&'static str, &'static [u16])> {
        Some(("RADIUS", &[1645, 1646, 1812, 1813, 3799]))
    }
}

/// Wireshark's preference that holds the secret.
const PREFERENCE: &str = "radius.shared_secret:";
/// With which Wireshark checks authenticators.
const VALIDATE: &str = "radius.validate_authenticator: TRUE";

fn message(bytes: &[u8]) -> Result<Message, DecodeError> {
    let packet = Packet::read(bytes)?;
    let attributes = packet.attributes.iter().map(|attribute| attribute.kind());
    Ok(names::message(packet.code, packet.identifier, packet.bytes().len(), attributes))
}

fn is_radius(payload: &[u8]) -> bool {
    Packet::read(payload).is_ok_and(|packet| {
        let is_exact = packet.bytes().len() == payload.len();
        is_exact && matches!(packet.code.0, 1..=5 | 11..=13 | 40..=45)
    })
}

/// Follows RADIUS.
struct RadiusAnalyser {
    /// The secret that clients and servers share.
    secret: Option<Secret>,
    sessions: sessions::Sessions,
}

impl Analyser for RadiusAnalyser {
    fn dissect(&mut self, passed: &Passed, _: &mut dyn Crypto) -> Dissected {
        words::dissect(&passed.datagram.bytes)
    }

    fn file(
        &mut self,
        passed: &Passed,
        dissected: Dissected,
        repeats: Option<u64>,
        book: &mut Book,
        crypto: &mut dyn Crypto,
    ) {
        let Some(radius) = dissected.content.of::<Radius>().cloned() else {
            return book.push_unreadable(passed, dissected, (Node::Gw, Node::Aaa), None);
        };
        let dissected = Dissected { content: Box::new(Filed::of(&radius)), ..dissected };
        let check = sessions::Check { secret: self.secret.as_ref(), crypto };
        self.sessions.file(passed, dissected, &radius, repeats, book, check);
    }

    fn whose(&self, from: Addr, to: Addr) -> Option<(usize, (Node, Node))> {
        Some((self.sessions.latest(from, to)?, (Node::Aaa, Node::Gw)))
    }

    fn join(&mut self, book: &mut Book) {
        self.sessions.join(book);
    }

    fn judge(&self, _: usize, conversation: &Conversation) -> Judgement {
        let asks = conversation.entries.iter().any(|entry| entry.content.access() == Some(Access::Requested));
        let method = asks.then(|| method(conversation));
        Judgement { outcome: outcome(conversation.deciding()), method, ..Judgement::default() }
    }
}

/// What is kept of a packet.
#[derive(Debug)]
struct Filed {
    code: Code,
    user: Option<Box<str>>,
}

impl Filed {
    fn of(radius: &Radius) -> Self {
        Self { code: radius.code, user: radius.user.as_deref().map(Box::from) }
    }
}

impl Content for Filed {
    fn access(&self) -> Option<Access> {
        match self.code {
            Code::ACCESS_REQUEST => Some(Access::Requested),
            Code::ACCESS_ACCEPT => Some(Access::Accepted),
            Code::ACCESS_REJECT => Some(Access::Rejected("Access-Reject")),
            _ => None,
        }
    }

    fn tell(&self, _: &Entry, about: &mut About) {
        about.user = about.user.take().or_else(|| self.user.as_deref().map(str::to_owned));
    }
}

/// What a session that is for nothing else here came to.
fn outcome(entries: &[Entry]) -> Outcome {
    for (at, entry) in entries.iter().enumerate() {
        match entry.content.access() {
            Some(Access::Accepted) => return Outcome::Established(at),
            Some(Access::Rejected(why)) => {
                return Outcome::Failed { by: Node::Aaa, why: why.to_owned(), at };
            }
            _ => {}
        }
    }
    let waits = |entry: &Entry| entry.unanswered && entry.content.access() == Some(Access::Requested);
    entries.iter().rposition(waits).map_or(Outcome::Unknown, Outcome::Unanswered)
}

/// The method of a session that asks for access.
fn method(conversation: &Conversation) -> Method {
    let inner = conversation.about.inner_method.as_ref();
    let name = inner.map_or_else(|| "radius".to_owned(), |eap| format!("radius-eap-{}", eap.name));
    let suite = conversation.about.suite.clone().unwrap_or_default();
    Method { name, suite, is_known: true, opening: Opening::of("radius") }
}

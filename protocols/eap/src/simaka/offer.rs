//! The three methods as seen by the EAP layers: configuration, and dispatch of a conversation's messages.

use std::sync::Arc;

use keytoll_crypto_api::{Crypto, Rng};

use super::book::Book;
use super::centre::{AuthenticationCentre, NoVectors, VectorRequest, Vectors, Wanted};
use super::flavour::Flavour;
use super::identity::{imsi_of, permanent, split};
use super::keys::Session;
use super::peer::{self, SharedCard};
use super::server;
use crate::packet::{Message, MethodType};
use crate::question::{Answer, Question, Resynchronisation, Wanted as Asked};
use crate::{Keys, PeerMethod, PeerOffer, PeerStep, Reason, ServerMethod, ServerOffer, ServerStep, Turn};

/// Length of header and type, which the layer writes.
const LAYER_BYTES: usize = 5;

/// One of the methods, configured for a peer.
#[derive(Debug)]
pub(crate) struct PeerSide {
    pub(crate) flavour: Flavour,
    pub(crate) settings: Arc<peer::Settings>,
    pub(crate) card: SharedCard,
}

/// A peer's conversation.
struct PeerConversation {
    flavour: Flavour,
    settings: Arc<peer::Settings>,
    card: SharedCard,
    /// Starts with the first request, which supplies the identity.
    running: Option<peer::Peer>,
}

impl PeerOffer for PeerSide {
    fn method(&self) -> MethodType {
        MethodType(self.flavour.method_type())
    }

    fn proves_server(&self) -> bool {
        true
    }

    fn begin(&self) -> Box<dyn PeerMethod> {
        let (settings, card) = (Arc::clone(&self.settings), self.card.clone());
        Box::new(PeerConversation { flavour: self.flavour, settings, card, running: None })
    }
}

impl PeerMethod for PeerConversation {
    fn on_request(&mut self, request: &Message<'_>, turn: &mut Turn<'_, '_>) -> PeerStep {
        let Self { flavour, settings, card, running } = self;
        let running = running.get_or_insert_with(|| {
            let rng = stream(turn.rng);
            peer::Peer::new(*flavour, Arc::clone(settings), card.clone(), turn.identity.to_vec(), rng)
        });
        match running.on_request(request.packet, request.identifier, turn.cx) {
            peer::Step::Continue(packet) => PeerStep::Continue(data(&packet)),
            peer::Step::Satisfied(packet, done) => {
                PeerStep::Satisfied(data(&packet), keys(done.session, done.session_id))
            }
            peer::Step::Failed(packet, why) => PeerStep::Failed(Some(data(&packet)), Reason(why)),
        }
    }
}

/// One of the methods, configured for a server.
#[derive(Debug)]
pub(crate) struct ServerSide {
    pub(crate) flavour: Flavour,
    pub(crate) settings: Arc<server::Settings>,
    pub(crate) book: Book,
}

/// A server's conversation.
struct ServerConversation {
    flavour: Flavour,
    settings: Arc<server::Settings>,
    book: Book,
    running: Option<server::Server>,
    /// The authenticated identity.
    identity: Option<Vec<u8>>,
}

impl ServerOffer for ServerSide {
    fn method(&self) -> MethodType {
        MethodType(self.flavour.method_type())
    }

    fn suits(&self, identity: &[u8]) -> bool {
        let first = identity.first().copied().map(char::from);
        first.is_some_and(|first| self.flavour.prefixes().contains(&first))
    }

    fn begin(&self) -> Box<dyn ServerMethod> {
        Box::new(ServerConversation {
            flavour: self.flavour,
            settings: Arc::clone(&self.settings),
            book: self.book.clone(),
            running: None,
            identity: None,
        })
    }
}

impl ServerMethod for ServerConversation {
    fn begin(&mut self, turn: &mut Turn<'_, '_>) -> ServerStep {
        let rng = stream(turn.rng);
        let settings = Arc::clone(&self.settings);
        let mut running = server::Server::new(self.flavour, settings, self.book.clone(), rng);
        let next = running.begin(turn.identity, turn.identifier, turn.cx);
        self.running = Some(running);
        self.step(next, turn.identity)
    }

    fn on_response(&mut self, response: &Message<'_>, turn: &mut Turn<'_, '_>) -> ServerStep {
        let Some(running) = &mut self.running else { return ServerStep::Ignore(NOT_BEGUN) };
        let next = running.on_response(response.packet, turn.identifier, turn.cx);
        self.step(next, turn.identity)
    }

    fn on_answer(&mut self, answer: Answer, turn: &mut Turn<'_, '_>) -> ServerStep {
        let Some(running) = &mut self.running else { return ServerStep::Ignore(NOT_BEGUN) };
        let next = running.on_vectors(answer.into(), turn.identifier, turn.cx);
        self.step(next, turn.identity)
    }

    fn identity(&self) -> Option<&[u8]> {
        self.identity.as_deref()
    }
}

const NOT_BEGUN: &str = "EAP message before its method began";

impl ServerConversation {
    fn step(&mut self, next: server::Turn, outer: &[u8]) -> ServerStep {
        match next {
            server::Turn::Request(packet) => ServerStep::Request(data(&packet)),
            server::Turn::Vectors(request) => ServerStep::Ask(question(self.flavour, &request)),
            server::Turn::Ignore => ServerStep::Ignore("EAP message that is not expected now"),
            server::Turn::Failed(why) => ServerStep::Failed(Reason(why)),
            server::Turn::Done(success) => {
                self.identity = Some(permanent(self.flavour, success.imsi, realm(outer)).into_bytes());
                ServerStep::Done(keys(success.session, success.session_id))
            }
        }
    }
}

// RFC 7542 §2.2: labels of letters, digits and hyphens. Others read what comes before `\` or `@` as something else.
/// The realm of an identity, which the peer chooses and nothing proves; empty for one that is no realm.
fn realm(outer: &[u8]) -> &str {
    let is_of_label = |byte: &u8| byte.is_ascii_alphanumeric() || b"-._".contains(byte) || !byte.is_ascii();
    let realm = split(outer).1;
    std::str::from_utf8(realm).ok().filter(|_| realm.iter().all(is_of_label)).unwrap_or_default()
}

/// A random stream for this conversation.
fn stream(rng: &mut Rng) -> Rng {
    rng.seed().stream("simaka")
}

/// The data after the type byte.
fn data(packet: &[u8]) -> Vec<u8> {
    packet[LAYER_BYTES..].to_vec()
}

fn keys(session: Session, session_id: Vec<u8>) -> Keys {
    Keys { msk: Some(session.msk), emsk: Some(session.emsk), session_id }
}

fn question(flavour: Flavour, request: &VectorRequest) -> Question {
    let resynchronisation = request.resynchronise.map(|(rand, auts)| Resynchronisation { rand, auts });
    let wanted = match &request.wanted {
        Wanted::Triplets(count) => Asked::Triplets(u8::try_from(*count).unwrap_or(u8::MAX)),
        Wanted::Quintuplets(_) | Wanted::Separated(_) => {
            Asked::Quintuplet { network: None, resynchronisation }
        }
        Wanted::Bound { network, .. } => {
            Asked::Quintuplet { network: Some(network.clone()), resynchronisation }
        }
    };
    Question { identity: permanent(flavour, request.imsi, "").into_bytes(), wanted }
}

impl VectorRequest {
    /// The request for a question to the authentication centre, with batches of `count` quintuplets; `None` if its identity is
    /// not a permanent one.
    pub fn of(question: &Question, count: usize) -> Option<Self> {
        let imsi = Flavour::ALL.iter().find_map(|&flavour| imsi_of(flavour, &question.identity))?;
        let (wanted, resynchronise) = match &question.wanted {
            Asked::Triplets(count) => (Wanted::Triplets((*count).into()), None),
            Asked::Quintuplet { network: None, resynchronisation } => {
                (Wanted::Quintuplets(count), resynchronisation.as_ref())
            }
            Asked::Quintuplet { network: Some(network), resynchronisation } => {
                (Wanted::Bound { count, network: network.clone() }, resynchronisation.as_ref())
            }
        };
        Some(Self { imsi, wanted, resynchronise: resynchronise.map(|auts| (auts.rand, auts.auts)) })
    }
}

impl AuthenticationCentre {
    /// Answers a question immediately, for a server with its own subscriber database.
    pub fn answer(&mut self, question: &Question, crypto: &mut dyn Crypto) -> Answer {
        let Some(request) = VectorRequest::of(question, 1) else { return Answer::UnknownSubscriber };
        self.vectors(&request, crypto).into()
    }
}

impl From<Result<Vectors, NoVectors>> for Answer {
    /// The first of several quintuplets; the others are for callers that store them.
    fn from(vectors: Result<Vectors, NoVectors>) -> Self {
        match vectors {
            Ok(Vectors::Triplets(triplets)) => Self::Triplets(triplets),
            Ok(Vectors::Quintuplets(list)) => {
                list.into_iter().next().map_or(Self::Unavailable, |vector| Self::Quintuplet(Box::new(vector)))
            }
            Err(NoVectors::UnknownSubscriber) => Self::UnknownSubscriber,
            Err(NoVectors::Resynchronisation) => Self::WrongAuts,
            Err(NoVectors::NotUmts | NoVectors::Unavailable) => Self::Unavailable,
        }
    }
}

impl From<Answer> for Result<Vectors, NoVectors> {
    fn from(answer: Answer) -> Self {
        match answer {
            Answer::Triplets(triplets) => Ok(Vectors::Triplets(triplets)),
            Answer::Quintuplet(vector) => Ok(Vectors::Quintuplets(vec![*vector])),
            Answer::UnknownSubscriber => Err(NoVectors::UnknownSubscriber),
            Answer::WrongAuts => Err(NoVectors::Resynchronisation),
            Answer::Unavailable => Err(NoVectors::Unavailable),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_realm_of_a_peer_looks_like_nothing_else() {
        let realms = ["0001@lab", "0001", "0001@mnc001.mcc001.3gppnetwork.org", "0001@münchen.example"];
        let of = |identity: &'static str| realm(identity.as_bytes());
        assert_eq!(realms.map(of), ["lab", "", "mnc001.mcc001.3gppnetwork.org", "münchen.example"]);
        assert_eq!(["0001@x\\alice@lab", "0001@a@b", "0001@a b", "0001@a\n"].map(of), [""; 4]);
    }
}

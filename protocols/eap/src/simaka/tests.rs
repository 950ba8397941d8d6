//! Conversations of the three methods through the EAP layers, drawn as ladders with their results.

mod endings;
mod hostile;
mod identities;

use std::sync::Arc;

use keytoll_crypto_api::Rng;
use keytoll_engine::Time;

use super::book::{Book, Limits};
use super::card::{Algorithm, Card};
use super::centre::{AuthenticationCentre, Subscriber};
use super::comp128::Version;
use super::flavour::{Flavour, subtype};
use super::identity::{Home, Imsi};
use super::milenage::Milenage;
use super::peer::{self, SharedCard};
use super::server;
use super::sqn::Sqn;
use crate::testing::World;
use crate::{
    Answer, Keys, MethodType, Packet, Peer, PeerConfig, PeerOffer, PeerOutput, Server, ServerConfig,
    ServerOffer, ServerOutput,
};

/// A card, its home network and both ends of EAP.
struct Lab {
    flavour: Flavour,
    world: World,
    card: SharedCard,
    centre: AuthenticationCentre,
    book: Book,
    peer: peer::Settings,
    server: server::Settings,
    /// Whether the subscriber database can be reached.
    reachable: bool,
}

/// How a conversation went.
struct Ended {
    ladder: String,
    peer: PeerOutput,
    server: ServerOutput,
}

fn imsi() -> Imsi {
    Imsi::parse("001010000000001").unwrap()
}

fn milenage(key: u8) -> Algorithm {
    Algorithm::Milenage(Milenage::with_opc(&[key; 16], &[0x22; 16]))
}

impl Lab {
    fn new(flavour: Flavour) -> Self {
        Self::of(flavour, milenage(0x11), milenage(0x11))
    }

    fn of(flavour: Flavour, card: Algorithm, home: Algorithm) -> Self {
        let realm = Home { mcc: 1, mnc: 1 }.realm();
        let mut centre = AuthenticationCentre::new(Rng::named(5, "hss"));
        centre.insert(imsi(), Subscriber { algorithm: home, amf: [0, 0], sqn: Sqn::new(64) });
        Self {
            flavour,
            world: World::real(),
            card: SharedCard::new(Card::new(imsi(), &realm, card, Sqn::new(32))),
            centre,
            book: Book::new(Limits::default()),
            peer: peer::Settings::default(),
            server: server::Settings::default(),
            reachable: true,
        }
    }

    fn offers(&self) -> (Arc<dyn PeerOffer>, Arc<dyn ServerOffer>) {
        let (card, peer) = (self.card.clone(), self.peer.clone());
        let (server, book) = (self.server.clone(), self.book.clone());
        use crate::methods::{aka, aka_prime, sim};
        match self.flavour {
            Flavour::Sim => (sim::peer(card, peer), sim::server(server, book)),
            Flavour::Aka => (aka::peer(card, peer), aka::server(server, book)),
            Flavour::AkaPrime => (aka_prime::peer(card, peer), aka_prime::server(server, book)),
        }
    }

    fn run(&mut self) -> Ended {
        self.run_as(self.card.identity(self.flavour))
    }

    /// A conversation that starts with this identity.
    fn run_as(&mut self, identity: Vec<u8>) -> Ended {
        self.run_through(identity, |_, packet| packet)
    }

    /// A conversation in which `meddle` may alter packet number n.
    fn run_through(&mut self, identity: Vec<u8>, meddle: impl Fn(usize, Vec<u8>) -> Vec<u8>) -> Ended {
        let (peer, server) = self.offers();
        let methods = vec![peer];
        let mut peer = Peer::new(Arc::new(PeerConfig { methods, ..PeerConfig::default() }), identity);
        let methods = vec![server];
        let mut server = Server::new(Arc::new(ServerConfig { methods, ..ServerConfig::default() }));
        let mut ladder = Ladder::default();
        let mut said = self.world.lend(|rng, cx| server.begin(None, rng, cx));
        loop {
            said = self.answered(&mut server, said, &mut ladder);
            let packet = match &said {
                ServerOutput::Send(packet) => packet.clone(),
                ServerOutput::Success(accepted) => accepted.packet.clone(),
                ServerOutput::Failure { packet, .. } => packet.clone(),
                ServerOutput::Ignored => {
                    return Ended { ladder: ladder.text, peer: PeerOutput::Ignored, server: said };
                }
                other => panic!("{other:?} after\n{}", ladder.text),
            };
            ladder.draw("->", &packet);
            let packet = meddle(ladder.count, packet);
            match self.world.give_peer(&mut peer, &packet) {
                PeerOutput::Send(response) => {
                    ladder.draw("<-", &response);
                    let response = meddle(ladder.count, response);
                    said = self.world.give_server(&mut server, &response);
                }
                peer => return Ended { ladder: ladder.text, peer, server: said },
            }
        }
    }

    /// Asks the subscriber database if the server requests it.
    fn answered(&mut self, server: &mut Server, said: ServerOutput, ladder: &mut Ladder) -> ServerOutput {
        let Self { world, centre, reachable, .. } = self;
        match said {
            ServerOutput::Ask(question) => {
                ladder.text.push_str("   hss\n");
                world.lend(|rng, cx| {
                    let answer =
                        if *reachable { centre.answer(&question, cx.crypto) } else { Answer::Unavailable };
                    server.answer(answer, rng, cx)
                })
            }
            said => said,
        }
    }
}

/// One line a packet.
#[derive(Default)]
struct Ladder {
    text: String,
    count: usize,
}

impl Ladder {
    fn draw(&mut self, way: &str, packet: &[u8]) {
        let what = match Packet::read(packet).unwrap() {
            Packet::Success(_) => "Success",
            Packet::Failure(_) => "Failure",
            Packet::Request(message) | Packet::Response(message) => match message.kind {
                MethodType::IDENTITY => "Identity",
                _ => name(message.data[0]),
            },
        };
        self.text.push_str(&format!("{way} {what}\n"));
        self.count += 1;
    }
}

fn name(kind: u8) -> &'static str {
    match kind {
        subtype::AKA_CHALLENGE | subtype::SIM_CHALLENGE => "Challenge",
        subtype::AKA_AUTHENTICATION_REJECT => "Authentication-Reject",
        subtype::AKA_SYNCHRONIZATION_FAILURE => "Synchronization-Failure",
        subtype::AKA_IDENTITY => "AKA-Identity",
        subtype::SIM_START => "Start",
        subtype::NOTIFICATION => "Notification",
        subtype::REAUTHENTICATION => "Re-authentication",
        subtype::CLIENT_ERROR => "Client-Error",
        _ => "?",
    }
}

impl Ended {
    /// Asserts success on both sides with the same keys.
    fn agreed(&self) -> &Keys {
        match (&self.peer, &self.server) {
            (PeerOutput::Success(peer), ServerOutput::Success(server)) => {
                assert_eq!(*peer, server.keys, "{}", self.ladder);
                let permanent = server.identity.windows(15).any(|part| part == imsi().as_str().as_bytes());
                assert!(permanent, "{:?}", String::from_utf8_lossy(&server.identity));
                peer
            }
            other => panic!("{other:?} after\n{}", self.ladder),
        }
    }

    /// Asserts failure; returns the reasons on the peer's and the server's side.
    fn failed(&self) -> (&'static str, &'static str) {
        match (&self.peer, &self.server) {
            (PeerOutput::Failed(peer), ServerOutput::Failure { reason, .. }) => (peer.0, reason.0),
            other => panic!("{other:?} after\n{}", self.ladder),
        }
    }

    /// Asserts the ladder of the conversation.
    fn drew(&self, ladder: &str) -> &Self {
        let lines: Vec<&str> = ladder.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
        let ours: Vec<&str> = self.ladder.lines().map(str::trim).collect();
        assert_eq!(ours, lines, "\n{}", self.ladder);
        self
    }
}

const SIM_FULL: &str = "
    -> Identity
    <- Identity
    -> Start
    <- Start
       hss
    -> Challenge
    <- Challenge
    -> Success";

const AKA_FULL: &str = "
    -> Identity
    <- Identity
       hss
    -> Challenge
    <- Challenge
    -> Success";

const AGAIN: &str = "
    -> Identity
    <- Identity
    -> Re-authentication
    <- Re-authentication
    -> Success";

fn full(flavour: Flavour) -> &'static str {
    if flavour == Flavour::Sim { SIM_FULL } else { AKA_FULL }
}

#[test]
fn a_card_is_accepted_and_both_sides_have_the_same_keys() {
    for flavour in Flavour::ALL {
        let ended = Lab::new(flavour).run();
        let keys = ended.drew(full(flavour)).agreed();
        assert_eq!(keys.msk.as_ref().unwrap().len(), 64);
        assert_eq!(keys.emsk.as_ref().unwrap().len(), 64);
        assert_eq!(keys.session_id[0], flavour.method_type());
    }
}

#[test]
fn null_crypto_runs_the_same_conversations() {
    for flavour in Flavour::ALL {
        let mut lab = Lab::new(flavour);
        lab.world = World::null();
        lab.run().drew(full(flavour)).agreed();
        lab.run().drew(AGAIN).agreed();
    }
}

#[test]
fn gsm_cards_are_accepted_by_eap_sim_with_two_or_three_triplets() {
    for version in [Version::V1, Version::V2, Version::V3] {
        for challenges in [2, 3] {
            let algorithm = Algorithm::comp128(version, &[7; 16]);
            let mut lab = Lab::of(Flavour::Sim, algorithm.clone(), algorithm);
            lab.server.challenges = challenges;
            let ended = lab.run();
            let session_id = &ended.drew(SIM_FULL).agreed().session_id;
            assert_eq!(session_id.len(), 1 + 16 * challenges + 16);
        }
    }
}

#[test]
fn nothing_secret_is_in_a_debug_text() {
    let lab = Lab::new(Flavour::Aka);
    let text = format!("{:?} {:?} {:?}", lab.card, lab.centre, milenage(0x11));
    assert!(!text.contains("17, 17") && !text.contains("1111") && text.contains("Secret("), "{text}");
}

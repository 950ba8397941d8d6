//! HIP: the base exchange, the diet exchange, and the diet exchange with AKA.
//!
//! An authentication is from I1 to the keys of the first pair of SAs on both sides: four packets, with AKA six. R1 is
//! precomputed, as RFC 7401 §4.1.1 has it, and so no part of it. Puzzles have a difficulty of 0 bits: one trial solves them, so
//! that every authentication has the same operations; what a trial costs beside its primitive is a row of its own
//! (`strangers`).
//!
//! With AKA the card and the HSS compute, too: MILENAGE and KASME on either side, the HSS with the gateway's provider. There
//! is no Diameter between them.

use keytoll_crypto::{Metered, Null, Real, keys};
use keytoll_crypto_api::algorithm::{Group, KeyKind};
use keytoll_crypto_api::{Crypto, Rng, Secret};
use keytoll_diameter::server::kasme;
use keytoll_eap::simaka::card::{Algorithm, Card};
use keytoll_eap::simaka::centre::{AuthenticationCentre, Subscriber, VectorRequest, Vectors, Wanted};
use keytoll_eap::simaka::identity::Imsi;
use keytoll_eap::simaka::milenage::Milenage;
use keytoll_eap::simaka::sqn::Sqn;
use keytoll_engine::trace::NoTrace;
use keytoll_engine::{Ctx, Engine, Input, Time};
use keytoll_hip::config::{Aka, Config, Puzzles};
use keytoll_hip::event::{Answer, AssociationId, Command, Event, Refused, Vector};
use keytoll_hip::identity::DietVariant;
use keytoll_hip::wire::aka::{Challenge, Response};
use keytoll_hip::{Endpoint, Hit, HostIdentity};
use keytoll_net::Addr;

use crate::pair::{Side, settle};
use crate::recorder::Recorder;
use crate::{Authenticate, Subject, record};

/// Longer than any timer of an association that was closed.
const UNTIL_FORGOTTEN: std::time::Duration = std::time::Duration::from_secs(3600);
const IMSI: &str = "001010000000001";
/// MCC 001, MNC 01 (TS 24.301 §9.9.3.32).
const PLMN: [u8; 3] = [0x00, 0xf1, 0x10];
const INITIATOR: Addr =
    Addr::Ip { ip: std::net::IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 2)), protocol: 139 };
const RESPONDER: Addr =
    Addr::Ip { ip: std::net::IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 1)), protocol: 139 };

/// One way to authenticate.
#[derive(Clone, Copy)]
pub(crate) enum Case {
    Base(KeyKind),
    Diet,
    DietAka,
}

const CASES: [Case; 4] =
    [Case::Base(KeyKind::EcdsaP256), Case::Base(KeyKind::Rsa2048), Case::Diet, Case::DietAka];

impl Case {
    /// What it is called in the table.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Base(KeyKind::Rsa2048) => "hip-bex with rsa2048, ecp256",
            Self::Base(_) => "hip-bex with ecdsa-p256, ecp256",
            Self::Diet => "hip-dex of draft 24, x25519",
            Self::DietAka => "hip-dex-aka, x25519, with card and HSS",
        }
    }

    /// Who these two are; `pretends`: for null crypto.
    fn identity(self, name: &str, pretends: bool) -> HostIdentity {
        let rng = &mut Rng::named(7, name);
        let identity = match self {
            Self::Base(kind) if pretends => HostIdentity::signing(keys::generate_null(kind, rng), &mut Null),
            Self::Base(kind) => HostIdentity::signing(keys::generate(kind, rng), &mut Real::default()),
            Self::Diet | Self::DietAka => {
                HostIdentity::agreeing(Real::default().generate(Group::X25519, rng), DietVariant::Draft24)
            }
        };
        identity.expect("a kind of key that HIP has")
    }

    /// A configuration of `initiator` or `responder`.
    pub(crate) fn config(self, name: &str, pretends: bool) -> Config {
        let mut config = Config::new(vec![self.identity(name, pretends)]);
        config.groups = vec![Group::Ecp256];
        config.puzzle = Puzzles { difficulty_bits: 0, ..Puzzles::default() };
        config.aka = match (self, name) {
            (Self::DietAka, "initiator") => Aka::Subscriber(IMSI.as_bytes().to_vec()),
            (Self::DietAka, _) => Aka::Required,
            _ => Aka::None,
        };
        config
    }
}

/// Two endpoints, the initiator first.
struct Pair<C> {
    now: Time,
    initiator: Seat<C>,
    responder: Seat<C>,
}

/// An endpoint, its card or its HSS, and what its owner knows of it.
struct Seat<C> {
    endpoint: Endpoint,
    crypto: C,
    hit: Hit,
    card: Card,
    centre: AuthenticationCentre,
    established: Vec<AssociationId>,
    children: usize,
}

fn imsi() -> Imsi {
    Imsi::parse(IMSI).expect("a literal IMSI")
}

impl<C: Crypto> Seat<C> {
    fn new(config: Config, crypto: C, name: &str) -> Self {
        let algorithm = Algorithm::Milenage(Milenage::with_opc(&[0x11; 16], &[0x22; 16]));
        let mut centre = AuthenticationCentre::new(Rng::named(1, "centre"));
        let subscriber = Subscriber { algorithm: algorithm.clone(), amf: [0, 0], sqn: Sqn::new(32) };
        centre.insert(imsi(), subscriber);
        Self {
            hit: config.identities[0].hit(),
            endpoint: Endpoint::new(config, Rng::named(1, name)),
            crypto,
            card: Card::new(imsi(), "", algorithm, Sqn::new(32)),
            centre,
            established: Vec::new(),
            children: 0,
        }
    }

    /// What the HSS says.
    fn vector(&mut self) -> Result<Box<Vector>, Refused> {
        let request = VectorRequest { imsi: imsi(), wanted: Wanted::Separated(1), resynchronise: None };
        let Ok(Vectors::Quintuplets(vectors)) = self.centre.vectors(&request, &mut self.crypto) else {
            return Err(Refused);
        };
        let vector = vectors.into_iter().next().ok_or(Refused)?;
        let key = kasme(&vector.ck, &vector.ik, PLMN, &vector.autn, &mut self.crypto);
        let challenge = Challenge { rand: vector.rand, autn: vector.autn };
        Ok(Box::new(Vector { challenge, expected: vector.xres, key }))
    }

    /// What the card says.
    fn answer(&mut self, Challenge { rand, autn }: Challenge) -> Answer {
        match self.card.umts(&rand, &autn, &mut self.crypto) {
            Ok(answer) => Answer {
                key: kasme(&answer.ck, &answer.ik, PLMN, &autn, &mut self.crypto),
                response: Response::Res(answer.res.to_vec()),
            },
            Err(_) => Answer { key: Secret::default(), response: Response::Reject },
        }
    }
}

impl<C: Crypto> Side for Seat<C> {
    type Engine = Endpoint;

    fn endpoint(&mut self) -> &mut Endpoint {
        &mut self.endpoint
    }

    fn handle(&mut self, input: Input<'_, Command>, now: Time) {
        self.endpoint.handle(input, &mut Ctx { now, crypto: &mut self.crypto, trace: &mut NoTrace });
    }

    fn note(&mut self, event: Event, now: Time) {
        match event {
            Event::Established(up) => self.established.push(up.association),
            Event::ChildUp(..) => self.children += 1,
            Event::VectorWanted { association, .. } => {
                let vector = self.vector();
                self.handle(Input::Command(Command::Vector(association, vector)), now);
            }
            Event::Challenged(association, challenge) => {
                let answer = Box::new(self.answer(challenge));
                self.handle(Input::Command(Command::Answer(association, answer)), now);
            }
            Event::ChildDown(..)
            | Event::Closed(..)
            | Event::CloseEnded(..)
            | Event::SubscriberProved(..) => {}
            other => panic!("{other:?} does not belong to this benchmark"),
        }
    }
}

impl<C: Crypto> Pair<C> {
    fn new([initiator, responder]: [Config; 2], mut crypto: impl FnMut() -> C) -> Self {
        let mut pair = Self {
            now: Time::ZERO,
            initiator: Seat::new(initiator, crypto(), "initiator"),
            responder: Seat::new(responder, crypto(), "responder"),
        };
        pair.prepare();
        pair
    }

    /// R1s are computed before anybody asks for one.
    fn prepare(&mut self) {
        self.responder.handle(Input::Command(Command::Prepare), self.now);
    }

    fn settle(&mut self) {
        settle(&mut self.initiator, &mut self.responder, self.now);
    }
}

impl<C: Crypto> Authenticate for Pair<C> {
    fn authenticate(&mut self) {
        let peer = Some(self.responder.hit);
        let command = Command::Initiate { identity: 0, peer, local: INITIATOR, remote: RESPONDER };
        self.initiator.handle(Input::Command(command), self.now);
        self.settle();
    }

    fn close(&mut self) {
        let seats = [&self.initiator, &self.responder].map(|seat| (seat.established.len(), seat.children));
        assert_eq!(seats, [(1, 1); 2], "both have one association with one pair of SAs");
        let association = self.initiator.established[0];
        self.initiator.handle(Input::Command(Command::Close(association)), self.now);
        self.settle();
        self.now += UNTIL_FORGOTTEN;
        for seat in [&mut self.initiator, &mut self.responder] {
            seat.handle(Input::Tick, self.now);
            seat.established.clear();
            seat.children = 0;
            assert_eq!(seat.endpoint.association_count(), 0, "nothing is kept of a closed association");
        }
        self.prepare();
    }
}

/// Measures and prints every case.
pub(crate) fn measure_all() {
    for case in CASES {
        let configs = |pretends| ["initiator", "responder"].map(|name| case.config(name, pretends));
        let recorded = record(
            |meter| Pair::<Metered<Recorder>>::new(configs(false), meter),
            |pair| [&pair.initiator.crypto, &pair.responder.crypto],
        );
        let subject = Subject {
            title: format!("{}, puzzle of 0 bits", case.name()),
            real: Box::new(Pair::new(configs(false), Real::default)),
            null: Box::new(Pair::new(configs(true), || Null)),
            recorded,
            turns: if matches!(case, Case::Base(KeyKind::Rsa2048)) { 40 } else { 200 },
        };
        subject.measure();
    }
}

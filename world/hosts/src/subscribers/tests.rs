//! Vectors from an HSS over Diameter, and stored vectors.

use keytoll_crypto::Real;
use keytoll_crypto_api::Secret;
use keytoll_diameter::{Name, server};
use keytoll_eap::question::{Resynchronisation, Wanted as Asked};
use keytoll_eap::simaka::card::{Algorithm, Card, Refused};
use keytoll_eap::simaka::centre::Subscriber;
use keytoll_eap::simaka::identity::Imsi;
use keytoll_eap::simaka::milenage::Milenage;
use keytoll_eap::simaka::sqn::Sqn;
use keytoll_engine::trace::NoTrace;
use keytoll_engine::{Datagram, Engine, Time};
use keytoll_net::Socket;

use super::*;
use crate::hss::{Hss, HssConfig};

const IMSI: &str = "001010000000001";

fn address(port: u16) -> Socket {
    Socket { ip: std::net::Ipv4Addr::LOCALHOST.into(), port }
}

fn algorithm() -> Algorithm {
    Algorithm::Milenage(Milenage::with_opc(&[0x11; 16], &[0x22; 16]))
}

fn centre() -> AuthenticationCentre {
    let mut centre = AuthenticationCentre::new(Rng::named(1, "centre"));
    let subscriber = Subscriber { algorithm: algorithm(), amf: [0x80, 0], sqn: Sqn::new(0) };
    centre.insert(Imsi::parse(IMSI).unwrap(), subscriber);
    centre
}

fn name(host: &str) -> Name {
    Name { host: host.into(), realm: "lab".into() }
}

fn access(batch: u8, kept_max: usize) -> HssAccess {
    let diameter = client::Config::new(address(1), address(2), name("aaa"), "lab".into());
    HssAccess { diameter, batch, kept_max }
}

fn question(imsi: &str, wanted: Asked) -> Question {
    Question { identity: format!("0{imsi}@lab").into_bytes(), wanted }
}

fn quintuplet_of(imsi: &str) -> Question {
    question(imsi, Asked::Quintuplet { network: None, resynchronisation: None })
}

/// A vector source and its HSS, connected.
struct Counter {
    source: VectorSource,
    hss: Hss,
    crypto: Real,
    /// The number of vectors that the HSS has generated.
    made: u32,
    next: u64,
}

impl Counter {
    fn new(access: HssAccess) -> Self {
        let config =
            HssConfig { diameter: server::Config::new(address(2), name("hss")), subscribers: centre() };
        Self {
            source: VectorSource::new(Subscribers::Hss(access), &mut Rng::named(1, "source")),
            hss: Hss::new(config),
            crypto: Real::default(),
            made: 0,
            next: 0,
        }
    }

    /// The answer to a question, and how many messages with vectors the HSS sent for it.
    fn answer(&mut self, question: &Question) -> (Answer, u32) {
        self.next += 1;
        let (id, before) = (self.next, self.made);
        let mut cx = Ctx { now: Time::ZERO, crypto: &mut self.crypto, trace: &mut NoTrace };
        if let Some(answer) = self.source.ask(id, question, &mut cx) {
            return (answer, 0);
        }
        assert_eq!(self.source.waiting(), 1);
        let (which, answer) = self.carry().expect("the HSS answers");
        assert_eq!((which, self.source.waiting()), (id, 0));
        (answer, self.made - before)
    }

    /// Carries messages in both directions until there is an answer.
    fn carry(&mut self) -> Option<(u64, Answer)> {
        loop {
            let mut cx = Ctx { now: Time::ZERO, crypto: &mut self.crypto, trace: &mut NoTrace };
            match self.source.poll::<()>() {
                Some(Ok(Answered { id, answer })) => return Some((id, answer)),
                Some(Err(Output::Datagram(Datagram { from, to, bytes, .. }))) => {
                    assert!(self.source.owns(from) && !self.source.owns(to));
                    self.hss.handle(Input::Datagram { from, to, bytes: &bytes }, &mut cx);
                }
                Some(Err(other)) => panic!("{other:?}"),
                None => return None,
            }
            while let Some(output) = self.hss.poll() {
                match output {
                    Output::Datagram(Datagram { from, to, bytes, .. }) => {
                        self.source.handle(Input::Datagram { from, to, bytes: &bytes }, &mut cx);
                    }
                    Output::Event(_) => self.made += 1,
                    other => panic!("{other:?}"),
                }
            }
        }
    }
}

/// The subscriber's card runs AKA with a quintuplet.
fn accepts(card: &mut Card, answer: &Answer) -> Result<(), Refused> {
    let Answer::Quintuplet(vector) = answer else { panic!("{answer:?}") };
    let response = card.umts(&vector.rand, &vector.autn, &mut Real::default())?;
    assert_eq!(response.res, vector.xres);
    Ok(())
}

fn card(sqn: u64) -> Card {
    Card::new(Imsi::parse(IMSI).unwrap(), "lab", algorithm(), Sqn::new(sqn))
}

/// TS 29.273 §8.1.2.1: one request returns vectors for as many authentications as a batch has. Each is used once and in
/// order, and then the HSS is asked again.
#[test]
fn a_batch_of_vectors_serves_as_many_authentications() {
    let (mut counter, mut card) = (Counter::new(access(3, 8)), card(0));
    let requests: Vec<u32> = (0..7)
        .map(|_| {
            let (answer, requests) = counter.answer(&quintuplet_of(IMSI));
            accepts(&mut card, &answer).expect("each vector is fresh");
            requests
        })
        .collect();
    assert_eq!(requests, [1, 0, 0, 1, 0, 0, 1]);
}

/// Dropped vectors are gone, and with a capacity of zero none are stored; a batch of zero is a batch of one.
#[test]
fn without_a_stock_every_authentication_asks() {
    for (batch, kept_max) in [(0, 8), (1, 8), (5, 0)] {
        let mut counter = Counter::new(access(batch, kept_max));
        let requests = [(); 3].map(|()| counter.answer(&quintuplet_of(IMSI)).1);
        assert_eq!(requests, [1, 1, 1], "batches of {batch}, {kept_max} kept");
    }
    let mut counter = Counter::new(access(5, 8));
    counter.answer(&quintuplet_of(IMSI));
    counter.source.forget();
    assert_eq!(counter.answer(&quintuplet_of(IMSI)).1, 1, "the stock was thrown away");
    assert_eq!(counter.answer(&quintuplet_of(IMSI)).1, 0, "there is a new one, as large as before");
}

/// Each method gets its own kind, in the number it asked for, and never another's.
#[test]
fn vectors_are_of_the_kind_that_was_asked_for() {
    let mut counter = Counter::new(access(2, 8));
    for round in 0..2 {
        let (answer, _) = counter.answer(&question(IMSI, Asked::Triplets(3)));
        let Answer::Triplets(triplets) = answer else { panic!("{answer:?}") };
        assert_eq!(triplets.len(), 3, "round {round}");
        let bound = |network: &[u8]| {
            let network = Some(network.to_vec());
            question(IMSI, Asked::Quintuplet { network, resynchronisation: None })
        };
        let asked = [quintuplet_of(IMSI), bound(b"WLAN"), bound(b"HRPD")];
        let answers = asked.map(|question| counter.answer(&question));
        assert!(answers.iter().all(|(_, requests)| *requests == u32::from(round == 0)));
        for (answer, _) in &answers {
            accepts(&mut card(0), answer).expect("a vector of this subscriber");
        }
        let keys = answers.map(|(answer, _)| match answer {
            Answer::Quintuplet(vector) => (vector.rand, vector.ck),
            other => panic!("{other:?}"),
        });
        assert!(keys[0] != keys[1] && keys[1] != keys[2]);
    }
}

/// An HSS returns no more than [`VECTORS_MAX`], and larger batches are cut to that.
#[test]
fn a_batch_is_no_larger_than_a_request_may_be() {
    let mut counter = Counter::new(access(200, 8));
    let authentications = VECTORS_MAX / 3;
    let requests: u32 =
        (0..authentications).map(|_| counter.answer(&question(IMSI, Asked::Triplets(3))).1).sum();
    assert_eq!(requests, 1);
    assert_eq!(counter.answer(&question(IMSI, Asked::Triplets(3))).1, 1, "two are left, which are too few");
}

/// TS 33.102 §6.3.5: a card that is ahead is resynchronised to, a forged AUTS is refused.
#[test]
fn a_card_out_of_step_is_followed_and_a_forged_one_refused() {
    let (mut counter, mut card) = (Counter::new(access(4, 8)), card(0x5000_0000));
    let (answer, _) = counter.answer(&quintuplet_of(IMSI));
    let Err(Refused::Synchronise(auts)) = accepts(&mut card, &answer) else { panic!("the card is ahead") };
    let Answer::Quintuplet(vector) = answer else { unreachable!("the card has seen it") };
    let out_of_step = |auts| {
        let resynchronisation = Some(Resynchronisation { rand: vector.rand, auts });
        question(IMSI, Asked::Quintuplet { network: None, resynchronisation })
    };
    let mut forged = auts;
    forged[13] ^= 1;
    assert_eq!(counter.answer(&out_of_step(forged)), (Answer::WrongAuts, 1));
    let (answer, requests) = counter.answer(&out_of_step(auts));
    assert_eq!(requests, 1, "what was in stock is older");
    accepts(&mut card, &answer).expect("in step again");
    let (answer, requests) = counter.answer(&quintuplet_of(IMSI));
    assert_eq!(requests, 0, "the batch that came with it is kept");
    accepts(&mut card, &answer).expect("still in step");
}

/// An unknown subscriber never gets a vector, whatever the source.
#[test]
fn unknown_subscribers_get_no_vectors() {
    let mut counter = Counter::new(access(4, 8));
    assert_eq!(counter.answer(&quintuplet_of("999990000000000")).0, Answer::UnknownSubscriber);
    let nonsense = Question { identity: b"nobody@lab".to_vec(), ..quintuplet_of(IMSI) };
    assert_eq!(counter.answer(&nonsense), (Answer::UnknownSubscriber, 0), "the HSS is not even asked");
    let mut cx = Ctx { now: Time::ZERO, crypto: &mut Real::default(), trace: &mut NoTrace };
    let mut nobody = VectorSource::new(Subscribers::Nobody, &mut Rng::named(1, "source"));
    assert_eq!(nobody.ask(1, &quintuplet_of(IMSI), &mut cx), Some(Answer::Unavailable));
    assert!(
        nobody.poll::<()>().is_none()
            && nobody.deadline().is_none()
            && !nobody.owns(Addr::tcp(std::net::Ipv4Addr::LOCALHOST.into(), 1))
            && nobody.waiting() == 0
    );
    let mut own = VectorSource::new(Subscribers::Own(centre()), &mut Rng::named(1, "source"));
    let answer = own.ask(1, &quintuplet_of(IMSI), &mut cx).expect("at once");
    accepts(&mut card(0), &answer).expect("a vector of this subscriber");
    assert!(
        own.poll::<()>().is_none()
            && own.deadline().is_none()
            && !own.owns(Addr::tcp(std::net::Ipv4Addr::LOCALHOST.into(), 1))
            && own.waiting() == 0
    );
}

/// An HSS that returns too few vectors, of another kind, or none counts as unavailable.
#[test]
fn the_hss_must_return_enough_vectors_of_the_right_kind() {
    let mut source = HssSource::new(access(1, 8), &mut Rng::named(1, "source"));
    let secret = |len| Secret::new(vec![7; len]);
    let gsm = || Vector::Gsm { rand: [1; 16], sres: secret(4), kc: secret(8) };
    let (_, need) = translate(&question(IMSI, Asked::Triplets(3))).expect("a permanent identity");
    assert_eq!(need.count, 3);
    assert_eq!(source.answered(need, Ok(vec![gsm(), gsm()])), Answer::Unavailable);
    let need = || translate(&quintuplet_of(IMSI)).expect("a permanent identity").1;
    assert_eq!(source.answered(need(), Ok(vec![gsm()])), Answer::Unavailable);
    assert_eq!(source.answered(need(), Err(Refusal::UserUnknown)), Answer::UnknownSubscriber);
    for refusal in [Refusal::UnableToComply, Refusal::Unavailable] {
        assert_eq!(
            source.answered(need(), Err(refusal)),
            Answer::Unavailable,
            "no AUTS was wrong: none was sent"
        );
    }
}

/// The source connects before its first question; a lost HSS is not reconnected without need.
#[test]
fn the_source_connects_at_once_and_reconnects_on_demand() {
    let mut counter = Counter::new(access(1, 8));
    let why = |source: &VectorSource| source.deadline().map(|deadline| (deadline.at, deadline.why));
    assert_eq!(why(&counter.source), Some((Time::ZERO, "diameter connect")));
    let mut cx = Ctx { now: Time::ZERO, crypto: &mut counter.crypto, trace: &mut NoTrace };
    counter.source.handle(Input::Tick, &mut cx);
    assert!(counter.carry().is_none(), "nobody has asked");
    let connected = why(&counter.source);
    assert!(connected.is_some_and(|(at, _)| at > Time::ZERO), "{connected:?}: the watchdog's");
    assert_eq!(counter.answer(&quintuplet_of(IMSI)).1, 1);
    let mut cx = Ctx { now: Time::ZERO, crypto: &mut counter.crypto, trace: &mut NoTrace };
    counter.source.handle(Input::Lost { peer: Addr::Tcp(address(2)), local: Addr::Tcp(address(1)) }, &mut cx);
    let lost = why(&counter.source);
    assert!(lost.is_some() && lost < connected, "{lost:?}: it connects again, and soon");
}

fn key(imsi: u32) -> Key {
    (format!("{imsi:015}"), Wanted::Sim)
}

/// Vectors that differ.
fn vectors(names: std::ops::Range<u8>) -> VecDeque<Vector> {
    let vector = |name| {
        let (sres, kc) = (Secret::from(&[0; 4][..]), Secret::from(&[0; 8][..]));
        Vector::Gsm { rand: [name; 16], sres, kc }
    };
    names.map(vector).collect()
}

fn store(most: usize) -> VectorStore {
    VectorStore { most, ..VectorStore::default() }
}

#[test]
fn vectors_are_used_in_their_order_and_never_twice() {
    let mut store = store(8);
    store.put(key(1), vectors(0..7));
    assert_eq!(store.take(&key(1), 3), Some(vectors(0..3).into()));
    assert_eq!(store.take(&key(1), 3), Some(vectors(3..6).into()));
    assert_eq!(store.take(&key(1), 3), None, "one is too few");
    assert_eq!(store.take(&key(2), 1), None, "another's are not touched");
}

#[test]
fn a_new_batch_takes_the_place_of_an_old_one() {
    let mut store = store(8);
    store.put(key(1), vectors(0..2));
    store.put(key(1), vectors(9..12));
    assert_eq!(store.take(&key(1), 3), Some(vectors(9..12).into()));
    assert!(store.vectors.is_empty() && store.order.is_empty());
}

#[test]
fn the_oldest_vectors_are_dropped_first() {
    let mut store = store(3);
    (0..100).for_each(|imsi| store.put(key(imsi), vectors(0..1)));
    assert_eq!((store.vectors.len(), store.order.len()), (3, 3));
    assert!(store.take(&key(96), 1).is_none() && store.take(&key(97), 1).is_some());
}

#[test]
fn one_subscriber_s_vectors_are_forgotten_and_no_others() {
    let mut store = store(8);
    [1, 2].into_iter().for_each(|imsi| store.put(key(imsi), vectors(0..2)));
    store.forget(&key(1).0);
    assert_eq!((store.vectors.len(), store.order.len()), (1, 1));
    assert!(store.order.values().any(|kept| *kept == key(2)) && store.take(&key(2), 1).is_some());
}

#[test]
fn vectors_requested_before_a_resynchronisation_are_not_stored_after_it() {
    let addr = |port| Socket { ip: std::net::Ipv4Addr::LOCALHOST.into(), port };
    let name = Name { host: "aaa".into(), realm: "lab".into() };
    let diameter = client::Config::new(addr(1), addr(2), name, "lab".into());
    let access = HssAccess { diameter, batch: 2, kept_max: 8 };
    let mut source = HssSource::new(access, &mut Rng::named(1, "aaa"));
    let question = |resynchronisation| Question {
        identity: b"0001010000000001@lab".to_vec(),
        wanted: Asked::Quintuplet { network: None, resynchronisation },
    };
    let out_of_step = Resynchronisation { rand: [1; 16], auts: [2; 14] };
    for (id, question) in [(1, question(None)), (2, question(Some(out_of_step)))] {
        let mut cx = Ctx { now: Time::ZERO, crypto: &mut keytoll_crypto::Null, trace: &mut NoTrace };
        assert!(source.ask(id, &question, &mut cx).is_none());
    }
    let secret = |len| Secret::new(vec![7; len]);
    let umts =
        || Vector::Umts { rand: [1; 16], autn: [2; 16], xres: secret(8), ck: secret(16), ik: secret(16) };
    for (id, kept) in [(1, 0), (2, 1)] {
        let need = source.waiting.remove(&id).unwrap();
        let answer = source.answered(need, Ok(vec![umts(), umts()]));
        assert!(matches!(answer, Answer::Quintuplet(_)));
        assert_eq!(source.store.order.len(), kept, "question {id}");
    }
}

#[test]
fn after_a_resynchronisation_nothing_older_is_left() {
    let mut store = store(8);
    let bound = (key(1).0, Wanted::AkaPrime(b"WLAN".to_vec()));
    store.put(key(1), vectors(0..3));
    store.put(bound.clone(), vectors(0..1));
    store.put(key(2), vectors(0..3));
    store.forget(&key(1).0);
    assert!(store.take(&key(1), 1).is_none() && store.take(&bound, 1).is_none());
    assert!(store.take(&key(2), 1).is_some());
}

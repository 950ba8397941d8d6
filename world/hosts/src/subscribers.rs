//! The AAA server's source of authentication vectors: its own authentication centre, or the HSS over Diameter, which is
//! asked for batches; unused vectors are stored. 3GPP TS 29.273 §8.1.2.1, TS 33.102 §6.3.2.

use std::collections::{BTreeMap, VecDeque};
use std::fmt;

use keytoll_crypto_api::Rng;
use keytoll_diameter::client;
use keytoll_diameter::vectors::{VECTORS_MAX, resynchronisation};
use keytoll_diameter::{Refusal, Request, Vector, Wanted};
use keytoll_eap::simaka::centre::{AuthenticationCentre, VectorRequest, Wanted as OfCentre};
use keytoll_eap::simaka::vector::{Quintuplet, Triplet};
use keytoll_eap::{Answer, Question};
use keytoll_engine::{Ctx, Deadline, Input, Output};
use keytoll_net::Addr;

use crate::HssClient;

/// Where the AAA server gets vectors.
#[derive(Default)]
pub enum Subscribers {
    /// No source: questions remain unanswered.
    #[default]
    Nobody,
    /// An authentication centre of its own.
    Own(AuthenticationCentre),
    /// The HSS.
    Hss(HssAccess),
}

impl fmt::Debug for Subscribers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Nobody => "Nobody",
            Self::Own(_) => "Own(..)",
            Self::Hss(_) => "Hss(..)",
        })
    }
}

/// How the AAA server reaches the HSS.
#[derive(Debug, Clone)]
pub struct HssAccess {
    /// The Diameter client.
    pub diameter: client::Config,
    /// For how many authentications vectors are requested at a time, at least one; the rest is stored. No request asks for
    /// more than [`VECTORS_MAX`].
    pub batch: u8,
    /// The number of subscribers whose vectors are stored; the oldest are dropped first.
    pub kept_max: usize,
}

/// The AAA server's source of vectors, at work.
pub(crate) enum VectorSource {
    /// No question has an answer.
    Nobody,
    /// Every question is answered immediately.
    Own(Box<AuthenticationCentre>),
    /// Questions go to the HSS.
    Hss(Box<HssSource>),
}

impl VectorSource {
    pub(crate) fn new(subscribers: Subscribers, rng: &mut Rng) -> Self {
        match subscribers {
            Subscribers::Nobody => Self::Nobody,
            Subscribers::Own(centre) => Self::Own(Box::new(centre)),
            Subscribers::Hss(access) => Self::Hss(Box::new(HssSource::new(access, rng))),
        }
    }

    /// Asks for vectors; if `None`, the answer comes from [`Self::poll`] under the same number.
    pub(crate) fn ask(&mut self, id: u64, question: &Question, cx: &mut Ctx<'_>) -> Option<Answer> {
        match self {
            Self::Nobody => Some(Answer::Unavailable),
            Self::Own(centre) => Some(centre.answer(question, cx.crypto)),
            Self::Hss(source) => source.ask(id, question, cx),
        }
    }

    /// Drops stored vectors.
    pub(crate) fn forget(&mut self) {
        if let Self::Hss(source) = self {
            source.store = VectorStore { most: source.store.most, ..VectorStore::default() };
        }
    }

    /// The number of unanswered questions.
    pub(crate) fn waiting(&self) -> usize {
        match self {
            Self::Nobody | Self::Own(_) => 0,
            Self::Hss(source) => source.waiting.len(),
        }
    }

    /// Whether a datagram to this address is for this source.
    pub(crate) fn owns(&self, to: Addr) -> bool {
        matches!(self, Self::Hss(source) if source.client.owns(to))
    }

    pub(crate) fn handle(&mut self, input: Input<'_, client::Command>, cx: &mut Ctx<'_>) {
        if let Self::Hss(source) = self {
            source.client.handle(input, cx);
        }
    }

    /// The next answer with its question's number, or an output of the Diameter client.
    pub(crate) fn poll<E>(&mut self) -> Option<Result<Answered, Output<E>>> {
        match self {
            Self::Nobody | Self::Own(_) => None,
            Self::Hss(source) => source.poll(),
        }
    }

    pub(crate) fn deadline(&self) -> Option<Deadline> {
        match self {
            Self::Nobody | Self::Own(_) => None,
            Self::Hss(source) => source.client.deadline(),
        }
    }
}

/// A question has its answer.
pub(crate) struct Answered {
    /// The question's number.
    pub(crate) id: u64,
    /// The answer.
    pub(crate) answer: Answer,
}

/// Outstanding questions to the HSS, and unused vectors.
pub(crate) struct HssSource {
    client: HssClient,
    batch: u32,
    waiting: BTreeMap<u64, Need>,
    store: VectorStore,
}

/// The vectors that a question needs.
struct Need {
    key: Key,
    count: usize,
    resynchronises: bool,
    /// Whether surplus vectors are older than a resynchronisation.
    stale: bool,
}

impl HssSource {
    fn new(access: HssAccess, rng: &mut Rng) -> Self {
        Self {
            client: HssClient::new(access.diameter, rng),
            batch: access.batch.max(1).into(),
            waiting: BTreeMap::new(),
            store: VectorStore { most: access.kept_max, ..VectorStore::default() },
        }
    }

    fn ask(&mut self, id: u64, question: &Question, cx: &mut Ctx<'_>) -> Option<Answer> {
        let Some((mut request, need)) = translate(question) else { return Some(Answer::UnknownSubscriber) };
        if need.resynchronises {
            // TS 33.102 §6.3.5: vectors from before the resynchronisation are not to be used.
            self.store.forget(&request.imsi);
            let same = |need: &&mut Need| need.key.0 == request.imsi;
            self.waiting.values_mut().filter(same).for_each(|need| need.stale = true);
        } else if let Some(vectors) = self.store.take(&need.key, need.count) {
            return Some(answer(&need.key.1, vectors));
        }
        request.count = (request.count * self.batch).min(VECTORS_MAX);
        self.waiting.insert(id, need);
        self.client.ask(id, request, cx);
        None
    }

    fn poll<E>(&mut self) -> Option<Result<Answered, Output<E>>> {
        loop {
            match self.client.poll()?.event() {
                Ok(client::Event::Answered { id, vectors }) => {
                    if let Some(need) = self.waiting.remove(&id) {
                        return Some(Ok(Answered { id, answer: self.answered(need, vectors) }));
                    }
                }
                Ok(client::Event::Down) => {}
                Err(output) => return Some(Err(output)),
            }
        }
    }

    fn answered(&mut self, need: Need, vectors: Result<Vec<Vector>, Refusal>) -> Answer {
        match vectors {
            Ok(vectors) if vectors.len() >= need.count => {
                let mut vectors = VecDeque::from(vectors);
                let now = vectors.drain(..need.count).collect();
                let answer = answer(&need.key.1, now);
                if !need.stale {
                    self.store.put(need.key, vectors);
                }
                answer
            }
            Ok(_) => Answer::Unavailable,
            Err(Refusal::UserUnknown) => Answer::UnknownSubscriber,
            Err(Refusal::UnableToComply) if need.resynchronises => Answer::WrongAuts,
            Err(_) => Answer::Unavailable,
        }
    }
}

/// Converts a question to a Diameter request for one authentication; `None` if its identity is not a permanent one.
fn translate(question: &Question) -> Option<(Request, Need)> {
    let VectorRequest { imsi, wanted, resynchronise } = VectorRequest::of(question, 1)?;
    let (wanted, count) = match wanted {
        OfCentre::Triplets(count) => (Wanted::Sim, count),
        OfCentre::Quintuplets(count) | OfCentre::Separated(count) => (Wanted::Aka, count),
        OfCentre::Bound { count, network } => (Wanted::AkaPrime(network), count),
    };
    let imsi = imsi.as_str().to_owned();
    let resynchronisation = resynchronise.map(|(rand, auts)| resynchronisation(&rand, &auts));
    let need = Need {
        key: (imsi.clone(), wanted.clone()),
        count,
        resynchronises: resynchronisation.is_some(),
        stale: false,
    };
    let count = u32::try_from(count).unwrap_or(VECTORS_MAX);
    Some((Request { imsi, wanted, count, resynchronisation }, need))
}

/// The vectors of one authentication; the Diameter client returns only those that were requested.
fn answer(wanted: &Wanted, vectors: Vec<Vector>) -> Answer {
    if *wanted == Wanted::Sim {
        return Answer::Triplets(vectors.into_iter().filter_map(triplet).collect());
    }
    let first = vectors.into_iter().find_map(quintuplet);
    first.map_or(Answer::Unavailable, |vector| Answer::Quintuplet(Box::new(vector)))
}

fn triplet(vector: Vector) -> Option<Triplet> {
    match vector {
        Vector::Gsm { rand, sres, kc } => Some(Triplet { rand, sres, kc }),
        Vector::Umts { .. } | Vector::Eps { .. } => None,
    }
}

fn quintuplet(vector: Vector) -> Option<Quintuplet> {
    match vector {
        Vector::Umts { rand, autn, xres, ck, ik } => Some(Quintuplet { rand, autn, xres, ck, ik }),
        Vector::Gsm { .. } | Vector::Eps { .. } => None,
    }
}

/// Subscriber and kind of vectors.
type Key = (String, Wanted);

/// Unused vectors in the order in which they are to be used.
#[derive(Default)]
struct VectorStore {
    most: usize,
    /// With the number of its coming.
    vectors: BTreeMap<Key, (u64, VecDeque<Vector>)>,
    /// Keys by age.
    order: BTreeMap<u64, Key>,
    came: u64,
}

impl VectorStore {
    fn take(&mut self, key: &Key, count: usize) -> Option<Vec<Vector>> {
        let (_, kept) = self.vectors.get_mut(key).filter(|(_, kept)| kept.len() >= count)?;
        let taken = kept.drain(..count).collect();
        if kept.is_empty() {
            self.remove(key);
        }
        Some(taken)
    }

    fn put(&mut self, key: Key, vectors: VecDeque<Vector>) {
        self.remove(&key);
        if vectors.is_empty() || self.most == 0 {
            return;
        }
        while self.order.len() >= self.most {
            let Some((_, oldest)) = self.order.pop_first() else { break };
            self.vectors.remove(&oldest);
        }
        self.came += 1;
        self.order.insert(self.came, key.clone());
        self.vectors.insert(key, (self.came, vectors));
    }

    fn remove(&mut self, key: &Key) {
        if let Some((came, _)) = self.vectors.remove(key) {
            self.order.remove(&came);
        }
    }

    fn forget(&mut self, imsi: &str) {
        let of_imsi = self.vectors.range((imsi.to_owned(), Wanted::Sim)..);
        let keys: Vec<Key> =
            of_imsi.map(|(key, _)| key.clone()).take_while(|(whose, _)| whose == imsi).collect();
        keys.iter().for_each(|key| self.remove(key));
    }
}

#[cfg(test)]
mod tests;

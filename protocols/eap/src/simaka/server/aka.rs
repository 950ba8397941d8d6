//! The challenge of EAP-AKA and EAP-AKA′ on the server. Read RFC 4187 §3, §9.3 to §9.6, RFC 9048 §3.1 to §3.3 first.

use keytoll_engine::Ctx;

use super::super::attribute::{Attribute, kind};
use super::super::centre::{NoVectors, VectorRequest, Vectors, Wanted};
use super::super::flavour::{Flavour, subtype};
use super::super::keys::Keys;
use super::super::message::{Builder, Fault, Message};
use super::super::vector::Quintuplet;
use super::super::{KDF_CK_PRIME, reason};
use super::finish::{Fresh, Proven};
use super::identify::Peer;
use super::{Failure, Next, Shared, State, Success, Turn, no_vectors, same, session_id};

/// Waits for a quintuplet from the subscriber database.
#[derive(Debug)]
pub(super) struct AwaitVectors {
    peer: Peer,
    resynchronised: bool,
}

/// AKA-Challenge is outstanding.
#[derive(Debug)]
pub(super) struct Challenged {
    peer: Peer,
    resynchronised: bool,
    vector: Quintuplet,
    /// The functions in AT_KDF.
    kdfs: Vec<u16>,
    proven: Proven,
}

/// The challenge that was out of sequence, and AUTS.
type Auts = ([u8; 16], [u8; 14]);

pub(super) fn ask_vectors(peer: Peer, resynchronise: Option<Auts>, shared: &Shared) -> (State, Turn) {
    let wanted = match shared.flavour {
        Flavour::AkaPrime => Wanted::Bound { count: 1, network: shared.settings.network.clone() },
        Flavour::Sim | Flavour::Aka => Wanted::Quintuplets(1),
    };
    let request = VectorRequest { imsi: peer.imsi, wanted, resynchronise };
    let wait = AwaitVectors { peer, resynchronised: resynchronise.is_some() };
    (State::AkaVectors(wait), Turn::Vectors(request))
}

impl AwaitVectors {
    pub(super) fn on_vectors(
        self,
        vectors: Result<Vectors, NoVectors>,
        shared: &mut Shared,
        cx: &mut Ctx<'_>,
    ) -> Next {
        let Vectors::Quintuplets(list) = vectors.map_err(no_vectors)? else {
            return Err(Failure::Notify(reason::NO_VECTORS));
        };
        let vector = list.into_iter().next().ok_or(Failure::Notify(reason::NO_VECTORS))?;
        let kdfs = shared.settings.kdfs.clone();
        Ok(challenge(self, vector, kdfs, shared, cx))
    }
}

/// Sends AKA-Challenge.
fn challenge(
    wait: AwaitVectors,
    vector: Quintuplet,
    kdfs: Vec<u16>,
    shared: &mut Shared,
    cx: &mut Ctx<'_>,
) -> (State, Turn) {
    let AwaitVectors { peer, resynchronised } = wait;
    let derive = if shared.flavour == Flavour::AkaPrime { Keys::aka_prime } else { Keys::aka };
    let (keys, session) = derive(&peer.identity, &vector.ck, &vector.ik, cx.crypto);
    let fresh = Fresh::draw(&peer.identity, 1, shared);
    let request = request(&peer, &vector, &kdfs, &keys, &fresh, shared, cx);
    let session_id = session_id(shared.flavour, &[&vector.rand, &vector.autn]);
    let success = Success { imsi: peer.imsi, session, session_id, fast: false };
    let proven = Proven { keys, success, fresh, counter: None };
    let wait = Challenged { peer, resynchronised, vector, kdfs, proven };
    (State::AkaChallenged(Box::new(wait)), Turn::Request(request))
}

fn request(
    peer: &Peer,
    vector: &Quintuplet,
    kdfs: &[u16],
    keys: &Keys,
    fresh: &Fresh,
    shared: &mut Shared,
    cx: &mut Ctx<'_>,
) -> Vec<u8> {
    let checkcode = peer.transcript.checkcode(shared.flavour, cx.crypto);
    let bidding = shared.flavour == Flavour::Aka && shared.settings.prefers_prime;
    let mut request = Builder::request(shared.flavour, shared.identifier, subtype::AKA_CHALLENGE)
        .with(&Attribute::Rand(&vector.rand))
        .with(&Attribute::Autn(vector.autn));
    if shared.flavour == Flavour::AkaPrime {
        // RFC 9048 §3.1: the network's name and the functions offered are in every challenge.
        request = request.with(&Attribute::KdfInput(&shared.settings.network));
        request = kdfs.iter().fold(request, |request, &kdf| request.with(&Attribute::Kdf(kdf)));
    }
    request
        .with_if(shared.settings.result_indications, &Attribute::ResultInd)
        .with_if(bidding, &Attribute::Bidding(true))
        .with(&Attribute::Checkcode(&checkcode))
        .encrypted(&fresh.attributes(), keys, &mut shared.rng, cx.crypto)
        .seal(keys, &[], cx.crypto)
}

impl Challenged {
    pub(super) fn on_response(self, message: &Message<'_>, shared: &mut Shared, cx: &mut Ctx<'_>) -> Next {
        match message.subtype {
            subtype::AKA_CHALLENGE if message.attributes.has(kind::KDF) => self.on_kdf(message, shared, cx),
            subtype::AKA_CHALLENGE => self.on_answer(message, shared, cx),
            subtype::AKA_SYNCHRONIZATION_FAILURE => self.on_auts(message, shared),
            // RFC 4187 §9.5: the server ends the conversation with EAP-Failure.
            subtype::AKA_AUTHENTICATION_REJECT => Err(Failure::End(reason::NETWORK_REJECTED)),
            other => Err(Fault::Subtype(other).into()),
        }
    }

    fn on_answer(self, message: &Message<'_>, shared: &mut Shared, cx: &mut Ctx<'_>) -> Next {
        message.attributes.only(&[kind::RES, kind::MAC])?;
        message.verify(&self.proven.keys, &[], cx.crypto)?;
        self.peer.transcript.verify(shared.flavour, &message.attributes, cx.crypto)?;
        let res = message.attributes.res().ok_or(Fault::Missing("AT_RES"))?;
        if !same(&self.vector.xres, res) {
            return Err(Failure::Notify(reason::WRONG_RESPONSE));
        }
        Ok(self.proven.finish(message, shared, cx))
    }

    /// The card was ahead of the subscriber database, or far behind.
    fn on_auts(self, message: &Message<'_>, shared: &Shared) -> Next {
        // RFC 9048 §3.2: the peer of EAP-AKA′ repeats AT_KDF here.
        message.attributes.only(&[kind::AUTS, kind::KDF])?;
        let auts = message.attributes.auts().ok_or(Fault::Missing("AT_AUTS"))?;
        // RFC 4187 §6.3.1: the number of attempts is left open; a database that is synchronised once stays so.
        if self.resynchronised {
            return Err(Failure::Notify(reason::RESYNCHRONISATION));
        }
        Ok(ask_vectors(self.peer, Some((self.vector.rand, auts)), shared))
    }

    /// RFC 9048 §3.2: the peer requests another of the offered functions, which it may do once.
    fn on_kdf(self, message: &Message<'_>, shared: &mut Shared, cx: &mut Ctx<'_>) -> Next {
        message.attributes.only(&[kind::KDF])?;
        let offered = &shared.settings.kdfs;
        let first_time = self.kdfs == *offered;
        match message.attributes.kdfs()[..] {
            [KDF_CK_PRIME]
                if first_time
                    && offered.first() != Some(&KDF_CK_PRIME)
                    && offered.contains(&KDF_CK_PRIME) =>
            {
                let kdfs = [&[KDF_CK_PRIME], &offered[..]].concat();
                let wait = AwaitVectors { peer: self.peer, resynchronised: self.resynchronised };
                Ok(challenge(wait, self.vector, kdfs, shared, cx))
            }
            _ => Err(Failure::Notify(reason::NO_KDF)),
        }
    }
}

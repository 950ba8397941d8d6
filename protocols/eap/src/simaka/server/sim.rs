//! The challenge of EAP-SIM on the server. Read RFC 4186 §3, §9.3 and §9.4 first.

use keytoll_crypto_api::Secret;
use keytoll_engine::Ctx;

use super::super::SIM_VERSION;
use super::super::SIM_VERSIONS;
use super::super::attribute::{Attribute, kind};
use super::super::centre::{NoVectors, VectorRequest, Vectors, Wanted};
use super::super::flavour::{Flavour, subtype};
use super::super::keys::{Keys, SimInputs};
use super::super::message::{Builder, Message};
use super::super::reason;
use super::super::vector::Triplet;
use super::finish::{Fresh, Proven};
use super::identify::Peer;
use super::{Failure, Next, Shared, State, Success, Turn, expect_subtype, no_vectors, session_id};

/// Waits for triplets from the subscriber database.
#[derive(Debug)]
pub(super) struct AwaitVectors {
    peer: Peer,
    nonce_mt: [u8; 16],
}

/// SIM/Challenge is outstanding.
#[derive(Debug)]
pub(super) struct Challenged {
    proven: Proven,
    sres: Vec<Secret>,
}

/// RFC 4186 §10.9: two or three challenges.
fn count(shared: &Shared) -> usize {
    shared.settings.challenges.clamp(2, 3)
}

pub(super) fn ask_vectors(peer: Peer, nonce_mt: [u8; 16], shared: &Shared) -> (State, Turn) {
    let wanted = Wanted::Triplets(count(shared));
    let request = VectorRequest { imsi: peer.imsi, wanted, resynchronise: None };
    (State::SimVectors(AwaitVectors { peer, nonce_mt }), Turn::Vectors(request))
}

impl AwaitVectors {
    pub(super) fn on_vectors(
        self,
        vectors: Result<Vectors, NoVectors>,
        shared: &mut Shared,
        cx: &mut Ctx<'_>,
    ) -> Next {
        match vectors.map_err(no_vectors)? {
            Vectors::Triplets(triplets) if triplets.len() >= count(shared) => {
                Ok(self.challenge(&triplets[..count(shared)], shared, cx))
            }
            _ => Err(Failure::Notify(reason::NO_VECTORS)),
        }
    }

    fn challenge(self, triplets: &[Triplet], shared: &mut Shared, cx: &mut Ctx<'_>) -> (State, Turn) {
        let Self { peer, nonce_mt } = self;
        let kcs: Vec<Secret> = triplets.iter().map(|triplet| triplet.kc.clone()).collect();
        let identity = &peer.identity[..];
        let inputs = SimInputs {
            identity,
            kcs: &kcs,
            nonce_mt: &nonce_mt,
            versions: SIM_VERSIONS,
            selected: SIM_VERSION,
        };
        let (keys, session) = Keys::sim(&inputs, cx.crypto);
        let rands: Vec<u8> = triplets.iter().flat_map(|triplet| triplet.rand).collect();
        let fresh = Fresh::draw(&peer.identity, 1, shared);
        let request = Builder::request(Flavour::Sim, shared.identifier, subtype::SIM_CHALLENGE)
            .with(&Attribute::Rand(&rands))
            .with_if(shared.settings.result_indications, &Attribute::ResultInd)
            .encrypted(&fresh.attributes(), &keys, &mut shared.rng, cx.crypto)
            .seal(&keys, &[&nonce_mt], cx.crypto);
        let session_id = session_id(Flavour::Sim, &[&rands, &nonce_mt]);
        let success = Success { imsi: peer.imsi, session, session_id, fast: false };
        let sres = triplets.iter().map(|triplet| triplet.sres.clone()).collect();
        let proven = Proven { keys, success, fresh, counter: None };
        (State::SimChallenged(Challenged { proven, sres }), Turn::Request(request))
    }
}

impl Challenged {
    pub(super) fn on_response(self, message: &Message<'_>, shared: &mut Shared, cx: &mut Ctx<'_>) -> Next {
        expect_subtype(message, subtype::SIM_CHALLENGE)?;
        message.attributes.only(&[kind::MAC])?;
        // RFC 4186 §9.4: the answers to the challenges are proved by AT_MAC alone.
        let sres: Vec<&[u8]> = self.sres.iter().map(|sres| &sres[..]).collect();
        message.verify(&self.proven.keys, &sres, cx.crypto)?;
        Ok(self.proven.finish(message, shared, cx))
    }
}

//! The card of a device, which answers the gateway's challenge. TS 33.102 §6.3.3, TS 33.401 §6.1.1.

use keytoll_crypto_api::{Crypto, Secret};
use keytoll_diameter::server::kasme;
use keytoll_eap::simaka::card::{Answer as Proof, Refused};
use keytoll_eap::simaka::peer::SharedCard;
use keytoll_hip::event::Answer;
use keytoll_hip::wire::aka::{Challenge, Response};
use keytoll_scenario::families::hip::Aka;

/// Where AMF begins in AUTN, and its first bit (TS 33.102 §6.3.2, Annex H).
const AMF_AT: usize = 6;
const SEPARATION_BIT: u8 = 0x80;

/// A card, and what its keys are bound to.
#[derive(Debug, Clone)]
pub struct Card {
    /// The card.
    pub card: SharedCard,
    /// The AKA that the gateway performs.
    pub aka: Aka,
    /// The serving network's PLMN identity.
    pub network: [u8; 3],
}

impl Card {
    /// What a device says to a challenge; one without a card believes no network.
    pub(in crate::hip) fn answer_of(
        card: Option<&Self>,
        challenge: &Challenge,
        crypto: &mut dyn Crypto,
    ) -> Answer {
        card.map_or_else(|| refusal(Response::Reject), |card| card.answer(challenge, crypto))
    }

    /// What the card says to a challenge.
    fn answer(&self, challenge: &Challenge, crypto: &mut dyn Crypto) -> Answer {
        // TS 33.401 §6.1.1: a vector for UMTS, whose CK and IK leave the home network, does not count.
        if self.aka == Aka::Eps && challenge.autn[AMF_AT] & SEPARATION_BIT == 0 {
            return refusal(Response::Reject);
        }
        match self.card.umts(&challenge.rand, &challenge.autn, crypto) {
            Ok(proof) => Answer {
                response: Response::Res(proof.res.to_vec()),
                key: self.key(&proof, challenge, crypto),
            },
            Err(Refused::Synchronise(auts)) => refusal(Response::Auts(auts)),
            Err(Refused::Mac | Refused::NotUmts | Refused::Memory) => refusal(Response::Reject),
        }
    }

    fn key(&self, proof: &Proof, challenge: &Challenge, crypto: &mut dyn Crypto) -> Secret {
        match self.aka {
            Aka::Eps => kasme(&proof.ck, &proof.ik, self.network, &challenge.autn, crypto),
            Aka::Umts => Secret::new([&proof.ck[..], &proof.ik[..]].concat()),
        }
    }
}

/// What a card says that does not answer.
fn refusal(response: Response) -> Answer {
    Answer { response, key: Secret::new(Vec::new()) }
}

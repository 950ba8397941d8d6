//! The authentication centre: subscribers, and vectors for them. Read 3GPP TS 33.102 §6.3.2 and §6.3.5 first. Keys never leave
//! it, only vectors do.

use std::collections::BTreeMap;

use keytoll_crypto_api::{Crypto, Rng};

use super::card::{Algorithm, open_auts};
use super::identity::Imsi;
use super::milenage::Milenage;
use super::sqn::Sqn;
use super::vector::{Quintuplet, Triplet};

/// TS 33.102 Annex H: the separation bit, set in vectors whose CK and IK never leave the home network.
pub(super) const SEPARATION_BIT: u8 = 0x80;

/// Maximum number of vectors per request (TS 29.272 §7.3.15 has no limit; MAP had five).
pub const BATCH_MAX: usize = 32;

/// A request for vectors of a subscriber.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VectorRequest {
    /// The subscriber.
    pub imsi: Imsi,
    /// Kind and number of vectors.
    pub wanted: Wanted,
    /// The challenge that was out of sequence and the AUTS of the card.
    pub resynchronise: Option<([u8; 16], [u8; 14])>,
}

/// Kinds of vectors.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Wanted {
    /// GSM triplets.
    Triplets(usize),
    /// UMTS quintuplets.
    Quintuplets(usize),
    /// UMTS quintuplets with the separation bit set, from which KASME is derived.
    Separated(usize),
    /// Quintuplets with CK′ and IK′ for the access network of this name.
    Bound {
        /// How many.
        count: usize,
        /// The access network's name (TS 24.302 §8.1.1).
        network: Vec<u8>,
    },
}

/// Vectors, in the order in which they are to be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Vectors {
    /// GSM triplets.
    Triplets(Vec<Triplet>),
    /// Quintuplets, bound to the access network if requested.
    Quintuplets(Vec<Quintuplet>),
}

/// Why there are no vectors.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NoVectors {
    /// There is no subscriber with this IMSI.
    #[error("unknown subscriber")]
    UnknownSubscriber,
    /// The subscriber's card does not support this: quintuplets from COMP128.
    #[error("not a UMTS subscriber")]
    NotUmts,
    /// MAC-S of AUTS is wrong.
    #[error("resynchronisation refused")]
    Resynchronisation,
    /// The subscriber database could not be reached or did not answer.
    #[error("no answer from the subscriber database")]
    Unavailable,
}

/// One subscriber.
#[derive(Debug, Clone)]
pub struct Subscriber {
    /// The algorithm with its keys.
    pub algorithm: Algorithm,
    /// The authentication management field put into AUTN.
    pub amf: [u8; 2],
    /// The sequence number last used.
    pub sqn: Sqn,
}

/// The purpose of quintuplets.
#[derive(Clone, Copy)]
enum Use<'a> {
    /// UMTS, EAP-AKA.
    Plain,
    /// EPS: CK and IK stay in the home network, inside KASME.
    Separated,
    /// CK′ and IK′ for the access network of this name.
    Bound(&'a [u8]),
}

/// The subscribers of a home network.
#[derive(Debug)]
pub struct AuthenticationCentre {
    subscribers: BTreeMap<Imsi, Subscriber>,
    rng: Rng,
}

impl AuthenticationCentre {
    /// A centre without subscribers; challenges are drawn from `rng`.
    pub fn new(rng: Rng) -> Self {
        Self { subscribers: BTreeMap::new(), rng }
    }

    /// Adds or replaces a subscriber.
    pub fn insert(&mut self, imsi: Imsi, subscriber: Subscriber) {
        self.subscribers.insert(imsi, subscriber);
    }

    /// Generates vectors; at most [`BATCH_MAX`], at least one.
    ///
    /// # Errors
    /// The subscriber is unknown, its card does not support this, or AUTS is invalid.
    pub fn vectors(
        &mut self,
        request: &VectorRequest,
        crypto: &mut dyn Crypto,
    ) -> Result<Vectors, NoVectors> {
        let Self { subscribers, rng } = self;
        let subscriber = subscribers.get_mut(&request.imsi).ok_or(NoVectors::UnknownSubscriber)?;
        if let Some((rand, auts)) = &request.resynchronise {
            subscriber.resynchronise(rand, auts, crypto)?;
        }
        match &request.wanted {
            Wanted::Triplets(count) => {
                let triplet = |_| subscriber.triplet(rng.bytes(), crypto);
                Ok(Vectors::Triplets((0..batch(*count)).map(triplet).collect()))
            }
            Wanted::Quintuplets(count) => subscriber.quintuplets(batch(*count), rng, Use::Plain, crypto),
            Wanted::Separated(count) => subscriber.quintuplets(batch(*count), rng, Use::Separated, crypto),
            Wanted::Bound { count, network } => {
                subscriber.quintuplets(batch(*count), rng, Use::Bound(network), crypto)
            }
        }
    }
}

fn batch(count: usize) -> usize {
    count.clamp(1, BATCH_MAX)
}

impl Subscriber {
    fn milenage(&self) -> Result<&Milenage, NoVectors> {
        match &self.algorithm {
            Algorithm::Milenage(milenage) => Ok(milenage),
            Algorithm::Comp128 { .. } => Err(NoVectors::NotUmts),
        }
    }

    fn triplet(&self, rand: [u8; 16], crypto: &mut dyn Crypto) -> Triplet {
        let (sres, kc) = self.algorithm.gsm(&rand, crypto);
        Triplet { rand, sres, kc }
    }

    fn quintuplets(
        &mut self,
        count: usize,
        rng: &mut Rng,
        purpose: Use<'_>,
        crypto: &mut dyn Crypto,
    ) -> Result<Vectors, NoVectors> {
        let quintuplet = |_| self.quintuplet(rng.bytes(), purpose, crypto);
        (0..count).map(quintuplet).collect::<Result<_, _>>().map(Vectors::Quintuplets)
    }

    fn quintuplet(
        &mut self,
        rand: [u8; 16],
        purpose: Use<'_>,
        crypto: &mut dyn Crypto,
    ) -> Result<Quintuplet, NoVectors> {
        let sqn = self.sqn.next();
        let [mut amf0, amf1] = self.amf;
        if !matches!(purpose, Use::Plain) {
            amf0 |= SEPARATION_BIT;
        }
        let vector = Quintuplet::generate(self.milenage()?, rand, sqn, [amf0, amf1], crypto);
        self.sqn = sqn;
        Ok(match purpose {
            Use::Bound(network) => vector.bound_to(network, crypto),
            Use::Plain | Use::Separated => vector,
        })
    }

    /// TS 33.102 §6.3.5: a valid AUTS moves our sequence number up to the card's, never back.
    fn resynchronise(
        &mut self,
        rand: &[u8; 16],
        auts: &[u8; 14],
        crypto: &mut dyn Crypto,
    ) -> Result<(), NoVectors> {
        let card = open_auts(self.milenage()?, rand, auts, crypto).ok_or(NoVectors::Resynchronisation)?;
        self.sqn = self.resynchronised(card);
        Ok(())
    }

    /// A number whose successors the card accepts: ours if it is not too far ahead of the card's, else the card's.
    fn resynchronised(&self, card: Sqn) -> Sqn {
        let too_far = self.sqn > card.advanced(1 << 27);
        if self.sqn < card || too_far { card } else { self.sqn }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simaka::card::{Card, Refused};
    use crate::simaka::comp128::Version;
    use crate::simaka::testing::real;

    fn imsi() -> Imsi {
        Imsi::parse("001010000000001").unwrap()
    }

    fn algorithm() -> Algorithm {
        Algorithm::Milenage(Milenage::with_opc(&[0x11; 16], &[0x22; 16]))
    }

    fn centre(algorithm: Algorithm, sqn: u64) -> AuthenticationCentre {
        let mut centre = AuthenticationCentre::new(Rng::named(1, "hss"));
        centre.insert(imsi(), Subscriber { algorithm, amf: [0, 0], sqn: Sqn::new(sqn) });
        centre
    }

    fn request(wanted: Wanted) -> VectorRequest {
        VectorRequest { imsi: imsi(), wanted, resynchronise: None }
    }

    fn quintuplets(centre: &mut AuthenticationCentre, request: &VectorRequest) -> Vec<Quintuplet> {
        match centre.vectors(request, &mut real()) {
            Ok(Vectors::Quintuplets(vectors)) => vectors,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn the_card_accepts_a_batch_in_any_order() {
        let mut centre = centre(algorithm(), 0);
        let mut card = Card::new(imsi(), "", algorithm(), Sqn::new(0));
        let batch = quintuplets(&mut centre, &request(Wanted::Quintuplets(5)));
        assert_eq!(batch.len(), 5);
        for vector in batch.iter().rev() {
            assert_eq!(card.umts(&vector.rand, &vector.autn, &mut real()).unwrap().res, vector.xres);
        }
    }

    #[test]
    fn a_card_ahead_or_far_behind_resynchronises_the_centre() {
        for (ours, cards) in [(0, 0x5000_0000), (1 << 40, 0)] {
            let mut centre = centre(algorithm(), ours);
            let mut card = Card::new(imsi(), "", algorithm(), Sqn::new(cards));
            let mut request = request(Wanted::Quintuplets(1));
            let first = &quintuplets(&mut centre, &request)[0];
            let Err(Refused::Synchronise(auts)) = card.umts(&first.rand, &first.autn, &mut real()) else {
                panic!("out of step, but accepted");
            };
            request.resynchronise = Some((first.rand, auts));
            let second = &quintuplets(&mut centre, &request)[0];
            card.umts(&second.rand, &second.autn, &mut real()).unwrap();
        }
    }

    #[test]
    fn bound_vectors_carry_the_separation_bit_and_other_keys() {
        let wanted = Wanted::Bound { count: 1, network: b"WLAN".to_vec() };
        let bound = &quintuplets(&mut centre(algorithm(), 0), &request(wanted))[0];
        let plain = &quintuplets(&mut centre(algorithm(), 0), &request(Wanted::Quintuplets(1)))[0];
        assert_eq!((bound.autn[6], plain.autn[6]), (0x80, 0));
        assert!(bound.ck != plain.ck && bound.ik != plain.ik && bound.xres == plain.xres);
    }

    #[test]
    fn refused_requests_have_a_reason() {
        let mut gsm = centre(Algorithm::comp128(Version::V1, &[1; 16]), 0);
        let mut ask = |request: &VectorRequest| gsm.vectors(request, &mut real());
        assert!(matches!(ask(&request(Wanted::Triplets(3))), Ok(Vectors::Triplets(list)) if list.len() == 3));
        assert_eq!(ask(&request(Wanted::Quintuplets(1))), Err(NoVectors::NotUmts));
        let stranger =
            VectorRequest { imsi: Imsi::parse("999990000000000").unwrap(), ..request(Wanted::Triplets(1)) };
        assert_eq!(ask(&stranger), Err(NoVectors::UnknownSubscriber));
        let forged =
            VectorRequest { resynchronise: Some(([0; 16], [0; 14])), ..request(Wanted::Quintuplets(1)) };
        assert_eq!(centre(algorithm(), 7).vectors(&forged, &mut real()), Err(NoVectors::Resynchronisation));
    }

    #[test]
    fn debug_shows_no_key() {
        let text = format!("{:?}", centre(Algorithm::comp128(Version::V1, &[0xab; 16]), 0));
        assert!(text.contains("Secret(16 bytes)") && !text.contains("171"), "{text}");
    }

    /// A card accepts no number further ahead than TS 33.102 §C.2.1 permits; half of that leaves room for later ones.
    #[test]
    fn a_centre_is_resynchronised_only_if_the_card_would_refuse_its_next_number() {
        let card = Sqn::new(0x20_0000);
        let ahead = |steps| card.advanced(steps);
        for (ours, expected) in [
            (Sqn::new(0x10_0000), card),
            (card, card),
            (ahead(5), ahead(5)),
            (ahead(1 << 27), ahead(1 << 27)),
            (ahead((1 << 27) + 1), card),
        ] {
            let subscriber = Subscriber { algorithm: algorithm(), amf: [0, 0], sqn: ours };
            assert_eq!(subscriber.resynchronised(card), expected, "{ours:?}");
        }
    }
}

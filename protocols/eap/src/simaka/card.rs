//! The subscriber's card: answers of a (U)SIM to a challenge, and the temporary identities that the peer stores with it.
//! Read 3GPP TS 33.102 §6.3.3 (authentication), §6.3.5 (resynchronisation) first.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use keytoll_crypto_api::{Crypto, Secret};

use super::comp128::{Version, comp128};
use super::flavour::Flavour;
use super::identity::{Imsi, permanent};
use super::keys::Keys;
use super::milenage::{Milenage, xor};
use super::sqn::{Sqn, Window};
use super::vector::gsm;

/// A subscriber's algorithm and keys; the same on the card and in the authentication centre.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Algorithm {
    /// Milenage, for GSM challenges too.
    Milenage(Milenage),
    /// COMP128, for GSM challenges only.
    Comp128 {
        /// Which COMP128.
        version: Version,
        /// Ki, 16 bytes.
        ki: Secret,
    },
}

impl Algorithm {
    /// A card of GSM times.
    pub fn comp128(version: Version, ki: &[u8; 16]) -> Self {
        Self::Comp128 { version, ki: Secret::from(&ki[..]) }
    }

    /// SRES and Kc of a GSM challenge.
    pub(super) fn gsm(&self, rand: &[u8; 16], crypto: &mut dyn Crypto) -> (Secret, Secret) {
        match self {
            Self::Milenage(milenage) => gsm(&milenage.challenge(rand, crypto), crypto),
            Self::Comp128 { version, ki } => {
                comp128(*version, ki[..].try_into().expect("Ki has 16 bytes"), rand)
            }
        }
    }
}

/// A card's non-volatile memory: TS 33.102 §6.3.3 requires SQN_MS to be kept.
pub trait Memory: fmt::Debug + Send + Sync {
    /// Stores the sequence numbers accepted so far; returns whether it succeeded.
    fn keep(&self, window: &Window) -> bool;
}

/// A card with its memory.
#[derive(Debug, Clone)]
pub struct Card {
    /// The subscriber.
    pub imsi: Imsi,
    /// The realm of its identities; may be empty.
    pub realm: String,
    algorithm: Algorithm,
    window: Window,
    /// Where the window is stored persistently, if anywhere.
    memory: Option<Arc<dyn Memory>>,
    temporary: BTreeMap<Flavour, Temporary>,
}

/// The temporary identities that the server assigned.
#[derive(Debug, Clone, Default)]
struct Temporary {
    pseudonym: Option<Vec<u8>>,
    reauthentication: Option<Reauthentication>,
}

/// State of a full authentication for the fast re-authentication after it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reauthentication {
    /// The identity to present, realm included.
    pub identity: Vec<u8>,
    /// The keys that stay.
    pub keys: Keys,
    /// The lowest counter value to accept.
    pub counter: u16,
}

/// A USIM's answer to a valid challenge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// RES.
    pub res: Secret,
    /// CK.
    pub ck: Secret,
    /// IK.
    pub ik: Secret,
}

/// Why a USIM refuses a challenge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refused {
    /// It has no UMTS algorithm.
    NotUmts,
    /// MAC-A is invalid: the network does not know our key.
    Mac,
    /// The sequence number is not fresh; with the AUTS.
    Synchronise([u8; 14]),
    /// It cannot store the sequence number, and would accept the challenge again.
    Memory,
}

impl Card {
    /// A card that has accepted sequence numbers up to `highest`.
    pub fn new(imsi: Imsi, realm: &str, algorithm: Algorithm, highest: Sqn) -> Self {
        let window = Window::starting_at(highest);
        Self { imsi, realm: realm.to_owned(), algorithm, window, memory: None, temporary: BTreeMap::new() }
    }

    /// The same card with sequence numbers from persistent memory, which stores new ones.
    #[must_use]
    pub fn remembering(self, window: Window, memory: Arc<dyn Memory>) -> Self {
        Self { window, memory: Some(memory), ..self }
    }

    /// Simulates that it accepted sequence numbers in another network, `steps` beyond the highest so far.
    pub fn advance(&mut self, steps: u64) {
        self.window = Window::starting_at(self.window.highest().advanced(steps));
    }

    /// SRES and Kc.
    pub fn gsm(&self, rand: &[u8; 16], crypto: &mut dyn Crypto) -> (Secret, Secret) {
        self.algorithm.gsm(rand, crypto)
    }

    /// Verifies AUTN and answers.
    ///
    /// # Errors
    /// The [`Refused`] reason.
    pub fn umts(
        &mut self,
        rand: &[u8; 16],
        autn: &[u8; 16],
        crypto: &mut dyn Crypto,
    ) -> Result<Answer, Refused> {
        let Algorithm::Milenage(milenage) = &self.algorithm else { return Err(Refused::NotUmts) };
        let challenge = milenage.challenge(rand, crypto);
        let response = challenge.response(crypto);
        let (mut sqn, amf, mac_a) = fields(autn);
        xor(&mut sqn, &response.ak);
        let macs = challenge.macs(&sqn, amf, crypto);
        if Secret::from(&macs.mac_a[..]) != Secret::from(&mac_a[..]) {
            return Err(Refused::Mac);
        }
        let mut window = self.window.clone();
        if !window.accept(Sqn::from(sqn)) {
            return Err(Refused::Synchronise(auts(milenage, rand, window.highest(), crypto)));
        }
        // Stored before the answer is returned: an answered challenge is never answered again.
        if self.memory.as_ref().is_some_and(|memory| !memory.keep(&window)) {
            return Err(Refused::Memory);
        }
        self.window = window;
        Ok(Answer { res: response.res.clone(), ck: challenge.ck(crypto), ik: challenge.ik(crypto) })
    }

    /// The best identity to start with: a fast re-authentication identity, a pseudonym, or the permanent identity.
    pub fn identity(&self, flavour: Flavour) -> Vec<u8> {
        match self.reauthentication(flavour) {
            Some(known) => known.identity.clone(),
            None => self.full_identity(flavour),
        }
    }

    /// The best identity for a full authentication: a pseudonym, else the permanent identity.
    pub fn full_identity(&self, flavour: Flavour) -> Vec<u8> {
        let known = self.temporary.get(&flavour).and_then(|known| known.pseudonym.clone());
        known.unwrap_or_else(|| self.permanent_identity(flavour))
    }

    /// The permanent identity.
    pub fn permanent_identity(&self, flavour: Flavour) -> Vec<u8> {
        permanent(flavour, self.imsi, &self.realm).into_bytes()
    }

    /// The stored state for a fast re-authentication.
    pub fn reauthentication(&self, flavour: Flavour) -> Option<&Reauthentication> {
        self.temporary.get(&flavour)?.reauthentication.as_ref()
    }

    /// Stores identities for the next time; a pseudonym only if there is a new one.
    pub(super) fn keep(
        &mut self,
        flavour: Flavour,
        pseudonym: Option<Vec<u8>>,
        reauthentication: Option<Reauthentication>,
    ) {
        let known = self.temporary.entry(flavour).or_default();
        known.pseudonym = pseudonym.or(known.pseudonym.take());
        known.reauthentication = reauthentication;
    }

    /// Drops pseudonyms and fast re-authentication state.
    pub(super) fn forget(&mut self) {
        self.temporary.clear();
    }

    /// Drops the fast re-authentication state: it may be used once (RFC 4186 §5.3).
    pub(super) fn forget_reauthentication(&mut self, flavour: Flavour) {
        if let Some(known) = self.temporary.get_mut(&flavour) {
            known.reauthentication = None;
        }
    }
}

/// SQN ⊕ AK, AMF and MAC-A of an AUTN.
fn fields(autn: &[u8; 16]) -> ([u8; 6], [u8; 2], [u8; 8]) {
    let [s0, s1, s2, s3, s4, s5, amf0, amf1, mac @ ..] = *autn;
    ([s0, s1, s2, s3, s4, s5], [amf0, amf1], mac)
}

/// SQN_MS ⊕ AK* ‖ MAC-S.
fn auts(milenage: &Milenage, rand: &[u8; 16], highest: Sqn, crypto: &mut dyn Crypto) -> [u8; 14] {
    let challenge = milenage.challenge(rand, crypto);
    let sqn = highest.to_bytes();
    let mut auts = [0; 14];
    auts[..6].copy_from_slice(&sqn);
    xor(&mut auts[..6], &challenge.ak_resync(crypto));
    // TS 33.102 §6.3.3: MAC-S is computed with an AMF of zeros.
    auts[6..].copy_from_slice(&challenge.macs(&sqn, [0; 2], crypto).mac_s);
    auts
}

/// The sequence number in an AUTS with a valid MAC-S.
pub(super) fn open_auts(
    milenage: &Milenage,
    rand: &[u8; 16],
    auts: &[u8; 14],
    crypto: &mut dyn Crypto,
) -> Option<Sqn> {
    let challenge = milenage.challenge(rand, crypto);
    let mut sqn: [u8; 6] = auts[..6].try_into().expect("six of fourteen bytes");
    xor(&mut sqn, &challenge.ak_resync(crypto));
    let macs = challenge.macs(&sqn, [0; 2], crypto);
    (Secret::from(&macs.mac_s[..]) == Secret::from(&auts[6..])).then(|| Sqn::from(sqn))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simaka::testing::{hex, real};
    use crate::simaka::vector::Quintuplet;

    fn subscriber() -> Milenage {
        Milenage::with_opc(&[0x11; 16], &[0x22; 16])
    }

    fn card(highest: Sqn) -> Card {
        let imsi = Imsi::parse("001010000000001").unwrap();
        Card::new(imsi, "", Algorithm::Milenage(subscriber()), highest)
    }

    fn vector(sqn: Sqn) -> Quintuplet {
        Quintuplet::generate(&subscriber(), [7; 16], sqn, [0x80, 0], &mut real())
    }

    #[test]
    fn a_fresh_challenge_is_answered_once() {
        let mut card = card(Sqn::new(32));
        let vector = vector(Sqn::new(32).next());
        let answer = card.umts(&vector.rand, &vector.autn, &mut real()).unwrap();
        assert_eq!((answer.res, answer.ck, answer.ik), (vector.xres, vector.ck, vector.ik));
        let again = card.umts(&vector.rand, &vector.autn, &mut real());
        assert!(matches!(again, Err(Refused::Synchronise(_))), "{again:?}");
    }

    #[test]
    fn auts_opens_to_the_highest_number_accepted_and_only_with_the_right_key() {
        let mut card = card(Sqn::new(0x777_0000));
        let vector = vector(Sqn::new(64));
        let Err(Refused::Synchronise(auts)) = card.umts(&vector.rand, &vector.autn, &mut real()) else {
            panic!("an old sequence number was accepted");
        };
        let opened = open_auts(&subscriber(), &vector.rand, &auts, &mut real());
        assert_eq!(opened, Some(card.window.highest()));
        let other = Milenage::with_opc(&[0x12; 16], &[0x22; 16]);
        assert_eq!(open_auts(&other, &vector.rand, &auts, &mut real()), None);
    }

    #[test]
    fn the_auts_of_libosmocore_opens() {
        let k = hex("000102030405060708090a0b0c0d0e0f");
        let milenage = Milenage::with_opc(&k, &k);
        let opened = open_auts(&milenage, &[0; 16], &hex("8711a0ec9e1637df17f80b384ee4"), &mut real());
        assert_eq!(opened, Some(Sqn::new(31)));
    }

    #[test]
    fn a_flipped_bit_of_autn_is_a_wrong_mac() {
        let vector = vector(Sqn::new(64));
        for at in 0..16 {
            let mut autn = vector.autn;
            autn[at] ^= 1;
            assert_eq!(card(Sqn::new(0)).umts(&vector.rand, &autn, &mut real()), Err(Refused::Mac));
        }
    }

    /// Persistent memory that works or fails.
    #[derive(Debug)]
    struct Flash(bool);

    impl Memory for Flash {
        fn keep(&self, _: &Window) -> bool {
            self.0
        }
    }

    /// A challenge that was not stored could be answered again after a restart.
    #[test]
    fn a_challenge_that_cannot_be_stored_is_not_answered() {
        for works in [true, false] {
            let window = Window::starting_at(Sqn::new(32));
            let mut card = card(Sqn::new(0)).remembering(window, Arc::new(Flash(works)));
            let vector = vector(Sqn::new(32).next());
            for _ in 0..2 {
                let answer = card.umts(&vector.rand, &vector.autn, &mut real());
                match works {
                    true if card.window.highest() == Sqn::new(32).next() && answer.is_ok() => break,
                    true => panic!("{answer:?}"),
                    false => assert_eq!(answer, Err(Refused::Memory), "as often as it is asked"),
                }
            }
        }
    }

    #[test]
    fn a_card_that_was_elsewhere_is_ahead() {
        let mut card = card(Sqn::new(32));
        card.advance(5);
        assert_eq!(card.window.highest(), Window::starting_at(Sqn::new(32).advanced(5)).highest());
        let old = vector(Sqn::new(32).next());
        assert!(matches!(card.umts(&old.rand, &old.autn, &mut real()), Err(Refused::Synchronise(_))));
    }

    #[test]
    fn a_card_drops_state_on_request() {
        let (keys, _) = Keys::aka(b"0", &[1; 16], &[2; 16], &mut real());
        let again = Reauthentication { identity: b"4again".to_vec(), keys, counter: 1 };
        let mut card = card(Sqn::new(0));
        card.keep(Flavour::Aka, Some(b"2pseudonym".to_vec()), Some(again));
        assert_eq!(card.identity(Flavour::Aka), b"4again");
        card.forget_reauthentication(Flavour::Aka);
        assert_eq!(card.identity(Flavour::Aka), b"2pseudonym", "RFC 4187 §5.3: it was good for once");
        card.forget();
        assert_eq!(card.identity(Flavour::Aka), card.permanent_identity(Flavour::Aka));
    }
}

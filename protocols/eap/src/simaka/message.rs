//! Whole EAP packets of the three methods. Read RFC 4186 §8.1 and §9, RFC 4187 §8.1 and §9 first.
//!
//! ```text
//!   Code(1) Identifier(1) Length(2) Type(1) Subtype(1) Reserved(2) Attribute(*)
//! ```
//!
//! AT_MAC covers the whole packet with its own value as zeros, and additional data that depend on the message. AT_ENCR_DATA
//! contains encrypted attributes (AES-CBC).

use keytoll_crypto_api::algorithm::Encryption;
use keytoll_crypto_api::{Crypto, Rng, Secret};
use keytoll_net::wire::{DecodeError, Problem, Reader, Writer};
use zeroize::Zeroizing;

use super::attribute::Attribute;
use super::flavour::Flavour;
use super::keys::Keys;

/// Longest accepted packet, in bytes: three challenges and two identities of maximum length need less than a quarter of it.
pub const PACKET_BYTES_MAX: usize = 4096;

const REQUEST: u8 = 1;
const RESPONSE: u8 = 2;
const MAC_BYTES: usize = 16;

/// Why a received message is invalid.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// It is not a message of this method.
    #[error("{0}")]
    Malformed(#[from] DecodeError),
    /// A mandatory attribute is missing.
    #[error("{0} is missing")]
    Missing(&'static str),
    /// An attribute is present that is not allowed here.
    #[error("attribute {0} does not belong here")]
    Unexpected(u8),
    /// AT_MAC is wrong.
    #[error("AT_MAC is wrong")]
    Mac,
    /// A value that contradicts earlier ones.
    #[error("{0} does not fit")]
    Contradiction(&'static str),
    /// An unknown or currently unexpected subtype.
    #[error("subtype {0} is not expected")]
    Subtype(u8),
}

/// A received packet.
#[derive(Debug, Clone)]
pub struct Message<'a> {
    /// The whole packet.
    pub packet: &'a [u8],
    /// The EAP identifier.
    pub identifier: u8,
    /// The subtype.
    pub subtype: u8,
    /// The attributes outside AT_ENCR_DATA.
    pub attributes: Attributes<'a>,
    mac_at: Option<usize>,
}

impl<'a> Message<'a> {
    /// Reads a request of this method.
    ///
    /// # Errors
    /// The packet is not a request of this method, or an attribute is malformed.
    pub fn read_request(flavour: Flavour, packet: &'a [u8]) -> Result<Self, DecodeError> {
        Self::read(flavour, REQUEST, packet)
    }

    /// Reads a response of this method.
    ///
    /// # Errors
    /// The packet is not a response of this method, or an attribute is malformed.
    pub fn read_response(flavour: Flavour, packet: &'a [u8]) -> Result<Self, DecodeError> {
        Self::read(flavour, RESPONSE, packet)
    }

    fn read(flavour: Flavour, code: u8, packet: &'a [u8]) -> Result<Self, DecodeError> {
        let mut r = Reader::new(packet);
        expect(&mut r, "Code", code)?;
        let identifier = r.u8("Identifier")?;
        let start = r;
        let length = r.u16("Length")?;
        if usize::from(length) != packet.len() || packet.len() > PACKET_BYTES_MAX {
            return Err(start.error("Length", Problem::Length(length.into())));
        }
        expect(&mut r, "Type", flavour.method_type())?;
        let subtype = r.u8("Subtype")?;
        r.skip(2, "Reserved")?;
        let (attributes, mac_at) = Attributes::read(&mut r)?;
        Ok(Self { packet, identifier, subtype, attributes, mac_at })
    }

    /// Verifies AT_MAC over the packet and the additional data.
    ///
    /// # Errors
    /// AT_MAC is missing or invalid.
    pub fn verify(&self, keys: &Keys, extra: &[&[u8]], crypto: &mut dyn Crypto) -> Result<(), Fault> {
        let at = self.mac_at.ok_or(Fault::Missing("AT_MAC"))?;
        let expected = mac(keys, self.packet, at, extra, crypto);
        let equal = expected == Secret::from(&self.packet[at..at + MAC_BYTES]);
        equal.then_some(()).ok_or(Fault::Mac)
    }

    /// Decrypts AT_ENCR_DATA; `None` if there is none. Call [`Message::verify`] first.
    ///
    /// # Errors
    /// Only one of AT_IV and AT_ENCR_DATA is present, or the data are not whole blocks.
    pub fn decrypt(&self, keys: &Keys, crypto: &mut dyn Crypto) -> Result<Option<Zeroizing<Vec<u8>>>, Fault> {
        // RFC 4186 §10.1: either both of AT_IV and AT_ENCR_DATA or none.
        let (iv, data) = match (self.attributes.iv(), self.attributes.encr_data()) {
            (None, None) => return Ok(None),
            (Some(iv), Some(data)) => (iv, data),
            (None, Some(_)) => return Err(Fault::Missing("AT_IV")),
            (Some(_), None) => return Err(Fault::Missing("AT_ENCR_DATA")),
        };
        let mut plain = Zeroizing::new(data.to_vec());
        let done = crypto.decrypt(Encryption::Aes128Cbc, &keys.k_encr, &iv, &[], &mut plain, &[]);
        done.map_err(|_| Fault::Contradiction("AT_ENCR_DATA"))?;
        Ok(Some(plain))
    }
}

fn expect(r: &mut Reader<'_>, field: &'static str, value: u8) -> Result<(), DecodeError> {
    let start = *r;
    match r.u8(field)? {
        found if found == value => Ok(()),
        found => Err(start.error(field, Problem::Value(found.into()))),
    }
}

/// HMAC over the packet with 16 zero bytes at `at`, and over `extra`.
fn mac(keys: &Keys, packet: &[u8], at: usize, extra: &[&[u8]], crypto: &mut dyn Crypto) -> Secret {
    let mut parts = vec![&packet[..at], &[0; MAC_BYTES], &packet[at + MAC_BYTES..]];
    parts.extend_from_slice(extra);
    Secret::from(&crypto.prf(keys.flavour.mac(), &keys.k_aut, &parts)[..MAC_BYTES])
}

/// The attributes of a message or of an AT_ENCR_DATA, each at most once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attributes<'a>(Vec<Attribute<'a>>);

/// Defines a look-up for each attribute with a value.
macro_rules! values {
    ($($name:ident $variant:ident $type:ty, $doc:literal;)*) => {$(
        #[doc = $doc]
        pub fn $name(&self) -> Option<$type> {
            self.0.iter().find_map(|attribute| match attribute {
                Attribute::$variant(value) => Some(*value),
                _ => None,
            })
        }
    )*};
}

impl<'a> Attributes<'a> {
    /// Reads the attributes in a decrypted AT_ENCR_DATA.
    ///
    /// # Errors
    /// An attribute is malformed.
    pub fn read_nested(plain: &'a [u8]) -> Result<Self, DecodeError> {
        Self::read(&mut Reader::new(plain)).map(|(attributes, _)| attributes)
    }

    /// Reads to the end; also returns the offset of the value of AT_MAC.
    fn read(r: &mut Reader<'a>) -> Result<(Self, Option<usize>), DecodeError> {
        let (mut list, mut mac_at) = (Vec::new(), None);
        while !r.is_empty() {
            let start = *r;
            let attribute = Attribute::read(r)?;
            // RFC 4186 §8.1: no attribute may occur twice; RFC 9048 §3.2 lets AT_KDF list preferences.
            let may_repeat = matches!(attribute, Attribute::Kdf(_) | Attribute::Skipped(_));
            if !may_repeat && list.iter().any(|known: &Attribute<'_>| known.kind() == attribute.kind()) {
                return Err(start.error("attribute", Problem::Repeated));
            }
            if matches!(attribute, Attribute::Mac(_)) {
                mac_at = Some(start.offset() + 4);
            }
            list.push(attribute);
        }
        Ok((Self(list), mac_at))
    }

    values! {
        rand Rand &'a [u8], "The challenges in AT_RAND, 16 bytes each.";
        autn Autn [u8; 16], "AT_AUTN.";
        res Res &'a [u8], "AT_RES.";
        auts Auts [u8; 14], "AT_AUTS.";
        nonce_mt NonceMt [u8; 16], "AT_NONCE_MT.";
        mac Mac [u8; 16], "AT_MAC.";
        notification Notification u16, "AT_NOTIFICATION.";
        identity Identity &'a [u8], "AT_IDENTITY.";
        versions VersionList &'a [u8], "The versions in AT_VERSION_LIST, two bytes each.";
        selected_version SelectedVersion u16, "AT_SELECTED_VERSION.";
        counter Counter u16, "AT_COUNTER.";
        nonce_s NonceS [u8; 16], "AT_NONCE_S.";
        client_error ClientErrorCode u16, "AT_CLIENT_ERROR_CODE.";
        kdf_input KdfInput &'a [u8], "AT_KDF_INPUT.";
        iv Iv [u8; 16], "AT_IV.";
        encr_data EncrData &'a [u8], "AT_ENCR_DATA.";
        next_pseudonym NextPseudonym &'a [u8], "AT_NEXT_PSEUDONYM.";
        next_reauth_id NextReauthId &'a [u8], "AT_NEXT_REAUTH_ID.";
        checkcode Checkcode &'a [u8], "AT_CHECKCODE.";
        bidding Bidding bool, "AT_BIDDING.";
    }

    /// The functions in AT_KDF, in their order.
    pub fn kdfs(&self) -> Vec<u16> {
        let kdf = |attribute: &Attribute<'_>| match attribute {
            Attribute::Kdf(number) => Some(*number),
            _ => None,
        };
        self.0.iter().filter_map(kdf).collect()
    }

    /// Whether there is an attribute of this type.
    pub fn has(&self, kind: u8) -> bool {
        self.0.iter().any(|attribute| attribute.kind() == kind)
    }

    /// Refuses non-skippable attributes that are not among `allowed`.
    ///
    /// # Errors
    /// There is such an attribute.
    pub fn only(&self, allowed: &[u8]) -> Result<(), Fault> {
        let kinds = self.0.iter().map(Attribute::kind);
        let wrong = kinds.filter(|kind| *kind < 128).find(|kind| !allowed.contains(kind));
        wrong.map_or(Ok(()), |kind| Err(Fault::Unexpected(kind)))
    }
}

/// A packet being written.
#[derive(Debug)]
pub struct Builder(Writer);

impl Builder {
    /// A request with this identifier.
    pub fn request(flavour: Flavour, identifier: u8, subtype: u8) -> Self {
        Self::new(REQUEST, flavour, identifier, subtype)
    }

    /// The response to the request with this identifier.
    pub fn response(flavour: Flavour, identifier: u8, subtype: u8) -> Self {
        Self::new(RESPONSE, flavour, identifier, subtype)
    }

    fn new(code: u8, flavour: Flavour, identifier: u8, subtype: u8) -> Self {
        let mut w = Writer::with_capacity(128);
        w.bytes(&[code, identifier, 0, 0, flavour.method_type(), subtype, 0, 0]);
        Self(w)
    }

    /// Appends an attribute.
    #[must_use]
    pub fn with(mut self, attribute: &Attribute<'_>) -> Self {
        attribute.write(&mut self.0);
        self
    }

    /// Appends an attribute if the condition holds.
    #[must_use]
    pub fn with_if(self, condition: bool, attribute: &Attribute<'_>) -> Self {
        if condition { self.with(attribute) } else { self }
    }

    /// Appends AT_IV and AT_ENCR_DATA with these attributes inside; nothing if there are none.
    #[must_use]
    pub fn encrypted(
        self,
        nested: &[Attribute<'_>],
        keys: &Keys,
        rng: &mut Rng,
        crypto: &mut dyn Crypto,
    ) -> Self {
        if nested.is_empty() { self } else { self.encrypted_under(rng.bytes(), nested, keys, crypto) }
    }

    fn encrypted_under(
        self,
        iv: [u8; 16],
        nested: &[Attribute<'_>],
        keys: &Keys,
        crypto: &mut dyn Crypto,
    ) -> Self {
        let mut plain = padded(nested);
        crypto.encrypt(Encryption::Aes128Cbc, &keys.k_encr, &iv, &[], &mut plain, &mut []);
        self.with(&Attribute::Iv(iv)).with(&Attribute::EncrData(&plain))
    }

    /// The finished packet without AT_MAC.
    pub fn finish(mut self) -> Vec<u8> {
        let len = u16::try_from(self.0.len()).expect("a packet is far below 64 KiB");
        self.0.patch_u16(2, len);
        self.0.finish()
    }

    /// The finished packet with AT_MAC over it and `extra`.
    pub fn seal(self, keys: &Keys, extra: &[&[u8]], crypto: &mut dyn Crypto) -> Vec<u8> {
        let mut packet = self.with(&Attribute::Mac([0; MAC_BYTES])).finish();
        let at = packet.len() - MAC_BYTES;
        let value = mac(keys, &packet, at, extra, crypto);
        packet[at..].copy_from_slice(&value);
        packet
    }
}

/// Attributes encoded for AT_ENCR_DATA, with AT_PADDING to fill the last cipher block (RFC 4186 §10.12).
fn padded(nested: &[Attribute<'_>]) -> Zeroizing<Vec<u8>> {
    let mut w = Writer::default();
    nested.iter().for_each(|attribute| attribute.write(&mut w));
    let missing = w.len().next_multiple_of(16) - w.len();
    if missing > 0 {
        Attribute::Padding(missing - 2).write(&mut w);
    }
    Zeroizing::new(w.finish())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::attribute::kind;
    use super::super::flavour::subtype;
    use super::super::keys::SimInputs;
    use super::*;
    use crate::simaka::testing::{bytes, hex, real, rows};

    const NONCE: &str = "0123456789abcdeffedcba9876543210";
    const PSEUDONYM: &[u8] = b"w8w49PexCazWJ&xCIARmxuMKht5S1sxRDqXSEFBEg3DcZP9cIxTe5J4OyIwNGVzxeJOU1G";
    const REAUTH: &[u8] =
        b"Y24fNSrz8BP274jOJaF17WfxI8YO7QX00pMXk9XMMVOw7broaNhTczuFq53aEpOkk3L0dm@eapsim.foo";
    const REAUTH_NEXT: &[u8] =
        b"uta0M0iyIsMwWp5TTdSdnOLvg2XDVf21OYt1vnfiMcs5dnIDHOIFVavIRzMRyzW6vFzdHW@eapsim.foo";

    /// A packet of RFC 4186 Appendix A.
    fn example(section: &str) -> Vec<u8> {
        let rows = rows(include_str!("vectors/rfc4186.txt"));
        bytes(rows.iter().find(|row| row[0] == section).unwrap()[1])
    }

    fn keys() -> Keys {
        let kcs = [0xa0, 0xb0, 0xc0].map(|first: u8| Secret::new((first..first + 8).collect()));
        let (identity, nonce_mt) = (&b"1244070100000001@eapsim.foo"[..], &hex(NONCE));
        Keys::sim(&SimInputs { identity, kcs: &kcs, nonce_mt, versions: &[0, 1], selected: 1 }, &mut real()).0
    }

    #[test]
    fn the_start_of_rfc_4186_is_read_and_written() {
        let start = Builder::request(Flavour::Sim, 1, subtype::SIM_START)
            .with(&Attribute::VersionList(&[0, 1]))
            .finish();
        assert_eq!(start, example("A.3"));
        let answer = Builder::response(Flavour::Sim, 1, subtype::SIM_START)
            .with(&Attribute::NonceMt(hex(NONCE)))
            .with(&Attribute::SelectedVersion(1))
            .finish();
        assert_eq!(answer, example("A.4"));
        let answer = Message::read_response(Flavour::Sim, &answer).unwrap();
        assert_eq!((answer.identifier, answer.subtype), (1, subtype::SIM_START));
        assert_eq!(answer.attributes.nonce_mt(), Some(hex(NONCE)));
        assert_eq!(answer.attributes.selected_version(), Some(1));
    }

    #[test]
    fn the_challenge_of_rfc_4186_is_read_and_written() {
        let (keys, nonce, crypto) = (keys(), hex::<16>(NONCE), &mut real());
        let packet = example("A.5");
        let challenge = Message::read_request(Flavour::Sim, &packet).unwrap();
        assert_eq!(challenge.verify(&keys, &[&nonce], crypto), Ok(()));
        assert_eq!(challenge.verify(&keys, &[], crypto), Err(Fault::Mac));
        let plain = challenge.decrypt(&keys, crypto).unwrap().unwrap();
        let nested = Attributes::read_nested(&plain).unwrap();
        assert_eq!(nested.next_pseudonym(), Some(PSEUDONYM));
        assert_eq!(nested.next_reauth_id(), Some(REAUTH));
        let given = [Attribute::NextPseudonym(PSEUDONYM), Attribute::NextReauthId(REAUTH)];
        let ours = Builder::request(Flavour::Sim, 2, subtype::SIM_CHALLENGE)
            .with(&Attribute::Rand(challenge.attributes.rand().unwrap()))
            .encrypted_under(hex("9e18b0c29a652263c06efb54dd00a895"), &given, &keys, crypto)
            .seal(&keys, &[&nonce], crypto);
        assert_eq!(ours, packet);
        let sres = bytes("d1d2d3d4e1e2e3e4f1f2f3f4");
        let answer = Builder::response(Flavour::Sim, 2, subtype::SIM_CHALLENGE).seal(&keys, &[&sres], crypto);
        assert_eq!(answer, example("A.6"));
    }

    #[test]
    fn the_fast_reauthentication_of_rfc_4186_is_read_and_written() {
        let (keys, nonce, crypto) = (keys(), hex(NONCE), &mut real());
        let packet = example("A.9");
        let request = Message::read_request(Flavour::Sim, &packet).unwrap();
        assert_eq!(request.verify(&keys, &[], crypto), Ok(()));
        let given = [Attribute::Counter(1), Attribute::NonceS(nonce), Attribute::NextReauthId(REAUTH_NEXT)];
        let ours = Builder::request(Flavour::Sim, 1, subtype::REAUTHENTICATION)
            .encrypted_under(hex("d585ac7786b90336657c77b46575b9c4"), &given, &keys, crypto)
            .seal(&keys, &[], crypto);
        assert_eq!(ours, packet);
        let answer = Builder::response(Flavour::Sim, 1, subtype::REAUTHENTICATION)
            .encrypted_under(hex("cdf7ffa65de04c026b56c86b76b102ea"), &[Attribute::Counter(1)], &keys, crypto)
            .seal(&keys, &[&nonce], crypto);
        assert_eq!(answer, example("A.10"));
    }

    #[test]
    fn every_cut_of_a_packet_is_refused() {
        let packet = example("A.5");
        for len in 0..packet.len() {
            let mut cut = packet[..len].to_vec();
            assert!(Message::read_request(Flavour::Sim, &cut).is_err(), "{len} bytes, Length as it was");
            if len >= 4 {
                cut[2..4].copy_from_slice(&u16::try_from(len).unwrap().to_be_bytes());
                let read = Message::read_request(Flavour::Sim, &cut);
                let whole =
                    read.is_ok_and(|read| read.verify(&keys(), &[&hex::<16>(NONCE)], &mut real()).is_ok());
                assert!(!whole, "{len} bytes, Length put right");
            }
        }
    }

    #[test]
    fn every_flipped_bit_of_a_packet_is_refused() {
        let (packet, keys) = (example("A.6"), keys());
        let sres = bytes("d1d2d3d4e1e2e3e4f1f2f3f4");
        for bit in 0..packet.len() * 8 {
            let mut wrong = packet.clone();
            wrong[bit / 8] ^= 1 << (bit % 8);
            let read = Message::read_response(Flavour::Sim, &wrong);
            let whole = read.is_ok_and(|read| read.verify(&keys, &[&sres], &mut real()).is_ok());
            assert!(!whole, "bit {bit}");
        }
    }

    fn refused(flavour: Flavour, hex: &str, why: &str) {
        assert_eq!(Message::read_request(flavour, &bytes(hex)).unwrap_err().to_string(), why);
    }

    #[test]
    fn invalid_messages_are_refused_with_the_field() {
        refused(Flavour::Sim, "0201000812 0a0000", "Code at offset 0: value 2 is not allowed");
        refused(Flavour::Sim, "0101000912 0a0000", "Length at offset 2: length 9 does not fit");
        refused(Flavour::Aka, "0101000812 0a0000", "Type at offset 4: value 18 is not allowed");
        refused(Flavour::Sim, "01010010120a0000 0d010000 0d010000", "attribute at offset 12: occurs twice");
        let mut long = bytes("01011388120a0000");
        long.resize(5000, 0);
        assert!(Message::read_request(Flavour::Sim, &long).is_err());
    }

    #[test]
    fn attributes_out_of_place_are_named() {
        let packet = Builder::request(Flavour::Sim, 1, subtype::SIM_START)
            .with(&Attribute::AnyIdReq)
            .with(&Attribute::ResultInd)
            .finish();
        let message = Message::read_request(Flavour::Sim, &packet).unwrap();
        assert_eq!(message.attributes.only(&[kind::ANY_ID_REQ]), Ok(()));
        assert_eq!(message.attributes.only(&[]), Err(Fault::Unexpected(kind::ANY_ID_REQ)));
        assert_eq!(message.verify(&keys(), &[], &mut real()), Err(Fault::Missing("AT_MAC")));
    }

    proptest! {
        #[test]
        fn arbitrary_packets_never_panic(tail in proptest::collection::vec(any::<u8>(), 0..200), subtype: u8) {
            for flavour in Flavour::ALL {
                let len = u16::try_from(tail.len() + 8).unwrap().to_be_bytes();
                let head = [1, 7, len[0], len[1], flavour.method_type(), subtype, 0, 0];
                let packet = [&head[..], &tail].concat();
                if let Ok(message) = Message::read_request(flavour, &packet) {
                    let _ = message.verify(&keys(), &[], &mut real());
                    let _ = message.decrypt(&keys(), &mut real());
                }
                let _ = Attributes::read_nested(&tail);
            }
        }
    }
}

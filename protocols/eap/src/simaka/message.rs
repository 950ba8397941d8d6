//! Whole EAP packets of the three methods. Read RFC 4186 §8.1 and §9, RFC 4187 §8.1 and §9 first.
//!
//! ```text
//!   Code(1) Identifier(1) Length(2) Type(1) Subtype(1) Reserved(2) Attribute(*)
//! ```
//!
//! AT_MAC covers the whole packet, its own value as zeros, and then what the message's description adds. AT_ENCR_DATA
//! holds attributes of its own under AES-CBC.

use keytoll_engine::algorithm::Encryption;
use keytoll_engine::crypto::Secret;
use keytoll_engine::wire::{DecodeError, Problem, Reader, Writer};
use keytoll_engine::{Crypto, Rng};
use zeroize::Zeroizing;

use super::attribute::Attribute;
use super::flavour::Flavour;
use super::keys::Keys;

/// Longest packet accepted, in bytes: three challenges and two identities of full length stay below a quarter of it.
pub const PACKET_BYTES_MAX: usize = 4096;

const REQUEST: u8 = 1;
const RESPONSE: u8 = 2;
const MAC_BYTES: usize = 16;

/// Why a message that arrived cannot be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// It is not a message of this method.
    #[error("{0}")]
    Malformed(#[from] DecodeError),
    /// An attribute the message must have is not there.
    #[error("{0} is missing")]
    Missing(&'static str),
    /// An attribute the message must not have is there.
    #[error("attribute {0} does not belong here")]
    Unexpected(u8),
    /// AT_MAC is wrong.
    #[error("AT_MAC is wrong")]
    Mac,
    /// A value that does not fit what was said before.
    #[error("{0} does not fit")]
    Contradiction(&'static str),
    /// A subtype that is not known or not expected now.
    #[error("subtype {0} is not expected")]
    Subtype(u8),
}

/// A packet as it arrived.
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
    pub fn read_request(flavour: Flavour, packet: &'a [u8]) -> Result<Self, DecodeError> {
        Self::read(flavour, REQUEST, packet)
    }

    /// Reads a response of this method.
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

    /// Checks AT_MAC over the packet and what follows it.
    pub fn verify(&self, keys: &Keys, extra: &[&[u8]], crypto: &mut dyn Crypto) -> Result<(), Fault> {
        let at = self.mac_at.ok_or(Fault::Missing("AT_MAC"))?;
        let expected = mac(keys, self.packet, at, extra, crypto);
        let equal = expected == Secret::from(&self.packet[at..at + MAC_BYTES]);
        equal.then_some(()).ok_or(Fault::Mac)
    }

    /// Decrypts AT_ENCR_DATA; none if there is none. To be called after [`Message::verify`].
    pub fn decrypt(
        &self,
        keys: &Keys,
        crypto: &mut dyn Crypto,
    ) -> Result<Option<Zeroizing<Vec<u8>>>, Fault> {
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

/// The attributes of a message or of an AT_ENCR_DATA, each there once at most.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attributes<'a>(Vec<Attribute<'a>>);

/// A look-up per attribute that carries a value.
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
    pub fn read_nested(plain: &'a [u8]) -> Result<Self, DecodeError> {
        Self::read(&mut Reader::new(plain)).map(|(attributes, _)| attributes)
    }

    /// Reads to the end; also says where the value of AT_MAC begins.
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

    /// The functions listed in AT_KDF, in their order.
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

    /// Refuses what may not be skipped and is not among `allowed`.
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
        mut self,
        nested: &[Attribute<'_>],
        keys: &Keys,
        rng: &mut Rng,
        crypto: &mut dyn Crypto,
    ) -> Self {
        if nested.is_empty() {
            return self;
        }
        let iv = rng.bytes();
        let mut plain = padded(nested);
        crypto.encrypt(Encryption::Aes128Cbc, &keys.k_encr, &iv, &[], &mut plain, &mut []);
        Attribute::Iv(iv).write(&mut self.0);
        Attribute::EncrData(&plain).write(&mut self.0);
        self
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

/// Attributes as AT_ENCR_DATA holds them, AT_PADDING filling the last cipher block (RFC 4186 §10.12).
fn padded(nested: &[Attribute<'_>]) -> Zeroizing<Vec<u8>> {
    let mut w = Writer::default();
    nested.iter().for_each(|attribute| attribute.write(&mut w));
    let missing = w.len().next_multiple_of(16) - w.len();
    if missing > 0 {
        Attribute::Padding(missing - 2).write(&mut w);
    }
    Zeroizing::new(w.finish())
}

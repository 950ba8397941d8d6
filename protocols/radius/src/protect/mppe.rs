//! MS-MPPE-Send-Key and MS-MPPE-Recv-Key, RFC 2548 §2.4.2 and §2.4.3, which carry the MSK to the NAS (RFC 5216 §2.3).
//!
//!   Vendor-Type(1) Vendor-Length(1) Salt(2) String(16n);  String hides  Key-Length(1) Key(*) zeros

use keytoll_crypto_api::{Crypto, Rng, Secret};
use keytoll_net::wire::{DecodeError, Problem, Reader};
use zeroize::Zeroizing;

use super::chain::{self, BLOCK};
use crate::number::{AttributeType, MICROSOFT, MS_MPPE_RECV_KEY, MS_MPPE_SEND_KEY};
use crate::wire::{Attribute, AttributeList, Authenticator, PacketBuilder, VendorSpecific};

/// The decrypted keys of an Access-Accept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MppeKeys {
    /// MS-MPPE-Recv-Key: with which the NAS receives.
    pub recv: Secret,
    /// MS-MPPE-Send-Key: with which the NAS sends.
    pub send: Secret,
}

/// The request and secret under which keys are hidden.
#[derive(Debug, Clone, Copy)]
pub struct Under<'a> {
    /// The authenticator of the request that is answered.
    pub request: &'a Authenticator,
    /// The shared secret.
    pub secret: &'a Secret,
}

impl MppeKeys {
    /// Length of either half of an MSK, in bytes.
    const HALF: usize = 32;

    /// Length in bytes of the keys that MS-CHAP derives (RFC 3079 §3.3).
    const MSCHAP: usize = 16;

    // RFC 5216 §2.3: the first 32 octets of the MSK go as MS-MPPE-Recv-Key, the next 32 as MS-MPPE-Send-Key.
    /// The halves of an MSK; bytes beyond 64 are ignored. `None` for fewer, which is no MSK (RFC 3748 §7.10).
    pub fn from_msk(msk: &[u8]) -> Option<Self> {
        let (recv, send) = msk.get(..2 * Self::HALF)?.split_at(Self::HALF);
        Some(Self { recv: recv.into(), send: send.into() })
    }

    // RFC 3748 §7.10: an MSK has at least 64 octets; MS-CHAP servers send two keys of 16, padded with zeros as EAP-MSCHAPv2
    // peers pad theirs.
    /// The MSK, 64 bytes.
    pub fn msk(&self) -> Secret {
        let mut msk = Zeroizing::new([&*self.recv, &*self.send].concat());
        msk.resize(2 * Self::HALF, 0);
        Secret::from(&msk[..])
    }

    // RFC 3748 §7.10: an MSK has 64 octets; MS-CHAP derives two keys of 16. With other lengths, zero above all, the key would
    // consist mostly of known zeros.
    fn of_usable_lengths(recv: Hidden<'_>, send: Hidden<'_>) -> Result<Self, DecodeError> {
        let lengths = (recv.key.len(), send.key.len());
        if [(Self::HALF, Self::HALF), (Self::MSCHAP, Self::MSCHAP)].contains(&lengths) {
            return Ok(Self { recv: recv.key, send: send.key });
        }
        let fits = [Self::HALF, Self::MSCHAP].contains(&lengths.0);
        let (field, wrong) = if fits { ("MS-MPPE-Send-Key", send) } else { ("MS-MPPE-Recv-Key", recv) };
        Err(wrong.at.error(field, Problem::Length(wrong.key.len() as u64)))
    }

    /// Appends both attributes to an Access-Accept.
    pub fn write(
        &self,
        packet: &mut PacketBuilder,
        under: Under<'_>,
        rng: &mut Rng,
        crypto: &mut dyn Crypto,
    ) {
        // RFC 2548 §2.4.2: the leftmost bit of a salt is set, and salts differ within a packet.
        let salt = u16::from_be_bytes(rng.bytes()) | 0x8000;
        write_key(packet, MS_MPPE_RECV_KEY, &hide(&self.recv, salt, under, crypto));
        write_key(packet, MS_MPPE_SEND_KEY, &hide(&self.send, salt ^ 1, under, crypto));
    }

    /// The keys in an Access-Accept, if it has any.
    ///
    /// # Errors
    /// Only one of the two keys is present, or one is malformed, repeated or of an invalid length.
    pub fn read(
        attributes: &AttributeList<'_>,
        under: Under<'_>,
        crypto: &mut dyn Crypto,
    ) -> Result<Option<Self>, DecodeError> {
        let recv = VendorSpecific::find(attributes, MICROSOFT, MS_MPPE_RECV_KEY)?;
        let send = VendorSpecific::find(attributes, MICROSOFT, MS_MPPE_SEND_KEY)?;
        match (recv, send) {
            (Some(recv), Some(send)) => {
                let recv = Hidden { at: recv, key: reveal(recv, under, crypto)? };
                let send = Hidden { at: send, key: reveal(send, under, crypto)? };
                Self::of_usable_lengths(recv, send).map(Some)
            }
            (None, None) => Ok(None),
            (Some(only), None) => Err(only.error("MS-MPPE-Send-Key", Problem::Missing)),
            (None, Some(only)) => Err(only.error("MS-MPPE-Recv-Key", Problem::Missing)),
        }
    }
}

/// A key, and the value that contained it.
struct Hidden<'a> {
    at: Reader<'a>,
    key: Secret,
}

/// Whether an attribute is Microsoft's, and so may contain one of the keys.
pub(crate) fn is_microsofts(attribute: &Attribute<'_>) -> bool {
    attribute.kind() == AttributeType::VENDOR_SPECIFIC
        && attribute.value().starts_with(&MICROSOFT.to_be_bytes())
}

fn write_key(packet: &mut PacketBuilder, kind: AttributeType, value: &[u8]) {
    let inner = Attribute::new(kind, value).expect("a half of an MSK is short");
    let value = VendorSpecific::value(MICROSOFT, &inner);
    packet.attribute(&Attribute::new(AttributeType::VENDOR_SPECIFIC, &value).expect("checked by value()"));
}

/// Salt and hidden string.
///
/// # Panics
/// If the key is longer than 239 bytes, which halves of an MSK never are.
pub fn hide(key: &Secret, salt: u16, under: Under<'_>, crypto: &mut dyn Crypto) -> Vec<u8> {
    let salt = salt.to_be_bytes();
    let mut value = vec![0; 2 + (1 + key.len()).next_multiple_of(BLOCK)];
    let (front, string) = value.split_at_mut(2);
    front.copy_from_slice(&salt);
    string[0] = u8::try_from(key.len()).expect("keys are short");
    string[1..=key.len()].copy_from_slice(key);
    chain::encrypt(string, [under.request, &salt], under.secret, crypto);
    value
}

/// The key hidden in a value of either attribute.
///
/// # Errors
/// The value is truncated, or the length inside is wrong, as with a wrong secret.
pub fn reveal(
    mut value: Reader<'_>,
    under: Under<'_>,
    crypto: &mut dyn Crypto,
) -> Result<Secret, DecodeError> {
    let salt: [u8; 2] = value.array("MS-MPPE salt")?;
    let at = value;
    if value.is_empty() || !value.len().is_multiple_of(BLOCK) {
        return Err(at.error("MS-MPPE key", Problem::Length(value.len() as u64)));
    }
    let mut string = Zeroizing::new(value.rest().to_vec());
    chain::decrypt(&mut string, [under.request, &salt], under.secret, crypto);
    let length = usize::from(string[0]);
    let key = string
        .get(1..=length)
        .ok_or_else(|| at.error("MS-MPPE key length", Problem::Length(length as u64)))?;
    Ok(Secret::from(key))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::number::Code;
    use crate::wire::Packet;
    use keytoll_crypto::Real;
    use keytoll_crypto_api::Rng;
    use proptest::prelude::*;

    const SECRET: &[u8] = b"hogehogefugafuga";

    fn accept(keys: &MppeKeys) -> Vec<u8> {
        accept_salted(keys, 1)
    }

    fn accept_salted(keys: &MppeKeys, seed: u64) -> Vec<u8> {
        let secret = Secret::from(SECRET);
        let mut packet = PacketBuilder::authentic(Code::ACCESS_ACCEPT, 1);
        let mut rng = Rng::named(seed, "salt");
        keys.write(&mut packet, Under { request: &[7; 16], secret: &secret }, &mut rng, &mut Real::default());
        packet.seal_response(&[7; 16], &secret, &mut Real::default()).unwrap().bytes
    }

    #[test]
    fn an_msk_is_halved_and_joined() {
        let msk: Vec<u8> = (0..64).collect();
        let keys = MppeKeys::from_msk(&msk).unwrap();
        assert_eq!((keys.recv[0], keys.send[0], keys.recv.len(), keys.send.len()), (0, 32, 32, 32));
        assert_eq!(keys.msk(), Secret::new(msk));
    }

    #[test]
    fn short_keys_make_an_msk_padded_with_zeros() {
        let keys = MppeKeys { recv: Secret::new(vec![1; 16]), send: Secret::new(vec![2; 16]) };
        assert_eq!(keys.msk(), Secret::new([&[1; 16][..], &[2; 16], &[0; 32]].concat()));
    }

    /// A faulty server, or an attacker who knows the secret: an all-zero MSK is no key.
    #[test]
    fn keys_of_another_length_are_refused() {
        let secret = Secret::from(SECRET);
        let under = Under { request: &[7; 16], secret: &secret };
        for (recv, send) in [(0, 0), (0, 32), (32, 0), (16, 32), (1, 1), (31, 31), (33, 33), (64, 64)] {
            let keys = MppeKeys { recv: Secret::new(vec![1; recv]), send: Secret::new(vec![2; send]) };
            let bytes = accept(&keys);
            let attributes = Packet::read(&bytes).unwrap().attributes;
            let read = MppeKeys::read(&attributes, under, &mut Real::default());
            let named = if [16, 32].contains(&recv) { "MS-MPPE-Send-Key" } else { "MS-MPPE-Recv-Key" };
            assert!(read.unwrap_err().to_string().starts_with(named), "{recv} and {send} bytes");
        }
        assert_eq!(MppeKeys::from_msk(&[9; 63]), None);
    }

    #[test]
    fn salts_have_their_leftmost_bit_set_and_differ() {
        // With any random numbers: even and odd, with the bit and without.
        for seed in 0..32 {
            let bytes = accept_salted(&MppeKeys::from_msk(&[9; 64]).unwrap(), seed);
            let attributes = Packet::read(&bytes).unwrap().attributes;
            let salt = |kind| {
                VendorSpecific::find(&attributes, MICROSOFT, kind).unwrap().unwrap().u16("salt").unwrap()
            };
            let (recv, send) = (salt(MS_MPPE_RECV_KEY), salt(MS_MPPE_SEND_KEY));
            assert!(recv != send && recv & send & 0x8000 != 0, "{recv:x} {send:x}");
        }
    }

    #[test]
    fn microsofts_attributes_are_recognised_by_type_and_vendor() {
        let is = |kind, value: &[u8]| is_microsofts(&Attribute::new(kind, value).unwrap());
        let (theirs, others) = ([0, 0, 1, 0x37, 17, 2], [0, 0, 0, 9, 1, 2]);
        assert!(is(AttributeType::VENDOR_SPECIFIC, &theirs));
        assert!(!is(AttributeType::VENDOR_SPECIFIC, &others) && !is(AttributeType::USER_NAME, &theirs));
    }

    #[test]
    fn one_key_without_the_other_is_refused() {
        let mut packet = PacketBuilder::new(Code::ACCESS_ACCEPT, 1);
        write_key(&mut packet, MS_MPPE_SEND_KEY, &[0x80, 0]);
        let secret = Secret::from(SECRET);
        let bytes = packet.seal_response(&[7; 16], &secret, &mut Real::default()).unwrap().bytes;
        let under = Under { request: &[7; 16], secret: &secret };
        let error = MppeKeys::read(&Packet::read(&bytes).unwrap().attributes, under, &mut Real::default())
            .unwrap_err();
        assert_eq!(error.to_string(), "MS-MPPE-Recv-Key at offset 28: is missing");
    }

    #[test]
    fn keys_are_not_printed() {
        let keys = MppeKeys::from_msk(&[9; 64]).unwrap();
        assert_eq!(format!("{keys:?}"), "MppeKeys { recv: Secret(32 bytes), send: Secret(32 bytes) }");
    }

    proptest! {
        #[test]
        fn round_trip(msk in proptest::collection::vec(any::<u8>(), 64..=70), half in proptest::sample::select(vec![16_usize, 32])) {
            let keys = MppeKeys::from_msk(&msk).unwrap();
            let keys = MppeKeys { recv: keys.recv[..half].into(), send: keys.send[..half].into() };
            let secret = Secret::from(SECRET);
            let bytes = accept(&keys);
            let under = Under { request: &[7; 16], secret: &secret };
            let attributes = Packet::read(&bytes).unwrap().attributes;
            prop_assert_eq!(MppeKeys::read(&attributes, under, &mut Real::default()), Ok(Some(keys)));
        }

        #[test]
        fn every_cut_is_an_error_or_another_length(key in proptest::collection::vec(any::<u8>(), 0..=64)) {
            let (key, secret) = (Secret::new(key), Secret::from(SECRET));
            let under = Under { request: &[7; 16], secret: &secret };
            let value = hide(&key, 0x8001, under, &mut Real::default());
            for cut in 0..value.len() {
                let cut = Reader::new(&value[..cut]);
                // A value shortened by a whole block still contains the key's length, so the missing part of the key is detected.
                prop_assert!(reveal(cut, under, &mut Real::default()).is_err(), "{} bytes", cut.len());
            }
        }
    }
}

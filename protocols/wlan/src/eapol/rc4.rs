//! EAPOL-Key frames with the RC4 key descriptor, IEEE 802.1X-2004 §7.6: the keys of dynamic WEP.
//!
//!   Descriptor Type(1) = 1  Key Length(2) Replay Counter(8) Key IV(16) Key Index(1) Key Signature(16) Key(*)

use keytoll_net::wire::{DecodeError, Problem, Writer};

use super::key::{DescriptorType, Signed, Unsigned};
use super::pdu::{HEADER_LEN, PacketType, Pdu, with_length, write_header};

/// Octets of the signature, which is HMAC-MD5.
pub const SIGNATURE_LEN: usize = 16;
/// Where the signature begins in the PDU.
const SIGNATURE_AT: usize = HEADER_LEN + 1 + 2 + 8 + 16 + 1;

/// Bit 7 of Key Index.
const UNICAST: u8 = 0x80;

/// A key of dynamic WEP.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Rc4Key<'a> {
    /// Octets of the WEP key.
    pub key_len: u16,
    /// An NTP time, or anything else that grows with every frame.
    pub replay_counter: u64,
    /// The first half of the RC4 key that encrypts the key.
    pub iv: [u8; 16],
    /// Whether it is the key of one station instead of the group's.
    pub unicast: bool,
    /// The index of the key, at most 127; WEP has the indexes 0 to 3.
    pub index: u8,
    /// The key, encrypted. Without one the key is the beginning of the session key.
    pub key: &'a [u8],
}

/// Does not show the key.
impl std::fmt::Debug for Rc4Key<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Rc4Key")
            .field("key_len", &self.key_len)
            .field("replay_counter", &self.replay_counter)
            .field("unicast", &self.unicast)
            .field("index", &self.index)
            .finish_non_exhaustive()
    }
}

impl<'a> Rc4Key<'a> {
    /// Reads a PDU.
    ///
    /// # Errors
    /// If it is no such frame, is cut short, or its key does not have the length that it says.
    pub fn read(bytes: &'a [u8]) -> Result<(Self, Signed<'a>), DecodeError> {
        let pdu = Pdu::read(bytes)?;
        let whole = &bytes[..pdu.len()];
        let mut r = super::body(&pdu, whole, &[DescriptorType::RC4])?;
        let at_len = r;
        let key_len = r.u16("EAPOL-Key key length")?;
        let replay_counter = r.u64("EAPOL-Key replay counter")?;
        let iv = r.array("EAPOL-Key key IV")?;
        let index = r.u8("EAPOL-Key key index")?;
        let signature_at = r.offset();
        r.skip(SIGNATURE_LEN, "EAPOL-Key key signature")?;
        let key = r.rest();
        // IEEE 802.1X-2004 §7.6.9: the field is empty or as long as Key Length says.
        if !key.is_empty() && key.len() != usize::from(key_len) {
            return Err(at_len.error("EAPOL-Key key length", Problem::Length(key_len.into())));
        }
        let (unicast, index) = (index & UNICAST != 0, index & !UNICAST);
        let signed = Signed::new(whole, signature_at..signature_at + SIGNATURE_LEN);
        Ok((Self { key_len, replay_counter, iv, unicast, index, key }, signed))
    }

    /// The PDU, without its signature.
    pub fn write(&self, version: u8) -> Unsigned {
        let mut w = Writer::with_capacity(SIGNATURE_AT + SIGNATURE_LEN + self.key.len());
        write_header(&mut w, version, PacketType::KEY);
        w.u8(DescriptorType::RC4.0);
        w.u16(self.key_len);
        w.u64(self.replay_counter);
        w.bytes(&self.iv);
        w.u8(self.index & !UNICAST | if self.unicast { UNICAST } else { 0 });
        w.zeros(SIGNATURE_LEN);
        w.bytes(self.key);
        Unsigned::new(with_length(w), SIGNATURE_AT..SIGNATURE_AT + SIGNATURE_LEN)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn round_trip(key_len in 0_u16..30, empty: bool, replay_counter: u64, iv: [u8; 16], unicast: bool, index in 0_u8..128, mic: [u8; 16]) {
            let key = vec![0x5a; if empty { 0 } else { key_len.into() }];
            let frame = Rc4Key { key_len, replay_counter, iv, unicast, index, key: &key };
            let unsigned = frame.write(1);
            let covered = unsigned.covered().to_vec();
            let bytes = unsigned.signed(&mic);
            let (read, signed) = Rc4Key::read(&bytes).unwrap();
            prop_assert_eq!(read, frame);
            prop_assert_eq!((signed.mic(), signed.covered()), (&mic[..], covered));
            for cut in 0..bytes.len() {
                prop_assert!(Rc4Key::read(&bytes[..cut]).is_err());
            }
        }

        #[test]
        fn any_bytes_are_read_or_refused(bytes: Vec<u8>) {
            let _ = Rc4Key::read(&bytes);
            let body = [&[DescriptorType::RC4.0], &bytes[..]].concat();
            let _ = Rc4Key::read(&Pdu { version: 1, packet_type: PacketType::KEY, body: &body }.to_bytes());
        }
    }

    #[test]
    fn a_wep_40_key_has_53_octets_and_a_wep_104_key_61() {
        let len = |key_len: u16| {
            let key = vec![0; key_len.into()];
            let frame =
                Rc4Key { key_len, replay_counter: 1, iv: [0; 16], unicast: true, index: 0, key: &key };
            frame.write(1).unsigned().len()
        };
        assert_eq!((len(5), len(13)), (53, 61));
    }

    #[test]
    fn a_key_of_another_length_is_refused() {
        let frame =
            Rc4Key { key_len: 13, replay_counter: 1, iv: [0; 16], unicast: true, index: 0, key: &[1; 5] };
        let error = Rc4Key::read(&frame.write(1).unsigned()).unwrap_err();
        assert_eq!(error.to_string(), "EAPOL-Key key length at offset 5: length 13 does not fit");
    }

    #[test]
    fn the_key_is_not_shown() {
        let frame =
            Rc4Key { key_len: 5, replay_counter: 1, iv: [0; 16], unicast: true, index: 0, key: &[77; 5] };
        assert!(!format!("{frame:?}").contains("77"));
    }
}

//! EAPOL-Key frames with the RSN key descriptor and WPA's, which has the same layout. 802.11-2020 §12.7.2, figure 12-33.
//!
//!   Descriptor Type(1) Key Information(2) Key Length(2) Key Replay Counter(8) Key Nonce(32) EAPOL-Key IV(16) Key RSC(8)
//!   Reserved(8) Key MIC(0, 16, 24 or 32) Key Data Length(2) Key Data(*)

use keytoll_net::wire::{DecodeError, Problem, Writer};

use super::information::KeyInformation;
use super::key::{DescriptorType, Signed, Unsigned};
use super::pdu::{HEADER_LEN, PacketType, Pdu, with_length, write_header};

/// Octets of a nonce.
pub const NONCE_LEN: usize = 32;
/// Where the MIC begins in the PDU.
const MIC_AT: usize = HEADER_LEN + 1 + 2 + 2 + 8 + NONCE_LEN + 16 + 8 + 8;

/// 802.11-2020 table 12-10: the lengths of a MIC, the commonest first.
const MIC_LENS: [usize; 4] = [16, 24, 32, 0];

/// An EAPOL-Key frame of a 4-way or group key handshake.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct RsnKey<'a> {
    /// [`DescriptorType::RSN`] or [`DescriptorType::WPA`].
    pub descriptor: DescriptorType,
    /// What the frame is.
    pub information: KeyInformation,
    /// Octets of the pairwise temporal key; zero in messages of the supplicant.
    pub key_len: u16,
    /// Grows with every frame of the authenticator, and is repeated in the answer.
    pub replay_counter: u64,
    /// A nonce, or zeros.
    pub nonce: [u8; NONCE_LEN],
    /// The first half of the RC4 key under [`KeyInformation::VERSION_MD5_RC4`], or zeros.
    pub iv: [u8; 16],
    /// The packet number that the next group-addressed frame exceeds, its least significant octet first.
    pub rsc: [u8; 8],
    /// Elements and KDEs, encrypted or not ([`super::kde`]); of WPA's group key handshake the encrypted key alone.
    pub key_data: &'a [u8],
}

/// Shows the length of the key data only: in messages that were decrypted in place they contain keys.
impl std::fmt::Debug for RsnKey<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RsnKey")
            .field("descriptor", &self.descriptor)
            .field("information", &self.information)
            .field("key_len", &self.key_len)
            .field("replay_counter", &self.replay_counter)
            .field("nonce", &self.nonce)
            .field("key_data_len", &self.key_data.len())
            .finish_non_exhaustive()
    }
}

impl<'a> RsnKey<'a> {
    /// Reads a PDU under an AKM whose MIC has `mic_len` octets ([`crate::Akm::mic_len`]).
    ///
    /// # Errors
    /// If it is no such frame, is cut short, or has no room for its key data.
    pub fn read(bytes: &'a [u8], mic_len: usize) -> Result<(Self, Signed<'a>), DecodeError> {
        let pdu = Pdu::read(bytes)?;
        let whole = &bytes[..pdu.len()];
        let mut r = super::body(&pdu, whole, &[DescriptorType::RSN, DescriptorType::WPA])?;
        let descriptor = DescriptorType::of(&pdu)?;
        let information = KeyInformation(r.u16("EAPOL-Key key information")?);
        let key_len = r.u16("EAPOL-Key key length")?;
        let replay_counter = r.u64("EAPOL-Key replay counter")?;
        let nonce = r.array("EAPOL-Key nonce")?;
        let iv = r.array("EAPOL-Key IV")?;
        let rsc = r.array("EAPOL-Key RSC")?;
        r.skip(8, "EAPOL-Key reserved")?;
        let mic_at = r.offset();
        r.skip(mic_len, "EAPOL-Key MIC")?;
        let at = r;
        let len = r.u16("EAPOL-Key key data length")?;
        // hostapd 2.10 leaves room for a PMKID behind the empty key data of Suite B's first message: what follows is ignored.
        if usize::from(len) > r.len() {
            return Err(at.error("EAPOL-Key key data length", Problem::Length(len.into())));
        }
        let key_data = r.take(len.into(), "EAPOL-Key key data")?;
        let signed = Signed::new(whole, mic_at..mic_at + mic_len);
        Ok((Self { descriptor, information, key_len, replay_counter, nonce, iv, rsc, key_data }, signed))
    }

    /// Reads a PDU of an AKM that is not known, as in a capture: the length of its MIC is the one with which the key data fill it.
    ///
    /// # Errors
    /// As of [`RsnKey::read`]; the error is about the commonest length.
    pub fn read_of_any_akm(bytes: &'a [u8]) -> Result<(Self, Signed<'a>), DecodeError> {
        let len = Pdu::read(bytes)?.len();
        let filling = MIC_LENS.into_iter().find_map(|mic_len| {
            let read = Self::read(bytes, mic_len).ok()?;
            (MIC_AT + mic_len + 2 + read.0.key_data.len() == len).then_some(read)
        });
        filling.map_or_else(|| Self::read(bytes, MIC_LENS[0]), Ok)
    }

    /// The PDU with room for a MIC of `mic_len` octets.
    ///
    /// # Panics
    /// If the key data have more than 65 000 octets: those of a handshake are a few elements and keys.
    pub fn write(&self, version: u8, mic_len: usize) -> Unsigned {
        let mut w = Writer::with_capacity(MIC_AT + mic_len + 2 + self.key_data.len());
        write_header(&mut w, version, PacketType::KEY);
        w.u8(self.descriptor.0);
        w.u16(self.information.0);
        w.u16(self.key_len);
        w.u64(self.replay_counter);
        w.bytes(&self.nonce);
        w.bytes(&self.iv);
        w.bytes(&self.rsc);
        w.zeros(8 + mic_len);
        w.u16(u16::try_from(self.key_data.len()).expect("key data are shorter than 64 KiB"));
        w.bytes(self.key_data);
        Unsigned::new(with_length(w), MIC_AT..MIC_AT + mic_len)
    }

    /// The packet number in Key RSC: that of TKIP, CCMP and GCMP has six octets.
    pub const fn packet_number(&self) -> u64 {
        u64::from_le_bytes(self.rsc) & 0xffff_ffff_ffff
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn frame(key_data: &[u8]) -> RsnKey<'_> {
        RsnKey {
            descriptor: DescriptorType::RSN,
            information: KeyInformation(0x008a),
            key_len: 16,
            replay_counter: 1,
            nonce: [0xaa; 32],
            iv: [0; 16],
            rsc: [0; 8],
            key_data,
        }
    }

    proptest! {
        #[test]
        fn round_trip(wpa: bool, information: u16, key_len: u16, replay_counter: u64, nonce: [u8; 32], iv: [u8; 16], rsc: [u8; 8], key_data in proptest::collection::vec(any::<u8>(), 0..80), mic_len in proptest::sample::select(MIC_LENS.to_vec()), padding in 0_usize..20) {
            let descriptor = if wpa { DescriptorType::WPA } else { DescriptorType::RSN };
            let information = KeyInformation(information);
            let frame = RsnKey { descriptor, information, key_len, replay_counter, nonce, iv, rsc, key_data: &key_data };
            let unsigned = frame.write(2, mic_len);
            let covered = unsigned.covered().to_vec();
            let mic = vec![0x17; mic_len];
            let mut bytes = unsigned.signed(&mic);
            for cut in 0..bytes.len() {
                prop_assert!(RsnKey::read(&bytes[..cut], mic_len).is_err());
            }
            bytes.resize(bytes.len() + padding, 0);
            let (read, signed) = RsnKey::read(&bytes, mic_len).unwrap();
            prop_assert_eq!(read, frame);
            prop_assert_eq!((signed.mic(), signed.covered()), (&mic[..], covered));
        }

        #[test]
        fn any_bytes_are_read_or_refused(bytes: Vec<u8>, mic_len in 0_usize..40) {
            let _ = RsnKey::read(&bytes, mic_len);
            let body = [&[DescriptorType::RSN.0], &bytes[..]].concat();
            let pdu = Pdu { version: 1, packet_type: PacketType::KEY, body: &body }.to_bytes();
            let _ = RsnKey::read(&pdu, mic_len);
            let _ = RsnKey::read_of_any_akm(&pdu);
        }
    }

    #[test]
    fn the_length_of_the_mic_is_found_by_the_key_data() {
        for mic_len in MIC_LENS {
            let bytes = frame(&[0xdd; 22]).write(2, mic_len).signed(&vec![0x17; mic_len]);
            let (read, signed) = RsnKey::read_of_any_akm(&bytes).unwrap();
            assert_eq!((read, signed.mic().len()), (frame(&[0xdd; 22]), mic_len));
        }
    }

    #[test]
    fn room_behind_key_data_is_ignored() {
        let mut bytes = frame(&[7; 22]).write(2, 24).unsigned();
        bytes[105..107].copy_from_slice(&[0, 0]);
        assert_eq!(RsnKey::read(&bytes, 24).unwrap().0, frame(&[]));
    }

    #[test]
    fn another_descriptor_and_key_data_of_a_wrong_length_are_refused() {
        let mut bytes = frame(&[]).write(2, 16).unsigned();
        assert_eq!(bytes.len(), 99);
        bytes[4] = 1;
        let error = RsnKey::read(&bytes, 16).unwrap_err();
        assert_eq!(error.to_string(), "EAPOL-Key descriptor type at offset 4: value 1 is not allowed");
        (bytes[4], bytes[98]) = (2, 1);
        let error = RsnKey::read(&bytes, 16).unwrap_err();
        assert_eq!(error.to_string(), "EAPOL-Key key data length at offset 97: length 1 does not fit");
        bytes[1] = 0;
        let error = RsnKey::read(&bytes, 16).unwrap_err();
        assert_eq!(error.to_string(), "EAPOL packet type at offset 1: value 0 is not allowed");
    }

    #[test]
    fn the_packet_number_is_little_endian() {
        let frame = RsnKey { rsc: [2, 1, 0, 0, 0, 0, 9, 9], ..frame(&[]) };
        assert_eq!(frame.packet_number(), 0x0102);
    }
}

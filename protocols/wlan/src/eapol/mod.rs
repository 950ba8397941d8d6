//! EAPOL: IEEE 802.1X-2020 §11 (PDUs), 802.11-2020 §12.7.2 (EAPOL-Key frames with the RSN key descriptor), IEEE 802.1X-2004 §7.6
//! (the RC4 key descriptor of dynamic WEP). A PDU begins at its protocol version; what carries it does not matter here.

pub mod information;
pub mod kde;
pub mod key;
pub mod pdu;
pub mod rc4;
pub mod rsn;

pub use information::KeyInformation;
pub use kde::{KeyData, KeyItem};
pub use key::{DescriptorType, Signed, Unsigned};
pub use pdu::{ETHER_TYPE, PacketType, Pdu};
pub use rc4::Rc4Key;
pub use rsn::RsnKey;

use keytoll_net::wire::{DecodeError, Problem, Reader};

/// A reader behind the descriptor type of an EAPOL-Key PDU, which is one of these; it counts offsets from the start of the PDU.
fn body<'a>(pdu: &Pdu<'_>, whole: &'a [u8], allowed: &[DescriptorType]) -> Result<Reader<'a>, DecodeError> {
    let descriptor = DescriptorType::of(pdu)?;
    let mut r = Reader::new(whole);
    r.skip(pdu::HEADER_LEN, "EAPOL header")?;
    if !allowed.contains(&descriptor) {
        return Err(r.error("EAPOL-Key descriptor type", Problem::Value(descriptor.0.into())));
    }
    r.skip(1, "EAPOL-Key descriptor type")?;
    Ok(r)
}

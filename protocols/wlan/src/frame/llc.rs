//! LLC and SNAP, with which the body of a data frame begins: IEEE 802.2 §3, 802.11-2020 §5.1.4, RFC 1042.
//!
//!   DSAP(1) = aa SSAP(1) = aa Control(1) = 3 OUI(3) EtherType(2)

use keytoll_net::wire::{DecodeError, Problem, Reader, Writer};

/// Octets of both headers.
pub const LEN: usize = 8;

const LLC: [u8; 3] = [0xaa, 0xaa, 3];
const RFC_1042: [u8; 3] = [0, 0, 0];
/// IEEE 802.1H: of protocols that bridges would translate.
const BRIDGE_TUNNEL: [u8; 3] = [0, 0, 0xf8];

/// Reads both headers: the EtherType.
///
/// # Errors
/// If they are cut short, or are of something that has no EtherType.
pub fn read(r: &mut Reader<'_>) -> Result<u16, DecodeError> {
    let at = *r;
    let llc = r.array("LLC header")?;
    if llc != LLC {
        return Err(at.error("LLC header", Problem::Value(llc[0].into())));
    }
    let at = *r;
    let oui: [u8; 3] = r.array("SNAP OUI")?;
    if ![RFC_1042, BRIDGE_TUNNEL].contains(&oui) {
        let [a, b, c] = oui.map(u64::from);
        return Err(at.error("SNAP OUI", Problem::Value(a << 16 | b << 8 | c)));
    }
    r.u16("EtherType")
}

/// Writes both headers.
pub fn write(w: &mut Writer, ether_type: u16) {
    w.bytes(&LLC);
    w.bytes(&RFC_1042);
    w.u16(ether_type);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn round_trip(ether_type: u16) {
            let mut w = Writer::default();
            write(&mut w, ether_type);
            let bytes = w.finish();
            prop_assert_eq!((bytes.len(), read(&mut Reader::new(&bytes))), (LEN, Ok(ether_type)));
            for cut in 0..bytes.len() {
                prop_assert!(read(&mut Reader::new(&bytes[..cut])).is_err());
            }
        }

        #[test]
        fn any_bytes_are_read_or_refused(bytes: Vec<u8>) {
            let _ = read(&mut Reader::new(&bytes));
        }
    }

    #[test]
    fn other_headers_are_named() {
        let error = |bytes: &[u8]| read(&mut Reader::new(bytes)).unwrap_err().to_string();
        assert_eq!(error(&[0x42, 0x42, 3]), "LLC header at offset 0: value 66 is not allowed");
        assert_eq!(
            error(&[0xaa, 0xaa, 3, 0, 0x40, 0x96, 0, 0]),
            "SNAP OUI at offset 3: value 16534 is not allowed"
        );
    }
}

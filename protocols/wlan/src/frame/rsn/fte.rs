//! The FTE, 802.11-2020 §9.4.2.47.
//!
//!   MIC Control(2) MIC(16 or 24) ANonce(32) SNonce(32) Optional Parameters: Subelement ID(1) Length(1) Data(*) each

use keytoll_net::wire::{DecodeError, Problem, Reader, Writer};

use crate::MacAddr;
use crate::frame::element::{ElementId, write_element};
use crate::frame::hidden::Hidden;

/// 802.11-2020 table 9-179.
mod subelement {
    pub(super) const R1KH_ID: u8 = 1;
    pub(super) const GTK: u8 = 2;
    pub(super) const R0KH_ID: u8 = 3;
    pub(super) const IGTK: u8 = 4;
}

/// 802.11-2020 §9.4.2.47: an R0KH-ID has 1 to 48 octets.
const R0KH_ID_LEN_MAX: usize = 48;

/// What proves a fast transition, and the group keys that it brings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fte<'a> {
    /// Whether the sender's RSNXE counts among the protected elements, bit 0 of the first octet of MIC Control.
    pub rsnxe_used: bool,
    /// How many elements the MIC covers.
    pub element_count: u8,
    /// The MIC, or zeros: 16 octets, or 24 under an AKM with SHA-384.
    pub mic: &'a [u8],
    /// The nonce of the access point.
    pub anonce: [u8; 32],
    /// The nonce of the station.
    pub snonce: [u8; 32],
    /// Who holds the PMK-R1.
    pub r1kh_id: Option<MacAddr>,
    /// Who holds the PMK-R0.
    pub r0kh_id: Option<&'a [u8]>,
    /// The group key, wrapped.
    pub gtk: Option<WrappedGtk<'a>>,
    /// The group key of management frames, wrapped.
    pub igtk: Option<WrappedIgtk<'a>>,
}

/// The GTK subelement:  Key Info(2) Key Length(1) RSC(8) Wrapped Key(*)
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WrappedGtk<'a> {
    /// Its index, at most 3.
    pub key_id: u8,
    /// Octets of the key before it was padded and wrapped.
    pub key_len: u8,
    /// The packet number that the next frame exceeds, its least significant octet first.
    pub rsc: [u8; 8],
    /// The key.
    pub wrapped: Hidden<'a>,
}

/// The IGTK subelement:  Key ID(2) IPN(6) Key Length(1) Wrapped Key(*)
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WrappedIgtk<'a> {
    /// Its index, 4 or 5.
    pub key_id: u16,
    /// The packet number that the next frame exceeds, its least significant octet first.
    pub packet_number: [u8; 6],
    /// Octets of the key before it was wrapped.
    pub key_len: u8,
    /// The key.
    pub wrapped: Hidden<'a>,
}

impl<'a> Fte<'a> {
    /// Reads the information of the element under an AKM whose MIC has `mic_len` octets ([`crate::Akm::mic_len`]).
    ///
    /// # Errors
    /// If it is cut short, or a subelement does not have the length of its kind.
    pub fn read(information: &'a [u8], mic_len: usize) -> Result<Self, DecodeError> {
        let mut r = Reader::new(information);
        let [flags, element_count] = r.array("FTE MIC control")?;
        let mut fte = Self {
            rsnxe_used: flags & 1 != 0,
            element_count,
            mic: r.take(mic_len, "FTE MIC")?,
            anonce: r.array("FTE ANonce")?,
            snonce: r.array("FTE SNonce")?,
            r1kh_id: None,
            r0kh_id: None,
            gtk: None,
            igtk: None,
        };
        while !r.is_empty() {
            fte.read_subelement(&mut r)?;
        }
        Ok(fte)
    }

    fn read_subelement(&mut self, r: &mut Reader<'a>) -> Result<(), DecodeError> {
        let id = r.u8("FTE subelement ID")?;
        let at = *r;
        let len = r.u8("FTE subelement length")?;
        let mut data = r.sub(len.into(), "FTE subelement")?;
        match id {
            subelement::R1KH_ID => self.r1kh_id = Some(data.array("R1KH-ID")?),
            subelement::GTK => self.gtk = Some(WrappedGtk::read(&mut data)?),
            subelement::IGTK => self.igtk = Some(WrappedIgtk::read(&mut data)?),
            subelement::R0KH_ID => {
                if !(1..=R0KH_ID_LEN_MAX).contains(&data.len()) {
                    return Err(at.error("R0KH-ID length", Problem::Length(len.into())));
                }
                self.r0kh_id = Some(data.rest());
            }
            _ => drop(data.rest()),
        }
        data.end("FTE subelement")
    }

    /// Writes the element with its id and length, its MIC as it is here.
    ///
    /// # Panics
    /// If it has more than 255 octets.
    pub fn write(&self, w: &mut Writer) {
        write_element(w, ElementId::FAST_TRANSITION, |w| {
            w.bytes(&[u8::from(self.rsnxe_used), self.element_count]);
            w.bytes(self.mic);
            w.bytes(&self.anonce);
            w.bytes(&self.snonce);
            self.write_subelements(w);
        });
    }

    /// The element as bytes, with its id and length.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut w = Writer::default();
        self.write(&mut w);
        w.finish()
    }

    fn write_subelements(&self, w: &mut Writer) {
        if let Some(r1kh_id) = &self.r1kh_id {
            write_element(w, ElementId(subelement::R1KH_ID), |w| w.bytes(r1kh_id));
        }
        if let Some(gtk) = &self.gtk {
            write_element(w, ElementId(subelement::GTK), |w| gtk.write(w));
        }
        if let Some(r0kh_id) = self.r0kh_id {
            write_element(w, ElementId(subelement::R0KH_ID), |w| w.bytes(r0kh_id));
        }
        if let Some(igtk) = &self.igtk {
            write_element(w, ElementId(subelement::IGTK), |w| igtk.write(w));
        }
    }
}

impl<'a> WrappedGtk<'a> {
    fn read(r: &mut Reader<'a>) -> Result<Self, DecodeError> {
        let info = r.u16_le("GTK key info")?;
        let key_len = r.u8("GTK key length")?;
        let rsc = r.array("GTK RSC")?;
        Ok(Self { key_id: (info & 3) as u8, key_len, rsc, wrapped: Hidden(r.rest()) })
    }

    fn write(&self, w: &mut Writer) {
        w.u16_le(u16::from(self.key_id & 3));
        w.u8(self.key_len);
        w.bytes(&self.rsc);
        w.bytes(self.wrapped.0);
    }
}

impl<'a> WrappedIgtk<'a> {
    fn read(r: &mut Reader<'a>) -> Result<Self, DecodeError> {
        let key_id = r.u16_le("IGTK key ID")?;
        let packet_number = r.array("IGTK packet number")?;
        let key_len = r.u8("IGTK key length")?;
        Ok(Self { key_id, packet_number, key_len, wrapped: Hidden(r.rest()) })
    }

    fn write(&self, w: &mut Writer) {
        w.u16_le(self.key_id);
        w.bytes(&self.packet_number);
        w.u8(self.key_len);
        w.bytes(self.wrapped.0);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn round_trip(rsnxe_used: bool, element_count: u8, sha384: bool, anonce: [u8; 32], snonce: [u8; 32], r1kh_id: Option<[u8; 6]>, r0kh_id in proptest::option::of(proptest::collection::vec(any::<u8>(), 1..=48)), key_id in 0_u8..4, rsc: [u8; 8], igtk_id: u16, packet_number: [u8; 6], has_keys: bool) {
            let mic_len = if sha384 { 24 } else { 16 };
            let mic = vec![9; mic_len];
            let wrapped = Hidden(&[3; 24]);
            let fte = Fte {
                rsnxe_used, element_count, mic: &mic, anonce, snonce, r1kh_id, r0kh_id: r0kh_id.as_deref(),
                gtk: has_keys.then_some(WrappedGtk { key_id, key_len: 16, rsc, wrapped }),
                igtk: has_keys.then_some(WrappedIgtk { key_id: igtk_id, packet_number, key_len: 16, wrapped }),
            };
            let bytes = fte.to_bytes();
            prop_assert_eq!((bytes[0], usize::from(bytes[1])), (55, bytes.len() - 2));
            prop_assert_eq!(Fte::read(&bytes[2..], mic_len).unwrap(), fte);
        }

        #[test]
        fn any_bytes_are_read_or_refused(bytes: Vec<u8>, mic_len in 0_usize..40) {
            let _ = Fte::read(&bytes, mic_len);
            let _ = Fte::read(&[&[0; 82], &bytes[..]].concat(), 16);
        }
    }

    #[test]
    fn a_key_holder_without_a_name_is_refused() {
        let error = Fte::read(&[&[0; 82][..], &[3, 0]].concat(), 16).unwrap_err();
        assert_eq!(error.to_string(), "R0KH-ID length at offset 83: length 0 does not fit");
        let error = Fte::read(&[&[0; 82][..], &[1, 5, 1, 2, 3, 4, 5]].concat(), 16).unwrap_err();
        assert_eq!((error.field, error.offset), ("R1KH-ID", 84));
    }
}

//! The key data of an EAPOL-Key frame in the clear: elements and key data encapsulations (KDEs). 802.11-2020 §12.7.2, figure 12-35
//! and table 12-9.
//!
//!   KDE:  Type(1) = dd  Length(1) OUI(3) Data Type(1) Data(*)

use keytoll_net::wire::{DecodeError, Reader, Writer};

use crate::MacAddr;
use crate::frame::element::{Element, ElementId, write_element};
use crate::frame::hidden::Hidden;
use crate::suite::{IEEE_OUI, WPA_OUI};

/// The octet with which a KDE begins, and padding.
const KDE: u8 = ElementId::VENDOR.0;

/// 802.11-2020 table 12-9.
mod data_type {
    pub(super) const GTK: u8 = 1;
    pub(super) const MAC_ADDRESS: u8 = 3;
    pub(super) const PMKID: u8 = 4;
    pub(super) const LIFETIME: u8 = 7;
    pub(super) const IGTK: u8 = 9;
    pub(super) const KEY_ID: u8 = 10;
    pub(super) const BIGTK: u8 = 14;
}

/// A group key of management frames or beacons.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ManagementKey<'a> {
    /// Its index: 4 or 5 of an IGTK, 6 or 7 of a BIGTK.
    pub key_id: u16,
    /// The packet number that the next frame exceeds; it has 48 bits.
    pub packet_number: u64,
    /// The key.
    pub key: Hidden<'a>,
}

/// A KDE that has no type of its own here, or a vendor-specific element, which has the same layout.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Kde<'a> {
    /// The organization.
    pub oui: [u8; 3],
    /// Its type.
    pub data_type: u8,
    /// What it contains.
    pub data: Hidden<'a>,
}

/// What key data contain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyItem<'a> {
    /// The group key.
    Gtk {
        /// Its index, at most 3.
        key_id: u8,
        /// Whether the supplicant sends with it, too.
        transmit: bool,
        /// The key.
        key: Hidden<'a>,
    },
    /// The address of a station.
    MacAddress(MacAddr),
    /// The PMK that is used.
    Pmkid([u8; 16]),
    /// For how long the keys are valid.
    Lifetime {
        /// In seconds.
        seconds: u32,
    },
    /// The group key of management frames.
    Igtk(ManagementKey<'a>),
    /// The group key of beacons.
    Bigtk(ManagementKey<'a>),
    /// The index of the pairwise key, where that may be another than zero.
    KeyId(u8),
    /// Another KDE, or a vendor-specific element such as WPA's.
    Kde(Kde<'a>),
    /// An element, such as the RSNE.
    Element(Element<'a>),
}

impl<'a> KeyItem<'a> {
    fn read(r: &mut Reader<'a>) -> Result<Self, DecodeError> {
        let id = r.u8("key data type")?;
        let len = r.u8("key data length")?;
        let mut body = r.sub(len.into(), "key data contents")?;
        if id != KDE {
            return Ok(Self::Element(Element { id: ElementId(id), body: body.rest() }));
        }
        let oui = body.array("KDE OUI")?;
        let kind = body.u8("KDE data type")?;
        Self::read_kde(oui, kind, &mut body)
    }

    fn read_kde(oui: [u8; 3], kind: u8, r: &mut Reader<'a>) -> Result<Self, DecodeError> {
        let known = (oui == IEEE_OUI).then_some(kind);
        let item = match known {
            Some(data_type::GTK) => {
                let flags = r.u8("GTK key ID")?;
                r.skip(1, "GTK reserved")?;
                Self::Gtk { key_id: flags & 3, transmit: flags & 4 != 0, key: Hidden(r.rest()) }
            }
            Some(data_type::MAC_ADDRESS) => Self::MacAddress(r.array("MAC address")?),
            Some(data_type::PMKID) => Self::Pmkid(r.array("PMKID")?),
            Some(data_type::LIFETIME) => Self::Lifetime { seconds: r.u32("key lifetime")? },
            Some(data_type::IGTK) => Self::Igtk(ManagementKey::read(r)?),
            Some(data_type::BIGTK) => Self::Bigtk(ManagementKey::read(r)?),
            Some(data_type::KEY_ID) => {
                let id = r.u8("key ID")? & 3;
                r.skip(1, "key ID reserved")?;
                Self::KeyId(id)
            }
            _ => Self::Kde(Kde { oui, data_type: kind, data: Hidden(r.rest()) }),
        };
        r.end("KDE")?;
        Ok(item)
    }

    /// Writes the item.
    ///
    /// # Panics
    /// If it has more than 255 octets: no key is that long.
    pub fn write(&self, w: &mut Writer) {
        match self {
            Self::Gtk { key_id, transmit, key } => write_kde(w, data_type::GTK, |w| {
                w.u8(key_id & 3 | u8::from(*transmit) << 2);
                w.u8(0);
                w.bytes(key.0);
            }),
            Self::MacAddress(address) => write_kde(w, data_type::MAC_ADDRESS, |w| w.bytes(address)),
            Self::Pmkid(pmkid) => write_kde(w, data_type::PMKID, |w| w.bytes(pmkid)),
            Self::Lifetime { seconds } => write_kde(w, data_type::LIFETIME, |w| w.u32(*seconds)),
            Self::Igtk(igtk) => write_kde(w, data_type::IGTK, |w| igtk.write(w)),
            Self::Bigtk(bigtk) => write_kde(w, data_type::BIGTK, |w| bigtk.write(w)),
            Self::KeyId(id) => write_kde(w, data_type::KEY_ID, |w| w.bytes(&[id & 3, 0])),
            Self::Kde(kde) => write_any_kde(w, kde.oui, kde.data_type, |w| w.bytes(kde.data.0)),
            Self::Element(element) => element.write(w),
        }
    }
}

impl<'a> ManagementKey<'a> {
    /// Key ID(2) IPN(6) Key(*), the least significant octets first
    fn read(r: &mut Reader<'a>) -> Result<Self, DecodeError> {
        let key_id = r.u16_le("IGTK key ID")?;
        let [a, b, c, d, e, f] = r.array("IGTK packet number")?;
        let packet_number = u64::from_le_bytes([a, b, c, d, e, f, 0, 0]);
        Ok(Self { key_id, packet_number, key: Hidden(r.rest()) })
    }

    fn write(&self, w: &mut Writer) {
        w.u16_le(self.key_id);
        w.bytes(&self.packet_number.to_le_bytes()[..6]);
        w.bytes(self.key.0);
    }
}

fn write_kde(w: &mut Writer, kind: u8, contents: impl FnOnce(&mut Writer)) {
    write_any_kde(w, IEEE_OUI, kind, contents);
}

fn write_any_kde(w: &mut Writer, oui: [u8; 3], kind: u8, contents: impl FnOnce(&mut Writer)) {
    write_element(w, ElementId::VENDOR, |w| {
        w.bytes(&oui);
        w.u8(kind);
        contents(w);
    });
}

/// Key data that were read, in their order.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct KeyData<'a> {
    /// What they contain, padding left out.
    pub items: Vec<KeyItem<'a>>,
}

impl<'a> KeyData<'a> {
    /// Reads key data in the clear.
    ///
    /// # Errors
    /// If an item is cut short.
    pub fn read(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        let mut r = Reader::new(bytes);
        let mut items = Vec::new();
        while !r.is_empty() && !is_padding(r) {
            items.push(KeyItem::read(&mut r)?);
        }
        Ok(Self { items })
    }

    /// These items as key data, without padding.
    pub fn write(items: &[KeyItem<'_>]) -> Vec<u8> {
        let mut w = Writer::default();
        items.iter().for_each(|item| item.write(&mut w));
        w.finish()
    }

    /// The group key: its index and the key.
    pub fn gtk(&self) -> Option<(u8, &'a [u8])> {
        self.find(|item| match item {
            KeyItem::Gtk { key_id, key, .. } => Some((*key_id, key.0)),
            _ => None,
        })
    }

    /// The group key of management frames.
    pub fn igtk(&self) -> Option<ManagementKey<'a>> {
        self.find(|item| match item {
            KeyItem::Igtk(igtk) => Some(*igtk),
            _ => None,
        })
    }

    /// Which PMK is used.
    pub fn pmkid(&self) -> Option<[u8; 16]> {
        self.find(|item| match item {
            KeyItem::Pmkid(pmkid) => Some(*pmkid),
            _ => None,
        })
    }

    /// The index of the pairwise key.
    pub fn key_id(&self) -> Option<u8> {
        self.find(|item| match item {
            KeyItem::KeyId(id) => Some(*id),
            _ => None,
        })
    }

    /// The first element of this kind; [`KeyData::wpa`] has WPA's.
    pub fn element(&self, id: ElementId) -> Option<Element<'a>> {
        self.find(|item| match item {
            KeyItem::Element(element) if element.id == id => Some(*element),
            _ => None,
        })
    }

    /// WPA's element: what follows its OUI and type.
    pub fn wpa(&self) -> Option<&'a [u8]> {
        self.find(|item| match item {
            KeyItem::Kde(Kde { oui: WPA_OUI, data_type: 1, data }) => Some(data.0),
            _ => None,
        })
    }

    fn find<T>(&self, select: impl FnMut(&KeyItem<'a>) -> Option<T>) -> Option<T> {
        self.items.iter().find_map(select)
    }
}

/// Whether what follows is padding.
// 802.11-2020 §12.7.2 (Key Data): padding is dd and then zeros, which no KDE can be, for it has four octets at least.
fn is_padding(mut r: Reader<'_>) -> bool {
    matches!(r.rest(), [KDE] | [KDE, 0, ..])
}

/// Pads key data for AES key wrap.
// 802.11-2020 §12.7.2 (Key Data): to 16 octets at least, and to a multiple of eight.
pub fn pad(key_data: &mut Vec<u8>) {
    let padded = key_data.len().next_multiple_of(8).max(16);
    if padded > key_data.len() {
        key_data.push(KDE);
        key_data.resize(padded, 0);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn bytes(range: std::ops::Range<usize>) -> impl Strategy<Value = Vec<u8>> {
        proptest::collection::vec(any::<u8>(), range)
    }

    proptest! {
        #[test]
        fn round_trip(key_id in 0_u8..4, transmit: bool, gtk in bytes(5..33), address: [u8; 6], pmkid: [u8; 16], seconds: u32, igtk_id: u16, packet_number in 0_u64..1 << 48, vendor in bytes(0..40), rsne in bytes(0..40)) {
            let key = ManagementKey { key_id: igtk_id, packet_number, key: Hidden(&gtk) };
            let items = [
                KeyItem::Element(Element { id: ElementId::RSN, body: &rsne }),
                KeyItem::Gtk { key_id, transmit, key: Hidden(&gtk) },
                KeyItem::MacAddress(address),
                KeyItem::Pmkid(pmkid),
                KeyItem::Lifetime { seconds },
                KeyItem::Igtk(key),
                KeyItem::Bigtk(key),
                KeyItem::KeyId(key_id),
                KeyItem::Kde(Kde { oui: WPA_OUI, data_type: 1, data: Hidden(&vendor) }),
            ];
            let mut written = KeyData::write(&items);
            pad(&mut written);
            prop_assert_eq!(written.len() % 8, 0);
            let data = KeyData::read(&written).unwrap();
            prop_assert_eq!(&data.items[..], &items[..]);
            prop_assert_eq!((data.gtk(), data.igtk(), data.pmkid()), (Some((key_id, &gtk[..])), Some(key), Some(pmkid)));
            prop_assert_eq!(data.element(ElementId::RSN).map(|rsne| rsne.body), Some(&rsne[..]));
            prop_assert_eq!(data.wpa(), Some(&vendor[..]));
        }

        #[test]
        fn any_bytes_are_read_or_refused(bytes: Vec<u8>) {
            let _ = KeyData::read(&bytes);
            let kde = [&[KDE, bytes.len().min(255) as u8, 0, 0x0f, 0xac], &bytes[..]].concat();
            let _ = KeyData::read(&kde);
        }
    }

    #[test]
    fn nothing_is_padded_to_sixteen_octets_and_a_multiple_of_eight_not_at_all() {
        let padded = |len: usize| {
            let mut bytes = vec![1; len];
            pad(&mut bytes);
            bytes.len()
        };
        assert_eq!((padded(0), padded(15), padded(16), padded(17), padded(24)), (16, 16, 16, 24, 24));
        let mut nothing = Vec::new();
        pad(&mut nothing);
        assert_eq!(KeyData::read(&nothing).unwrap(), KeyData::default());
    }

    #[test]
    fn a_kde_that_is_cut_short_is_named() {
        let error = KeyData::read(&[0xdd, 5, 0, 0x0f, 0xac, 1, 0]).unwrap_err();
        assert_eq!((error.field, error.offset), ("GTK reserved", 7));
        let error = KeyData::read(&[0xdd, 5, 0, 0x0f, 0xac, 4]).unwrap_err();
        assert_eq!((error.field, error.offset), ("key data contents", 2));
    }

    #[test]
    fn keys_are_not_shown() {
        let item = KeyItem::Gtk { key_id: 1, transmit: false, key: Hidden(&[77; 16]) };
        assert!(!format!("{item:?}").contains("77"));
    }
}

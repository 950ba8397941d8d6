//! Suite selectors, 802.11-2020 §9.4.2.24.2.
//!
//!   OUI(3) Suite Type(1)

use keytoll_net::wire::{DecodeError, Problem, Reader, Writer};

use crate::suite::{Akm, Cipher, IEEE_OUI, WPA_OUI};

/// A cipher or AKM suite as it was sent, known or not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Selector {
    /// The organization.
    pub oui: [u8; 3],
    /// Its suite.
    pub number: u8,
}

impl Selector {
    /// "Use group cipher suite": there is no pairwise key.
    pub const USE_GROUP: Self = Self { oui: IEEE_OUI, number: 0 };
    /// Group-addressed traffic is not allowed.
    pub const NO_GROUP_TRAFFIC: Self = Self { oui: IEEE_OUI, number: 7 };

    /// A cipher in an RSNE.
    pub const fn of_cipher(cipher: Cipher) -> Self {
        Self { oui: IEEE_OUI, number: cipher.number() }
    }

    /// An AKM in an RSNE.
    pub const fn of_akm(akm: Akm) -> Self {
        Self { oui: IEEE_OUI, number: akm.number() }
    }

    /// The same suite in WPA's element, where it has the same number.
    #[must_use]
    pub const fn of_wpa(self) -> Self {
        Self { oui: WPA_OUI, ..self }
    }

    /// The cipher, if it is one that we know.
    pub fn cipher(self) -> Option<Cipher> {
        match self.oui {
            IEEE_OUI => Cipher::numbered(self.number),
            // WPA ended with AES-CCM and WEP-104.
            WPA_OUI if self.number <= Cipher::Wep104.number() => Cipher::numbered(self.number),
            _ => None,
        }
    }

    /// The AKM, if it is one that we know.
    pub fn akm(self) -> Option<Akm> {
        match self.oui {
            IEEE_OUI => Akm::numbered(self.number),
            WPA_OUI if self.number <= Akm::Psk.number() => Akm::numbered(self.number),
            _ => None,
        }
    }

    pub(super) fn read(r: &mut Reader<'_>, field: &'static str) -> Result<Self, DecodeError> {
        let [a, b, c, number] = r.array(field)?;
        Ok(Self { oui: [a, b, c], number })
    }

    pub(super) fn write(self, w: &mut Writer) {
        w.bytes(&self.oui);
        w.u8(self.number);
    }
}

/// A count of two octets and so many selectors.
pub(super) fn read_list(
    r: &mut Reader<'_>,
    count_field: &'static str,
    field: &'static str,
) -> Result<Vec<Selector>, DecodeError> {
    let at = *r;
    let count = r.u16_le(count_field)?;
    // 802.11-2020 §9.4.2.24.1: a list that is there has suites.
    if count == 0 {
        return Err(at.error(count_field, Problem::Value(0)));
    }
    (0..count).map(|_| Selector::read(r, field)).collect()
}

/// # Panics
/// If the list does not fit into an element.
pub(super) fn write_list(w: &mut Writer, list: &[Selector]) {
    w.u16_le(u16::try_from(list.len()).expect("suites fit into an element"));
    list.iter().for_each(|selector| selector.write(w));
}

#[cfg(test)]
pub(super) mod testing {
    use proptest::prelude::*;

    use super::Selector;

    pub(in super::super) fn selector() -> impl Strategy<Value = Selector> {
        (any::<[u8; 3]>(), any::<u8>()).prop_map(|(oui, number)| Selector { oui, number })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn suites_of_both_organizations_are_known() {
        for &cipher in Cipher::ALL {
            assert_eq!(Selector::of_cipher(cipher).cipher(), Some(cipher));
        }
        for &akm in Akm::ALL {
            assert_eq!(Selector::of_akm(akm).akm(), Some(akm));
        }
        assert_eq!(Selector::of_cipher(Cipher::Tkip).of_wpa().cipher(), Some(Cipher::Tkip));
        assert_eq!(Selector::of_cipher(Cipher::Gcmp128).of_wpa().cipher(), None);
        assert_eq!(Selector::of_akm(Akm::Sae).of_wpa().akm(), None);
        assert_eq!(Selector { oui: [0x50, 0x6f, 0x9a], number: 2 }.akm(), None);
    }
}

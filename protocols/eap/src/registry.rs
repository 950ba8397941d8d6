//! Methods that keytoll does not support, by name: IANA's registry of EAP method types (RFC 3748 §6.2), and methods of vendors.

use crate::method::Reason;
use crate::methods;
use crate::packet::{Message, MethodType};

/// A method that keytoll does not support.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Unsupported {
    /// Its name.
    pub(crate) name: &'static str,
    /// The reason for which a conversation ends that offers nothing else.
    pub(crate) reason: Reason,
    /// Whether its servers have no other method, so that an answer to the proposal would be in vain.
    pub(crate) is_the_only_one: bool,
}

/// A vendor's method: the private enterprise number, and the vendor's number of the method.
type Vendors = (u32, u32);

macro_rules! ietf {
    ($($kind:literal $name:literal),* $(,)?) => {
        &[$(($kind, ordinary($name, concat!("EAP method not supported: EAP-", $name, " (type ", $kind, ")")))),*]
    };
}

const fn ordinary(name: &'static str, why: &'static str) -> Unsupported {
    Unsupported { name, reason: Reason(why), is_the_only_one: false }
}

/// IANA, "Extensible Authentication Protocol (EAP) Registry", method types: those that servers of today have.
static IETF: &[(u8, Unsupported)] = ietf![
    5 "OTP",
    17 "LEAP",
    43 "FAST",
    46 "PAX",
    47 "PSK",
    48 "SAKE",
    49 "IKEv2",
    51 "GPSK",
    52 "pwd",
    53 "EKE",
    54 "PT",
    55 "TEAP",
    56 "NOOB",
];

/// Under [`MethodType::EXPANDED`].
static OF_VENDORS: &[(Vendors, Unsupported)] = &[
    // 3GPP TS 24.502 §9.3.2: the first packet of an N3IWF or TNGF, which carries NAS in it and has no other method.
    (
        (10_415, 3),
        Unsupported {
            name: "5G",
            reason: Reason("EAP method not supported: EAP-5G (type 254, vendor 10415, method 3)"),
            is_the_only_one: true,
        },
    ),
    ((14_122, 1), ordinary("WSC", "EAP method not supported: EAP-WSC (type 254, vendor 14122, method 1)")),
];

/// A method of keytoll that the peer has not been configured with.
const OURS: Unsupported =
    Unsupported { name: "other", reason: Reason::NO_ACCEPTABLE_METHOD, is_the_only_one: false };

/// A type without an entry here.
const OTHER: Unsupported = ordinary("other", "EAP method not supported: another type");

/// A vendor's method without an entry here.
const OF_A_VENDOR: Unsupported = ordinary("other", "EAP method not supported: one of a vendor (type 254)");

/// The method that a request proposes.
pub(crate) fn unsupported(request: &Message<'_>) -> Unsupported {
    if request.kind == MethodType::EXPANDED {
        let known = vendors_method(request.data).and_then(|method| known(OF_VENDORS, method));
        return known.unwrap_or(OF_A_VENDOR);
    }
    if methods::of_type(request.kind).next().is_some() {
        return OURS;
    }
    known(IETF, request.kind.0).unwrap_or(OTHER)
}

/// The name of an unsupported type without its prefix `EAP-`; `None` for a supported type and for one without an entry here.
pub(crate) fn name_of(kind: MethodType) -> Option<&'static str> {
    known(IETF, kind.0).map(|method| method.name)
}

fn known<K: Copy + PartialEq>(list: &[(K, Unsupported)], key: K) -> Option<Unsupported> {
    list.iter().find(|(one, _)| *one == key).map(|(_, method)| *method)
}

/// RFC 3748 §5.7:  Vendor-Id(3) Vendor-Type(4)
fn vendors_method(data: &[u8]) -> Option<Vendors> {
    let [a, b, c, rest @ ..] = data else { return None };
    let kind = rest.first_chunk()?;
    Some((u32::from_be_bytes([0, *a, *b, *c]), u32::from_be_bytes(*kind)))
}

/// A vendor's method in words, such as `EAP-5G, vendor 10415, method 3`.
pub(crate) fn vendors_words(data: &[u8]) -> String {
    let Some(method @ (vendor, kind)) = vendors_method(data) else {
        return "MALFORMED: expanded type".to_owned();
    };
    let name = known(OF_VENDORS, method).map(|method| format!("EAP-{}, ", method.name)).unwrap_or_default();
    format!("{name}vendor {vendor}, method {kind}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::methods::METHODS;

    #[test]
    fn a_method_is_supported_or_listed_here() {
        assert!(IETF.is_sorted_by_key(|(kind, _)| *kind));
        for (kind, method) in IETF {
            assert!(MethodType(*kind).is_method(), "{method:?}");
            assert!(METHODS.iter().all(|ours| ours.kind.0 != *kind), "{method:?}");
        }
    }

    #[test]
    fn vendors_methods_are_read_from_seven_bytes() {
        let data = [0, 0x28, 0xaf, 0, 0, 0, 3, 1, 0];
        assert_eq!(vendors_method(&data), Some((10_415, 3)));
        for len in 0..7 {
            assert_eq!(vendors_method(&data[..len]), None, "{len} bytes");
        }
        assert_eq!(vendors_words(&data), "EAP-5G, vendor 10415, method 3");
        assert_eq!(vendors_words(&[0; 7]), "vendor 0, method 0");
        assert_eq!(vendors_words(&data[..6]), "MALFORMED: expanded type");
    }
}

//! What methods have that options and faults are about: a shared key, certificates, EAP, a card. A method lists its facets,
//! an option or a fault names the one that it is for; neither knows the other. A family has facets of its own in its file.

use super::Method;

/// Something that some methods have.
#[derive(Debug, PartialEq, Eq)]
pub struct Facet {
    /// The methods that have it, behind "it is for".
    pub whom: &'static str,
    /// What they have, behind "it needs a method with".
    pub noun: &'static str,
}

/// Device and gateway share a key and nothing else.
pub static SHARED_KEY: Facet = Facet { whom: "methods with a shared key", noun: "a shared key" };
/// The gateway has a key that signs, and perhaps the device.
pub static SIGNATURES: Facet = Facet { whom: "methods with signatures", noun: "a certificate" };
/// Certificates of both sides, in the exchange itself or in TLS; of the server alone in TTLS and PEAP.
pub static CERTIFICATES: Facet = Facet { whom: "methods with certificates", noun: "a chain of certificates" };
/// A certificate is shown to the device, in the exchange itself or in TLS.
pub static SERVER_CERTIFICATE: Facet =
    Facet { whom: "methods that show the device a certificate", noun: "a certificate" };
/// The device proves itself with EAP, to an AAA server.
pub static EAP: Facet = Facet { whom: "methods with EAP", noun: "an AAA server" };
/// What carries EAP has told the device's name before, so that nobody need ask for it (RFC 7296 §2.16).
pub static NAMED_BEFORE_EAP: Facet =
    Facet { whom: "methods whose device is named before EAP", noun: "EAP and a name before it" };
/// The device has a password that the AAA server knows.
pub static PASSWORD: Facet = Facet { whom: "methods with a password", noun: "a password" };
/// TLS runs inside EAP.
pub static TLS: Facet = Facet { whom: "methods with TLS", noun: "TLS" };
/// The device has a SIM or USIM, and the HSS is asked for vectors.
pub static CARD: Facet = Facet { whom: "methods with a card", noun: "a SIM" };
/// The card answers inside EAP, to an AAA server.
pub static EAP_CARD: Facet = Facet { whom: "EAP methods with a card", noun: "EAP and a SIM" };
/// The card counts authentications (3GPP TS 33.102 §6.3).
pub static USIM: Facet = Facet { whom: "methods with a USIM", noun: "a USIM" };
/// GSM challenges, two or three of them (RFC 4186).
pub static SIM: Facet = Facet { whom: "EAP-SIM", noun: "GSM challenges" };
/// Other makers' programs can be its device and gateway.
pub static FOREIGN_ENDS: Facet =
    Facet { whom: "methods that foreign daemons speak", noun: "foreign daemons that speak it" };
/// Tunnel mode or transport mode is agreed on for its SAs.
pub static ESP_MODES: Facet =
    Facet { whom: "methods that agree on ESP's mode", noun: "a choice between tunnel and transport mode" };
/// A pair of IPsec SAs for traffic comes of it.
pub static IPSEC: Facet = Facet { whom: "methods with IPsec", noun: "IPsec" };

/// The name of a set of methods: of all, of those that have some facet, or their names.
pub(super) fn whom(methods: &[&'static Method]) -> String {
    if methods.len() == Method::all().count() {
        return "all methods".to_owned();
    }
    let has_facet =
        |facet: &Facet| Method::all().filter(|method| method.has(facet)).eq(methods.iter().copied());
    let facets = methods.first().map_or(&[][..], |method| method.facets.as_slice());
    match facets.iter().find(|facet| has_facet(facet)) {
        Some(facet) => facet.whom.to_owned(),
        None => methods.iter().map(|method| method.name).collect::<Vec<_>>().join(", "),
    }
}

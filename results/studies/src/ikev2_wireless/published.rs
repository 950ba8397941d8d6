//! The paper's printed numbers, and what follows from them. The figures themselves are not available, only the text: if it
//! gives bounds, these are used.

use super::{MD5, PEAP_2, PEAP_4, PSK, Place, SIM, TLS_2_2, TLS_4_4, TTLS_2, TTLS_4, Variant};
use crate::published::Published;
use crate::{Basis, Bound};

/// Milliseconds, figures 4 and 5.
pub(crate) fn delay_ms(variant: Variant, place: Place) -> Option<Published> {
    DELAYS.iter().find(|(of, at, _)| (*of, *at) == (variant, place)).map(|(.., published)| *published)
}

const DELAYS: [(Variant, Place, Published); 3] = [
    (
        PSK,
        Place::Wifi,
        Published::derived(
            25.0,
            "§IV-B: values from 25 ms; the least must be that of the fewest messages on the faster network",
        ),
    ),
    (
        TLS_4_4,
        Place::Wifi,
        Published::derived(
            150.0,
            "§IV-B: certain methods exceed 150 ms; figure 8 and the sizes make this one of them",
        )
        .bounded(Bound::Above),
    ),
    (
        TLS_4_4,
        Place::Umts,
        Published::derived(
            6000.0,
            "§IV-B: values to over 6 seconds; TLS-x-y is slower there than its messages say",
        )
        .bounded(Bound::Above),
    ),
];

/// Round trips of an EAP method without its identity, and the origin of that number: protocols.md §2.2. TLS takes as many
/// fragments as certificates.
pub(crate) fn rounds(variant: Variant) -> Option<(u32, Basis)> {
    ROUNDS.iter().find(|(of, ..)| *of == variant).map(|&(_, rounds, basis)| (rounds, basis))
}

const ROUNDS: [(Variant, u32, Basis); 8] = [
    (MD5, 1, Basis::Derived),
    (SIM, 2, Basis::Derived),
    (TTLS_2, 2 + 3, Basis::Reconstructed),
    (TTLS_4, 4 + 3, Basis::Reconstructed),
    (TLS_2_2, 2 + 2 + 1, Basis::Reconstructed),
    (TLS_4_4, 4 + 4 + 1, Basis::Reconstructed),
    (PEAP_2, 2 + 6, Basis::Reconstructed),
    (PEAP_4, 4 + 6, Basis::Reconstructed),
];

/// Figure 6: messages of an authentication, by protocols.md §2.2 with the identity asked over the air.
pub(crate) fn messages(variant: Variant, link: &str) -> Option<Published> {
    let (rounds, basis) = match variant {
        PSK => (None, Basis::Derived),
        _ => rounds(variant).map(|(rounds, basis)| (Some(rounds), basis))?,
    };
    let value = match (link, rounds) {
        ("ue-gw", None) => 4,
        ("ue-gw", Some(rounds)) => 2 + 2 * (2 + rounds + 1),
        ("gw-aaa", Some(rounds)) => 2 * (rounds + 1),
        _ => return None,
    };
    let source =
        "figure 6, reconstructed: 2 + 2 (2 + R + 1) IKE and 2 (R + 1) RADIUS messages, R round trips of EAP";
    Some(Published { basis, ..Published::derived(f64::from(value), source) })
}

/// Figure 7: bytes of an authentication.
pub(crate) fn bytes(variant: Variant, link: &str) -> Option<Published> {
    let source = "what makes over 6 s of 13 round trips at 64 to 128 kbit/s";
    let about_10_kb = Published::reconstructed(10_000.0, source).bounded(Bound::About);
    ((variant, link) == (TLS_4_4, "ue-gw")).then_some(about_10_kb)
}

/// Millions of cycles, figures 8, 9 and 10.
pub(crate) fn megacycles(variant: Variant, node: &str) -> Option<Published> {
    let at_most = |value, source| Published::derived(value, source).bounded(Bound::AtMost);
    let source = "§IV-C: approximately 10⁸ for all the TLS-based methods, and 10⁶ in case of MD5 and SIM";
    let about = |value| Published::printed(value, source).bounded(Bound::About);
    match (node, variant) {
        ("ue", PSK) => Some(at_most(40.0, "§IV-A, B: not more than 25 ms at 1.6 GHz")),
        ("gw", PSK) => Some(at_most(75.0, "§IV-A, B: not more than 25 ms at 3 GHz")),
        ("aaa", MD5 | SIM) => Some(about(1.0)),
        ("aaa", variant) if variant.is_tls_based() => Some(about(100.0)),
        _ => None,
    }
}

//! By what the slides graded performance, as far as it is printed or follows. What does not is assumed to be as with EAP-AKA, to which
//! everything is compared: then it moves nobody away from the reference.

use crate::Bound;
use crate::hip_dex_aka::published::{computation_ms, delay_ms, megacycles, memory_kb, messages, packets};
use crate::hip_dex_aka::{Access, Architecture, BEX, DEX, DEX_AKA, EAP_AKA, EAP_TLS, Method, PSK, Part};
use crate::published::Published;

/// The printed weights of the main criteria, in ten-thousandths.
pub(super) fn weight(main: &str) -> Option<Published> {
    let printed = [("security", 3075.0), ("performance", 2070.0), ("deployment", 2785.0), ("extra", 2070.0)];
    let value = printed.into_iter().find(|(name, _)| *name == main)?.1;
    let source = "slide \"Weight assignment\", resulting criteria weights";
    Some(Published::printed(value, source))
}

/// What a criterion of performance, by its name in the criteria file, measured of a method.
pub(super) fn value(criterion: &str, method: Method) -> Option<Published> {
    match criterion {
        "delay" => slowest_ms(method),
        "cpu-ue" => cycles(method, "ue"),
        "cpu-gw" => cycles(method, "gw"),
        "cpu-aaa" => server_cycles(method),
        "memory-ue" => memory(method, "ue"),
        "memory-gw" => memory(method, "gw"),
        "memory-aaa" => server_memory(method),
        "packets-ran" => counted(method, Part::Ran),
        "packets-core" => counted(method, Part::Core),
        _ => None,
    }
}

/// Over WiFi in the slowest of the architectures, as the criteria file reads the rule.
fn slowest_ms(method: Method) -> Option<Published> {
    let delays = Architecture::PRINTED.map(|architecture| delay_ms(method, (Access::Wifi, architecture)));
    delays.into_iter().flatten().max_by(|one, other| one.value.total_cmp(&other.value))
}

const SHARED_OUT: &str = "EAP-AKA's printed cycles, in proportion to the computation that follows from the shares: how it is split between \
                          UE and GW is not printed";

fn cycles(method: Method, node: &str) -> Option<Published> {
    megacycles(method, node).or_else(|| {
        let [ours, reference] = [method, EAP_AKA].map(|method| computation_ms(method, Access::Wifi));
        let value = megacycles(EAP_AKA, node)?.value * ours?.value / reference?.value;
        Some(Published::reconstructed(value, SHARED_OUT))
    })
}

/// Paper 000 was measured on the same testbed, as its clocks say.
const HUNDREDFOLD: &str = "100 times EAP-AKA's, as Faigl 2009 §IV-C found of TLS-based methods";

fn server_cycles(method: Method) -> Option<Published> {
    match method {
        EAP_AKA => megacycles(EAP_AKA, "aaa"),
        EAP_TLS => Some(Published::reconstructed(100.0 * megacycles(EAP_AKA, "aaa")?.value, HUNDREDFOLD)),
        other => unused(other),
    }
}

const AS_THE_REFERENCE: &str = "nothing is printed: as EAP-AKA's";

fn memory(method: Method, node: &str) -> Option<Published> {
    let of_family = if method == DEX { DEX_AKA } else { EAP_AKA };
    memory_kb(method, node).or_else(|| {
        let value = memory_kb(of_family, node)?.value;
        let source = if method == DEX {
            "nothing is printed: as DEX-AKA's, the same prototype"
        } else {
            AS_THE_REFERENCE
        };
        Some(Published::reconstructed(value, source))
    })
}

fn server_memory(method: Method) -> Option<Published> {
    match method {
        EAP_AKA => memory_kb(EAP_AKA, "aaa"),
        EAP_TLS => Some(Published::reconstructed(memory_kb(EAP_AKA, "aaa")?.value, AS_THE_REFERENCE)),
        other => unused(other),
    }
}

/// Without AAA server nothing is spent there.
fn unused(method: Method) -> Option<Published> {
    let source = "slide \"CPU cost\": the AAA server is not utilized";
    let nothing = Published::derived(0.0, source);
    match method {
        DEX_AKA => Some(nothing),
        DEX | BEX | PSK => {
            let source = "none of the waits between GW and servers that would follow from its shares";
            Some(Published { source, ..nothing })
        }
        _ => None,
    }
}

fn counted(method: Method, part: Part) -> Option<Published> {
    let of_messages = || {
        let found = messages(method, part)?;
        let source = "a packet for each message that follows from the shares; fragments are not known";
        Some(Published::reconstructed(found.value, source).bounded(Bound::About))
    };
    packets(method, part).or_else(of_messages).or_else(|| unused(method))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Basis;
    use crate::hip_dex_aka::METHODS;

    const CRITERIA: [&str; 9] = [
        "delay",
        "cpu-ue",
        "cpu-gw",
        "cpu-aaa",
        "memory-ue",
        "memory-gw",
        "memory-aaa",
        "packets-ran",
        "packets-core",
    ];

    #[test]
    fn every_method_has_a_value_for_every_criterion() {
        for criterion in CRITERIA {
            for method in METHODS {
                assert!(value(criterion, method).is_some(), "{criterion} {method:?}");
            }
        }
        assert!(value("security", DEX).is_none());
    }

    /// Slide "Performance grade assignment", P_r.
    #[test]
    fn the_reference_is_what_the_slides_print() {
        let printed = CRITERIA[1..].iter().map(|criterion| {
            let found = value(criterion, EAP_AKA).unwrap();
            assert_eq!(found.basis, Basis::Printed, "{criterion}");
            found.value
        });
        assert_eq!(printed.collect::<Vec<_>>(), [248.0, 237.0, 4.84, 117.8, 121.2, 1142.0, 11.0, 5.0]);
    }

    #[test]
    fn what_is_not_printed_is_reconstructed() {
        let of =
            |criterion, method| value(criterion, method).map(|found| (found.value, found.basis)).unwrap();
        assert_eq!(of("delay", DEX_AKA), (290.0, Basis::Derived));
        assert_eq!(of("packets-ran", EAP_TLS), (26.0, Basis::Reconstructed));
        assert_eq!(of("packets-core", PSK), (0.0, Basis::Derived));
        assert_eq!(of("cpu-aaa", EAP_TLS), (484.0, Basis::Reconstructed));
        let (megacycles, basis) = of("cpu-ue", BEX);
        assert!((megacycles - 248.0 * 80.0 / 230.0).abs() < 1e-9 && basis == Basis::Reconstructed);
    }
}

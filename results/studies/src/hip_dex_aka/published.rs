//! What the slides print, and what follows from it (`reference/protocols.md` §2.1, §2.2).
//!
//! Computation, message counts and delays are derived from the printed shares: share = C ÷ (T + a d₁ + b d₂), where C is the computation,
//! T the delay without the delays of an architecture, d₁ and d₂ its one-way delays from device to gateway and from there to the servers,
//! a and b how many messages wait for each. There are three shares for each method and access. For DEX, BEX and PSK a = 4 is assumed, as
//! the shares yield only a ÷ C.

use super::{
    Access, Architecture, BEX, BUDGETS_MS, DEX, DEX_AKA, EAP_AKA, EAP_TLS, METHODS, Method, PSK, Part,
};
use crate::published::Published;
use crate::{Basis, Bound};

const SHARES: &str = "slide \"Proportion of computational delays in the authentication delay\"";
const INVERTED: &str = "the shares of computation, inverted for message counts, computation and delay";
const REFERENCES: &str = "slide \"Performance grade assignment\", P_r";

/// What follows from the shares of one method.
struct Inverted {
    method: Method,
    /// Messages on the critical path between device and gateway, and from there to the servers.
    messages: [f64; 2],
    /// Milliseconds over WiFi and HSPA.
    computation_ms: [f64; 2],
    /// Without the delays of an architecture, over WiFi and HSPA.
    raw_ms: [f64; 2],
    /// The shares are explained up to rounding; otherwise the delays are ± 10 %.
    is_exact: bool,
    /// The printed shares in per cent: centralized, distributed, flat, over WiFi and HSPA.
    shares: [[f64; 3]; 2],
}

const INVERSION: [Inverted; 6] = [
    Inverted {
        method: DEX_AKA,
        messages: [6.0, 2.0],
        computation_ms: [20.6, 21.4],
        raw_ms: [100.0, 458.0],
        is_exact: true,
        shares: [[7.1, 9.3, 9.4], [3.3, 3.7, 3.7]],
    },
    Inverted {
        method: EAP_AKA,
        messages: [10.0, 4.0],
        computation_ms: [230.0, 235.0],
        raw_ms: [246.0, 948.0],
        is_exact: true,
        shares: [[40.6, 50.4, 49.3], [18.5, 20.3, 20.0]],
    },
    Inverted {
        method: DEX,
        messages: [4.0, 0.0],
        computation_ms: [12.0, 11.5],
        raw_ms: [19.0, 239.0],
        is_exact: true,
        shares: [[8.6, 15.2, 20.3], [3.2, 3.9, 4.1]],
    },
    Inverted {
        method: BEX,
        messages: [4.0, 0.0],
        computation_ms: [80.0, 72.0],
        raw_ms: [82.0, 386.0],
        is_exact: false,
        shares: [[39.8, 56.0, 65.7], [14.3, 16.1, 17.0]],
    },
    Inverted {
        method: PSK,
        messages: [4.0, 0.0],
        computation_ms: [206.0, 186.0],
        raw_ms: [171.0, 439.0],
        is_exact: false,
        shares: [[70.5, 89.6, 97.1], [33.3, 37.5, 38.8]],
    },
    Inverted {
        method: EAP_TLS,
        messages: [26.0, 20.0],
        computation_ms: [576.0, 536.0],
        raw_ms: [584.0, 2407.0],
        is_exact: true,
        shares: [[39.4, 45.2, 39.8], [16.3, 17.3, 16.4]],
    },
];

impl Inverted {
    fn of(method: Method) -> Option<&'static Self> {
        INVERSION.iter().find(|inverted| inverted.method == method)
    }

    fn figure(&self, value: f64) -> Published {
        let bound = (!self.is_exact).then_some(Bound::About);
        Published { bound, ..self.follows(value) }
    }

    fn follows(&self, value: f64) -> Published {
        Published { basis: self.basis(), ..Published::derived(value, INVERTED) }
    }

    /// The shares of DEX, BEX and PSK yield the others only with an assumed number of messages.
    fn basis(&self) -> Basis {
        if [DEX, BEX, PSK].contains(&self.method) { Basis::Reconstructed } else { Basis::Derived }
    }
}

/// The one-way delays of an architecture in milliseconds: device to gateway, gateway to AAA server or HSS.
const fn one_way_ms(architecture: Architecture) -> [f64; 2] {
    match architecture {
        Architecture::Centralized => [30.0, 5.0],
        Architecture::Distributed => [15.0, 15.0],
        Architecture::Flat => [10.0, 30.0],
        Architecture::Raw => [0.0, 0.0],
    }
}

/// The share of computation in the delay, in per cent.
pub(crate) fn share_percent(method: Method, at: (Access, Architecture)) -> Option<Published> {
    let column = Architecture::PRINTED.iter().position(|&architecture| architecture == at.1)?;
    let value = Inverted::of(method)?.shares[at.0 as usize][column];
    Some(Published::printed(value, SHARES).with_decimals(1))
}

/// Milliseconds of computation in an authentication.
pub(crate) fn computation_ms(method: Method, access: Access) -> Option<Published> {
    let inverted = Inverted::of(method)?;
    Some(inverted.figure(inverted.computation_ms[access as usize]))
}

/// The delay of an authentication.
pub(crate) fn delay_ms(method: Method, at: (Access, Architecture)) -> Option<Published> {
    let inverted = Inverted::of(method)?;
    let ways = inverted.messages.iter().zip(one_way_ms(at.1)).map(|(messages, ms)| messages * ms);
    Some(inverted.figure(inverted.raw_ms[at.0 as usize] + ways.sum::<f64>()))
}

/// The least budget of TS 23.203 that a delay keeps; beyond the last one, that one.
pub(crate) fn budget_ms(delay_ms: f64) -> (f64, Bound) {
    let kept = BUDGETS_MS.into_iter().find(|&budget| delay_ms <= budget);
    kept.map_or((BUDGETS_MS[3], Bound::Above), |budget| (budget, Bound::AtMost))
}

/// Protocol messages.
pub(crate) fn messages(method: Method, part: Part) -> Option<Published> {
    let inverted = Inverted::of(method)?;
    let value = inverted.messages[part as usize];
    (value > 0.0).then(|| inverted.follows(value))
}

/// IP packets.
pub(crate) fn packets(method: Method, part: Part) -> Option<Published> {
    let printed = |value| Published::printed(value, REFERENCES);
    let source = "56 % of 11 + 5: the messages, and an acknowledgement of the transport in the core";
    let reconstructed = |value| Published::reconstructed(value, source);
    match (method, part) {
        (EAP_AKA, Part::Ran) => Some(printed(11.0)),
        (EAP_AKA, Part::Core) => Some(printed(5.0)),
        (DEX_AKA, Part::Ran) => Some(reconstructed(6.0)),
        (DEX_AKA, Part::Core) => Some(reconstructed(3.0)),
        _ => None,
    }
}

/// A quantity of which DEX-AKA needs a printed part of what EAP-AKA does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Quantity {
    CpuUe,
    CpuGw,
    MemoryUe,
    MemoryGw,
    Messages,
    Packets,
    Bytes,
}

impl Quantity {
    /// Whether it varies from one authentication to the next; counts and memory do not.
    pub(crate) const fn varies(self) -> bool {
        matches!(self, Self::CpuUe | Self::CpuGw)
    }

    pub(crate) const ALL: [Self; 7] = [
        Self::CpuUe,
        Self::CpuGw,
        Self::MemoryUe,
        Self::MemoryGw,
        Self::Messages,
        Self::Packets,
        Self::Bytes,
    ];

    /// Its words in a table.
    pub(crate) const fn label(self) -> &'static str {
        match self {
            Self::CpuUe => "CPU cycles, UE",
            Self::CpuGw => "CPU cycles, GW",
            Self::MemoryUe => "memory, UE",
            Self::MemoryGw => "memory, GW",
            Self::Messages => "messages",
            Self::Packets => "IP packets",
            Self::Bytes => "bytes",
        }
    }

    /// Where it is printed.
    pub(crate) const fn source(self) -> &'static str {
        match self {
            Self::CpuUe | Self::CpuGw => "slide \"CPU cost\"",
            Self::MemoryUe | Self::MemoryGw => "slide \"Memory cost\"",
            Self::Messages | Self::Packets | Self::Bytes => "slide \"Message complexity\"",
        }
    }

    /// DEX-AKA's part of EAP-AKA's, in per cent.
    pub(crate) const fn printed_percent(self) -> Published {
        let value = match self {
            Self::CpuUe => 12.0,
            Self::CpuGw => 2.0,
            Self::MemoryUe | Self::MemoryGw => 20.0,
            Self::Messages | Self::Packets => 56.0,
            Self::Bytes => 37.0,
        };
        Published::printed(value, self.source())
    }
}

/// EAP-AKA's number times a printed part.
fn part(quantity: Quantity, of_eap_aka: f64) -> Published {
    let value = of_eap_aka * quantity.printed_percent().value / 100.0;
    Published::derived(value, "the printed part of EAP-AKA's").bounded(Bound::About)
}

/// Millions of cycles at a node.
pub(crate) fn megacycles(method: Method, node: &str) -> Option<Published> {
    let printed = |value| Published::printed(value, REFERENCES);
    match (method, node) {
        (EAP_AKA, "ue") => Some(printed(248.0)),
        (EAP_AKA, "gw") => Some(printed(237.0)),
        (EAP_AKA, "aaa") => Some(printed(4.84)),
        (DEX_AKA, "ue") => Some(part(Quantity::CpuUe, 248.0)),
        (DEX_AKA, "gw") => Some(part(Quantity::CpuGw, 237.0)),
        _ => None,
    }
}

/// Milliseconds at a node: its cycles at the clock of the testbed.
pub(crate) fn node_ms(method: Method, node: &str) -> Option<Published> {
    let clock_mhz = if node == "ue" { 1600.0 } else { 3000.0 };
    let cycles = megacycles(method, node)?;
    let value = cycles.value / clock_mhz * 1e3;
    let source = "the printed cycles at the clocks of Faigl 2009";
    Some(Published { bound: cycles.bound, ..Published::derived(value, source) })
}

/// Most memory of a node in kilobytes.
pub(crate) fn memory_kb(method: Method, node: &str) -> Option<Published> {
    let printed = |value| Published::printed(value, REFERENCES);
    match (method, node) {
        (EAP_AKA, "ue") => Some(printed(117.8)),
        (EAP_AKA, "gw") => Some(printed(121.2)),
        (EAP_AKA, "aaa") => Some(printed(1142.0)),
        (DEX_AKA, "ue") => Some(part(Quantity::MemoryUe, 117.8)),
        (DEX_AKA, "gw") => Some(part(Quantity::MemoryGw, 121.2)),
        _ => None,
    }
}

/// The methods with the least computation first, by what follows from the shares over WiFi.
pub(crate) fn by_computation() -> Vec<Method> {
    let mut methods = METHODS.to_vec();
    let ms = |method: &Method| Inverted::of(*method).map_or(0.0, |inverted| inverted.computation_ms[0]);
    methods.sort_by(|one, other| ms(one).total_cmp(&ms(other)));
    methods
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The inversion explains the printed shares up to rounding, or where it says so within 0.6 points.
    #[test]
    fn the_derived_numbers_make_the_printed_shares() {
        for method in METHODS {
            for access in Access::ALL {
                for architecture in Architecture::PRINTED {
                    let at = (access, architecture);
                    let share = share_percent(method, at).unwrap().value;
                    let (ms, delay) =
                        (computation_ms(method, access).unwrap(), delay_ms(method, at).unwrap());
                    let again = 100.0 * ms.value / delay.value;
                    let near = if delay.bound.is_none() { 0.13 } else { 0.6 };
                    assert!((again - share).abs() <= near, "{method:?} {at:?}: {again} and {share}");
                }
            }
        }
    }

    /// The slide prints 20.0 and 56.0 with their zero. What follows from printed numbers has no digits of its own.
    #[test]
    fn shares_keep_their_printed_decimal() {
        let at = (Access::Hspa, Architecture::Flat);
        let share = share_percent(EAP_AKA, at).unwrap();
        assert_eq!((share.value, share.decimals), (20.0, Some(1)));
        let others = [delay_ms(EAP_AKA, at), megacycles(EAP_AKA, "ue"), node_ms(EAP_AKA, "ue")];
        assert!(others.into_iter().all(|figure| figure.unwrap().decimals.is_none()));
    }

    /// `reference/protocols.md` §2.1, the delays in its table.
    #[test]
    fn the_delays_are_those_of_the_table() {
        let delays = |method, access| {
            Architecture::PRINTED.map(|architecture| delay_ms(method, (access, architecture)).unwrap().value)
        };
        assert_eq!(delays(DEX_AKA, Access::Wifi), [290.0, 220.0, 220.0]);
        assert_eq!(delays(EAP_AKA, Access::Hspa), [1268.0, 1158.0, 1168.0]);
        assert_eq!(delays(EAP_TLS, Access::Wifi), [1464.0, 1274.0, 1444.0]);
        assert_eq!(delays(DEX, Access::Hspa), [359.0, 299.0, 279.0]);
        let basis = |method| delay_ms(method, (Access::Wifi, Architecture::Flat)).unwrap().basis;
        assert_eq!(
            [DEX, DEX_AKA].map(basis),
            [Basis::Reconstructed, Basis::Derived],
            "4 messages are assumed"
        );
        let labels = by_computation().into_iter().map(|method| method.label).collect::<Vec<_>>();
        assert_eq!(labels, ["DEX", "DEX-AKA", "BEX", "PSK", "EAP-AKA", "EAP-TLS"]);
    }

    /// The grades of slide "Performance grade assignment".
    #[test]
    fn a_delay_keeps_the_least_budget_that_is_not_less() {
        let kept = [49.0, 50.0, 50.1, 150.0, 300.0, 300.1].map(budget_ms);
        let at_most = |budget| (budget, Bound::AtMost);
        let beyond = (300.0, Bound::Above);
        assert_eq!(
            kept,
            [at_most(50.0), at_most(50.0), at_most(100.0), at_most(150.0), at_most(300.0), beyond]
        );
    }
}

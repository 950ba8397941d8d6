//! Paper 000: Faigl, Lindskog, Brunstrom, "A Measurement Study on IKEv2 Authentication Performance in Wireless Networks".
//! Read its §IV and, for what it does not print, `reference/protocols.md` §2.2 and §4.

#[cfg(test)]
pub(super) mod example;
pub(super) mod findings;
pub(super) mod measured;
mod notes;
pub(super) mod published;
mod responder;
mod tables;

use keytoll_analysis::Named;
use keytoll_trace::Node;

use crate::{Fit, FittedCycles, FittedDelay, Material, Processors, Scenario, Study, Wants};
use measured::Measured;

/// The study.
pub(crate) const STUDY: Study = Study {
    name: "ikev2-wireless",
    title: "IKEv2 with PSK, EAP-MD5, EAP-SIM, TTLS, TLS and PEAP over WiFi and UMTS",
    source: "Z. Faigl, S. Lindskog, A. Brunstrom: A Measurement Study on IKEv2 Authentication Performance in Wireless Networks \
             (about 2009)",
    scenario: SCENARIO,
    wants: Wants { processors: &[Processors::Host, Processors::Fitted(&OF_2009)], ..Wants::NOTHING },
    tables: |material| tables::tables(&Speeds::of(material)),
    findings: |material| findings::findings(&Speeds::of(material)),
    notes: |material| notes::notes(&Speeds::of(material)),
};

/// CPUs of 2009. The least published delay, 25 ms, is derived to be that of PSK over WiFi; "approximately 10⁸" cycles are those of the
/// TLS-based methods at the AAA server (§IV-C).
const OF_2009: Fit = Fit {
    delay: FittedDelay {
        variant: PSK.label,
        network: Place::Wifi.network(),
        ms: 25,
        clocks_hz: &[(Node::Ue, UE_HZ), (Node::Gw, SERVER_HZ)],
    },
    cycles: &[FittedCycles {
        node: Node::Aaa,
        clock_hz: SERVER_HZ,
        cycles: 100_000_000,
        variants: &[TTLS_2.label, TTLS_4.label, TLS_2_2.label, TLS_4_4.label, PEAP_2.label, PEAP_4.label],
    }],
};

/// The clock of the device, a Pentium M (§IV-A).
const UE_HZ: u64 = 1_600_000_000;
/// The clock of gateway and AAA server, Pentium 4 (§IV-A).
const SERVER_HZ: u64 = 3_000_000_000;

/// The run at the testbed clock, and on fitted CPUs.
struct Speeds<'a> {
    clocks: Measured<'a>,
    fitted: Option<Fitted<'a>>,
}

/// The run on fitted CPUs.
#[derive(Clone, Copy)]
struct Fitted<'a> {
    measured: Measured<'a>,
    clocks_hz: &'a Named<f64>,
}

impl<'a> Speeds<'a> {
    fn of(material: &Material<'a>) -> Self {
        let fitted = material.repetition(Processors::Fitted(&OF_2009));
        let fitted = fitted.map(|repetition| Fitted {
            measured: Measured(&repetition.summary),
            clocks_hz: &repetition.clocks_hz,
        });
        Self { clocks: Measured(material.summary), fitted }
    }

    /// The run on fitted CPUs.
    fn fitted(&self) -> Option<Measured<'a>> {
        self.fitted.map(|fitted| fitted.measured)
    }
}

/// What the paper measured, from which its last sections say that nodes can be dimensioned.
pub(super) const SCENARIO: Scenario = Scenario {
    name: "ikev2-wireless",
    text: include_str!("../../../../scenarios/studies/ikev2-wireless.toml"),
};

/// A method with the lengths of its certificate chains.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Variant {
    /// The paper's name, and the `variant` of its rows in the scenario.
    pub(super) label: &'static str,
    kind: Kind,
}

/// The kinds of methods that the paper's remarks distinguish.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// No certificates: PSK, MD5, SIM.
    Plain,
    /// A certificate for the server, and a password inside TLS.
    Tunnelled,
    /// Certificates on both sides: the paper's TLS-x-y.
    Mutual,
}

impl Variant {
    const fn of(label: &'static str, kind: Kind) -> Self {
        Self { label, kind }
    }

    /// The paper's "TLS-based methods".
    pub(super) fn is_tls_based(self) -> bool {
        self.kind != Kind::Plain
    }
}

const PSK: Variant = Variant::of("PSK", Kind::Plain);
pub(super) const MD5: Variant = Variant::of("MD5", Kind::Plain);
pub(super) const SIM: Variant = Variant::of("SIM", Kind::Plain);
const TTLS_2: Variant = Variant::of("TTLS-2-MD5", Kind::Tunnelled);
const TTLS_4: Variant = Variant::of("TTLS-4-MD5", Kind::Tunnelled);
const TLS_2_2: Variant = Variant::of("TLS-2-2", Kind::Mutual);
const TLS_4_4: Variant = Variant::of("TLS-4-4", Kind::Mutual);
const PEAP_2: Variant = Variant::of("PEAP-2-MSCHAPv2", Kind::Tunnelled);
const PEAP_4: Variant = Variant::of("PEAP-4-MSCHAPv2", Kind::Tunnelled);

/// Every variant, in the order of the tables.
pub(super) const VARIANTS: [Variant; 9] = [PSK, MD5, SIM, TTLS_2, TTLS_4, TLS_2_2, TLS_4_4, PEAP_2, PEAP_4];

/// The two radio access networks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    Wifi,
    Umts,
}

impl Place {
    const ALL: [Self; 2] = [Self::Wifi, Self::Umts];

    /// Its network in the scenario.
    pub(super) const fn network(self) -> &'static str {
        match self {
            Self::Wifi => "wifi-11g-good",
            Self::Umts => "umts-r99-64",
        }
    }

    /// Its name in the paper.
    const fn name(self) -> &'static str {
        match self {
            Self::Wifi => "WiFi",
            Self::Umts => "UMTS",
        }
    }
}

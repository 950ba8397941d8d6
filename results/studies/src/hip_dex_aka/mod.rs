//! Faigl, Pellikka, Bokor, Gurtov, slides on HIP DEX-AKA: six methods, each in the centralized, distributed and flat architecture and
//! without their delays (raw), over WiFi and HSPA. Its figures are lost; `reference/protocols.md` §2.1 and §2.2 explain what follows
//! from the numbers that are printed.

#[cfg(test)]
mod example;
mod findings;
mod measured;
mod notes;
pub(super) mod published;
mod shares;
mod tables;

use keytoll_trace::Node;

use crate::{Calibration, Material, Printed, Processors, Summary};
use crate::{Scenario, Study, Wants};
use measured::Measured;

/// The study.
pub(crate) const STUDY: Study = Study {
    name: "hip-dex-aka",
    title: "HIP DEX-AKA, DEX and BEX beside IKEv2 with EAP-AKA, PSK and EAP-TLS in three architectures",
    source: "Z. Faigl, J. Pellikka, L. Bokor, A. Gurtov: Performance and suitability analysis of HIP-based lightweight user \
             authentication method (2012), slides; the numbers are those of their text and tables, for their figures are not at \
             hand",
    scenario: SCENARIO,
    wants: WANTS,
    tables: |material| tables::tables(Measured(material)),
    findings: |material| findings::findings(Measured(material)),
    notes: |material| notes::notes(Measured(material)),
};

/// What the slides measured; their second half judges it.
pub(super) const SCENARIO: Scenario =
    Scenario { name: "hip-dex-aka", text: include_str!("../../../../scenarios/studies/hip-dex-aka.toml") };

/// The same on other CPUs.
pub(super) const WANTS: Wants =
    Wants { processors: &[Processors::Host, Processors::Calibrated(&FITTED_CPUS)], ..Wants::NOTHING };

/// CPUs on which EAP-AKA takes as long as the printed cycles do at the testbed clock. For the HSS nothing is printed: its clock is the AAA
/// server's.
const FITTED_CPUS: Calibration = Calibration {
    method: EAP_AKA.method,
    printed: &[
        Printed { node: Node::Ue, of: Node::Ue, cycles: 248_000_000, clock_hz: 1_600_000_000 },
        Printed { node: Node::Gw, of: Node::Gw, cycles: 237_000_000, clock_hz: 3_000_000_000 },
        Printed { node: Node::Aaa, of: Node::Aaa, cycles: 4_840_000, clock_hz: 3_000_000_000 },
        Printed { node: Node::Hss, of: Node::Aaa, cycles: 4_840_000, clock_hz: 3_000_000_000 },
    ],
};

/// A method of the slides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Method {
    /// The slides' name.
    pub(super) label: &'static str,
    /// The catalogue's.
    pub(super) method: &'static str,
}

pub(super) const DEX_AKA: Method = Method { label: "DEX-AKA", method: "hip-dex-aka" };
pub(super) const EAP_AKA: Method = Method { label: "EAP-AKA", method: "ikev2-eap-aka" };
pub(super) const DEX: Method = Method { label: "DEX", method: "hip-dex" };
pub(super) const BEX: Method = Method { label: "BEX", method: "hip-bex" };
pub(super) const PSK: Method = Method { label: "PSK", method: "ikev2-psk" };
pub(super) const EAP_TLS: Method = Method { label: "EAP-TLS", method: "ikev2-eap-tls" };

/// Every method, in the order of the slides.
pub(super) const METHODS: [Method; 6] = [DEX_AKA, EAP_AKA, DEX, BEX, PSK, EAP_TLS];

/// The access networks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Access {
    Wifi,
    Hspa,
}

impl Access {
    const ALL: [Self; 2] = [Self::Wifi, Self::Hspa];

    /// Its network in the scenario.
    const fn network(self) -> &'static str {
        match self {
            Self::Wifi => "wifi-11g",
            Self::Hspa => "hspa-2010",
        }
    }

    /// Its name in the slides.
    const fn name(self) -> &'static str {
        match self {
            Self::Wifi => "WiFi",
            Self::Hspa => "HSPA",
        }
    }
}

/// The architectures, and none of them: the catalogue's topologies in the order of the slides' tables, the raw one last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Architecture {
    Centralized,
    Distributed,
    Flat,
    Raw,
}

impl Architecture {
    const ALL: [Self; 4] = [Self::Centralized, Self::Distributed, Self::Flat, Self::Raw];

    /// Those of the slides' tables.
    pub(super) const PRINTED: [Self; 3] = [Self::Centralized, Self::Distributed, Self::Flat];

    const fn name(self) -> &'static str {
        match self {
            Self::Centralized => "centralized",
            Self::Distributed => "distributed",
            Self::Flat => "flat",
            Self::Raw => "raw",
        }
    }
}

/// The architectures with delays of their own, over these networks.
fn places(accesses: impl IntoIterator<Item = Access>) -> impl Iterator<Item = (Access, Architecture)> {
    let of = |access: Access| Architecture::PRINTED.map(|architecture| (access, architecture));
    accesses.into_iter().flat_map(of)
}

fn named((access, architecture): (Access, Architecture)) -> String {
    format!("{} over {}", architecture.name(), access.name())
}

/// How fast the CPUs are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Speed {
    /// As the scenario has them: at the testbed clock, with the cycles of this machine.
    Clocks,
    /// This machine's.
    Host,
    /// [`FITTED_CPUS`].
    Calibrated,
}

impl Speed {
    pub(super) const ALL: [Self; 3] = [Self::Clocks, Self::Calibrated, Self::Host];

    /// The run on CPUs of this speed.
    pub(super) fn of<'a>(self, material: &Material<'a>) -> Option<&'a Summary> {
        match self {
            Self::Clocks => Some(material.summary),
            Self::Host => material.repeated(Processors::Host),
            Self::Calibrated => material.repeated(Processors::Calibrated(&FITTED_CPUS)),
        }
    }

    /// The addition to a method's name in a table.
    const fn suffix(self) -> &'static str {
        match self {
            Self::Clocks => "",
            Self::Calibrated => ", fitted",
            Self::Host => ", here",
        }
    }
}

/// The delay budgets of TS 23.203 for guaranteed bit rates, in milliseconds: gaming, voice, live video, buffered video.
const BUDGETS_MS: [f64; 4] = [50.0, 100.0, 150.0, 300.0];

/// The part of the network that a link belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    /// Radio access network and backhaul: between device and gateway.
    Ran,
    /// Aggregation and core: all other links.
    Core,
}

impl Part {
    const ALL: [Self; 2] = [Self::Ran, Self::Core];

    fn has(self, link: &str) -> bool {
        (link == "ue-gw") == (self == Self::Ran)
    }

    const fn name(self) -> &'static str {
        match self {
            Self::Ran => "RAN",
            Self::Core => "core",
        }
    }
}

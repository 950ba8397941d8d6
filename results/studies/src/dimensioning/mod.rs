//! Paper 000's use of its own measurements: "Knowing the costs of one authentication flow and the arrival rate of reauthentication
//! processes, the required computational capacity can be calculated" (§V, and the end of §IV-C). Its run is that of `ikev2-wireless`;
//! here the cores and times follow from the costs by `keytoll-dimensioning`, and a population of real engines says whether they are right.

mod findings;
mod notes;
mod sized;
mod tables;

use keytoll_dimensioning::{Arrivals, Processor, Question};

use crate::ikev2_wireless::{Place, SCENARIO};
use crate::{LoadWant, Study, Wants};
use sized::Sized;

/// The study.
pub(super) const STUDY: Study = Study {
    name: "dimensioning",
    title: "Node dimensioning from the costs of IKEv2 authentication: cores, capacity and times of gateway and AAA server",
    source: "Z. Faigl, S. Lindskog, A. Brunstrom: A Measurement Study on IKEv2 Authentication Performance in Wireless Networks \
             (about 2009), §IV-C and §V: it says how, and prints the costs at the AAA server alone",
    scenario: SCENARIO,
    wants: Wants { load: Some(LOAD), ..Wants::NOTHING },
    tables: |material| tables::tables(&Sized::of(material)),
    findings: |material| findings::findings(&Sized::of(material)),
    notes: |material| notes::notes(&Sized::of(material)),
};

/// "In the order of minutes" (§V) are ten here, and the devices are so many that the AAA server of the paper would need several cores.
const LOAD: LoadWant = LoadWant {
    network: Place::Wifi.network(),
    devices_at_once: 100_000,
    reauthenticate_s: 600,
    devices_per_sample: 100,
};

/// The clock of the paper's gateway and AAA server.
const CLOCK_HZ: f64 = 3e9;

/// What is asked of a load: the paper sets no limit to the delay, and ten seconds are one that every method keeps.
pub fn question(load: &LoadWant) -> Question {
    Question {
        devices_registered: load.devices_at_once,
        devices_at_once: load.devices_at_once,
        reauthenticate_s: load.reauthenticate_s.into(),
        rekey_s: None,
        arrivals: Arrivals::Poisson,
        p99_s: 10.0,
        cores: std::collections::BTreeMap::new(),
        stores_s: std::collections::BTreeMap::new(),
        processor: Processor::AsRun,
        sites: 2,
        devices_moved: load.devices_at_once,
        methods: Vec::new(),
    }
}

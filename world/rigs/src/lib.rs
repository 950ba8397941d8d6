//! The access technologies: one folder and one line in [`RIGS`] each, and a line in [`FAMILIES`] for each of their protocol
//! families. Shared code is beside them: certificates, EAP, and the back end of AAA server and HSS.

pub mod back_end;
mod credentials;
mod eap;
mod fault;
pub mod hip;
pub mod ike;
mod ipsec;
mod knock;
mod look_up;
pub mod node;
mod people;
mod provider;
mod sites;
mod wlan;

use std::collections::BTreeSet;

use keytoll_crypto_api::Seed;
use keytoll_diameter::family::DiameterFamily;
use keytoll_eap::family::EapFamily;
use keytoll_engine::trace::Protocol;
use keytoll_esp::family::EspFamily;
use keytoll_family::recognise::Udp;
use keytoll_family::{Families, Family};
use keytoll_hip::family::HipFamily;
use keytoll_ike::family::IkeFamily;
use keytoll_net::Socket;
use keytoll_radius::family::RadiusFamily;
use keytoll_rig::{Crowd as Populated, Layout, Placement, Prepared, Rig, Setup, SharedSecret};
use keytoll_scenario::catalogue::Method;
use keytoll_scenario::plan::{Plan, RowPlan};
use keytoll_scenario::population::Population;
use keytoll_tls::family::TlsFamily;
use keytoll_wlan::family::WlanFamily;

use ike::IkeRig;

pub use credentials::{AAA_ID, Certificates, GW_ID, UE_ID};
pub use ike::{Cookie, Cookies};
/// The protocols of the messages in facts.
pub use keytoll_diameter::DIAMETER;
pub use keytoll_ike::IKE;
pub use keytoll_radius::RADIUS;
pub use look_up::looks_up;
pub use provider::{provider, slower_signatures};
pub use wlan::{Crowd, Seat, crowd, has_no_servers, lasting};

/// Every rig.
pub static RIGS: &[&dyn Rig] = &[&IkeRig, &hip::HipRig, &wlan::WlanRig, &knock::KnockRig];

/// All protocol families. If several recognise a packet, the first one applies.
pub static FAMILIES: Families = &[
    &IkeFamily,
    &HipFamily,
    &EspFamily,
    &RadiusFamily,
    &DiameterFamily,
    &EapFamily,
    &WlanFamily,
    &TlsFamily,
    &keytoll_knock::Knock,
];

/// The protocol of a UDP datagram by its ports, if a family knows them.
pub fn by_ports(from: Socket, to: Socket, payload: &[u8]) -> Option<Protocol> {
    let udp = Udp { from, to, payload };
    let known = |family: &&dyn Family| family.recogniser()?.by_port(&udp)?.ok();
    FAMILIES.iter().find_map(known)
}

/// The rig that runs a method.
fn of(method: &Method) -> &'static dyn Rig {
    RIGS.iter().copied().find(|rig| rig.runs(method)).expect("every method of the catalogue has a rig")
}

/// The standard ports of the protocols of all rigs.
pub fn standard_ports() -> BTreeSet<u16> {
    RIGS.iter().copied().flat_map(Rig::standard_ports).copied().collect()
}

/// Whether the devices of a row ask whether their gateway is still there.
pub fn asks_for_liveness(row: &RowPlan) -> bool {
    of(row.method).asks_for_liveness()
}

/// The layout of a row.
pub fn layout(row: &RowPlan, placement: &Placement) -> Layout {
    of(row.method).layout(row, placement)
}

/// Secrets that nodes of a row share and that decrypt its capture.
pub fn shared_secrets(row: &RowPlan, seed: &Seed) -> Vec<SharedSecret> {
    of(row.method).shared_secrets(row, seed)
}

/// The keys and certificates of a plan: generated once, before any row runs, and shared by all rows.
pub struct Credentials(Vec<(&'static dyn Rig, Box<dyn Prepared>)>);

impl Credentials {
    /// Generates what the rows of a plan need. RSA keys need a prime search each.
    pub fn prepare(plan: &Plan) -> Self {
        let is_wanted = |rig: &&dyn Rig| plan.rows.iter().any(|row| rig.runs(row.method));
        Self(RIGS.iter().copied().filter(is_wanted).map(|rig| (rig, rig.prepare(plan))).collect())
    }

    /// Sets up a population of the plan whose devices are of these rows, all of one rig.
    pub fn populate(&self, rows: &[&RowPlan], population: &Population, seed: &Seed) -> Box<dyn Populated> {
        let prepared = self.0.iter().find(|(rig, _)| rows.first().is_some_and(|row| rig.runs(row.method)));
        prepared.expect("prepared for the plan of these rows").1.populate(rows, population, seed)
    }

    /// Sets up a row of the plan.
    pub fn set_up(&self, row: &RowPlan, placement: &Placement, seed: &Seed) -> Box<dyn Setup> {
        let prepared = self.0.iter().find(|(rig, _)| rig.runs(row.method));
        prepared.expect("prepared for the plan of this row").1.set_up(row, placement, seed)
    }
}

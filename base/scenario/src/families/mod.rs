//! Families of protocols, one file each: its methods, its options, and what of them does not go together. A family more is
//! its file, a line in [`FAMILIES`] and, if it has options of its own, a field of [`Options`].

pub mod hip;
pub mod ike;
pub mod knock;
pub mod wlan;

use std::time::Duration;

use keytoll_crypto_api::algorithm::{Group, KeyKind};
use keytoll_engine::trace::Node;

use crate::catalogue::{Fault, Method};
use crate::diagnostic::ScenarioError;
use crate::options::settings::Settings;
use crate::options::{Setting, certificates, eap, ipsec, nodes, tls, traffic};
use crate::plan::{Network, Plan, RowPlan, WorldKind};
use crate::population::{Population, Spread};
use crate::resolve::makers::Limit;
use crate::tree::{Item, Table};

/// Methods that one rig runs, which is named like the family.
pub struct Family {
    /// The name of the family and its rig.
    pub name: &'static str,
    /// Whether it is there for developers to read and copy: a scenario may name its methods, lists leave them out.
    pub is_example: bool,
    /// Its methods, in the order of the catalogue.
    pub methods: fn() -> &'static [Method],
    /// The options that only its methods have.
    pub(crate) settings: &'static [Setting],
    /// Refuses settings of a row that do not go together; what is to blame stands in the item.
    pub(crate) check: Check,
    /// What foreign daemons cannot do as its device or gateway.
    pub(crate) foreign_limits: &'static [Limit],
    /// The suites that a profile of a method sets side by side, unless others are asked for; none: the usual one alone.
    pub profile_suites: fn(&Method) -> &'static [&'static str],
    /// The kind of the keys that sign in its own exchange; none without signatures.
    pub(crate) key_kind: fn(&Options, &Method) -> Option<KeyKind>,
    /// The groups of its own exchange, where its suites have none.
    pub(crate) groups: for<'a> fn(&'a Options, &Method) -> &'a [Group],
    /// What a row of its methods says and should not, in one sentence.
    pub(crate) advice: fn(&RowPlan) -> Option<String>,
    /// How long a device that is established asks a gateway that does not answer, if it ever asks.
    pub(crate) asks_for: fn(&RowPlan) -> Option<Duration>,
    /// When the gateway of a row asks devices for cookies; none: never.
    pub cookies_from: fn(&RowPlan) -> Option<CookiesFrom>,
    /// Nodes of a method that a row of it does without.
    pub(crate) without: fn(&RowPlan) -> &'static [Node],
    /// What a row has that exists in the simulator only: an option of the family, or the method itself.
    pub(crate) simulated_only: fn(&RowPlan) -> Option<&'static str>,
    /// Whether a row of its methods can have this population.
    pub populates: fn(&RowPlan, &Population) -> Result<(), Unfit>,
    /// Its options that are times at which something happens in a population.
    pub(crate) occasions: &'static [Occasion],
    /// Why two of its methods have no population in common; none: they have.
    pub(crate) unmixed: Option<&'static str>,
}

/// When a gateway asks devices for cookies before it keeps state for them, and the bytes of the additional round trip.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CookiesFrom {
    /// The number of half-open SAs from which it asks.
    pub half_open: u32,
    /// The number of half-open SAs that it keeps at most.
    pub half_open_max: u32,
    /// Additional bytes from the device, with IP headers: the repeated first message, and the cookie in it.
    pub up_bytes: u32,
    /// Bytes of the gateway's answer, with IP headers.
    pub down_bytes: u32,
    /// When the device retransmits.
    pub retransmission: ike::Retransmission,
}

/// An option that is a time at which something happens in a population.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Occasion {
    /// The option.
    pub(crate) key: &'static str,
    /// When, from the establishment of a device or from the beginning on; none: never.
    pub(crate) after: fn(&RowPlan) -> Option<Duration>,
    /// Whether it happens to devices that are there, not to whoever serves them.
    pub(crate) is_of_devices: bool,
}

/// Child SAs and their like are replaced.
pub(crate) const REKEYS_CHILD: Occasion =
    Occasion { key: "rekey_child", after: |row| row.options.ipsec.rekey_after, is_of_devices: true };

/// Why a row has not this population.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unfit {
    /// The key of the population or of the options that is to blame; none: the method.
    pub(crate) key: Option<&'static str>,
    /// Why not, as the rest of a sentence that begins with "because".
    pub why: &'static str,
    /// What to do.
    pub(crate) hint: &'static str,
}

/// Refuses settings of a row of a method: what is to blame stands in the first item, in the second the network.
pub(crate) type Check = fn(&Settings, &'static Method, &Item, (&Item, &Network)) -> Result<(), ScenarioError>;

/// Every family, in the order of the catalogue.
pub static FAMILIES: &[&Family] = &[&ike::FAMILY, &hip::FAMILY, &wlan::FAMILY, &knock::FAMILY];

/// What a row can vary besides method, network, topology and suites.
#[derive(Debug, Clone, PartialEq)]
pub struct Options {
    /// How IKE SAs are set up, kept and proved.
    pub ike: ike::Options,
    /// How associations of HIP are set up and kept.
    pub hip: hip::Options,
    /// How stations of wireless LANs are admitted and their frames protected.
    pub wlan: wlan::Options,
    /// The certificates that are shown, in whatever protocol.
    pub certificates: certificates::Options,
    /// The SAs for traffic.
    pub ipsec: ipsec::Options,
    /// EAP and the AAA server behind the gateway.
    pub eap: eap::Options,
    /// TLS inside EAP; only for methods with it.
    pub tls: tls::Tls,
    /// Whether the packets between device and gateway are IPv6, as in paper 000.
    pub ipv6: bool,
    /// Whose programs the nodes are.
    pub makers: nodes::Makers,
    /// How long the HSS waits for its store at each look-up of a subscriber; `None`: not at all.
    pub hss_store: Option<Spread>,
    /// What is wrong on purpose.
    pub fault: Option<Fault>,
    /// What users send once the SAs are there.
    pub traffic: traffic::Traffic,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            ike: ike::Options::default(),
            hip: hip::Options::default(),
            wlan: wlan::Options::default(),
            certificates: certificates::Options::default(),
            ipsec: ipsec::Options::default(),
            eap: eap::Options::default(),
            tls: tls::Tls::default(),
            ipv6: true,
            makers: nodes::Makers::default(),
            hss_store: None,
            fault: None,
            traffic: traffic::Traffic::default(),
        }
    }
}

impl Options {
    /// The kind of the keys that sign in a method's own exchange; none without signatures.
    pub fn key_kind(&self, method: &Method) -> Option<KeyKind> {
        (method.family.key_kind)(self, method)
    }
}

/// Every key of `[options]`, in the order in which they are printed: those of the families, then those that families share.
pub(crate) fn settings() -> impl Iterator<Item = &'static Setting> + Clone {
    let own = FAMILIES.iter().map(|family| family.settings);
    let shared = [
        certificates::SETTINGS,
        ipsec::SETTINGS,
        eap::SETTINGS,
        tls::SETTINGS,
        nodes::SETTINGS,
        traffic::SETTINGS,
    ];
    own.chain(shared).flatten()
}

/// What exists in the simulator only has no place in another world.
pub(crate) fn check_world(document: &Table, plan: &Plan) -> Result<(), ScenarioError> {
    let of_row = |row: &RowPlan| {
        (row.method.family.simulated_only)(row).or(row.options.hss_store.map(|_| nodes::HSS_STORE))
    };
    let Some(what) = plan.rows.iter().find_map(of_row).filter(|_| plan.world != WorldKind::Sim) else {
        return Ok(());
    };
    let spot = document.get("world").map_or_else(|| document.spot.start(), |item| item.spot.clone());
    let error = spot.error(format!("`{what}` exists in the simulator only"), "here");
    Err(error.hint(format!("`world = \"sim\"`, or leave `{what}` out")))
}

/// The key with this name.
pub(crate) fn setting(key: &str) -> Option<&'static Setting> {
    settings().find(|setting| setting.key == key)
}

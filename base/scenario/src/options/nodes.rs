//! Options of all nodes of a row: the IP version between them, their makers, and deliberate faults.

use keytoll_engine::trace::Node;

use super::settings::{Settings, value_of};
use super::{BOOLEAN, Setting, field, quoted};
use crate::catalogue::facet::{CARD, EAP, FOREIGN_ENDS};
use crate::catalogue::{Fault, Method};
use crate::diagnostic::ScenarioError;
use crate::plan::Network;
use crate::resolve::population::{STORES, spread_or};
use crate::tree::Item;

/// The project whose program a node runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum Maker {
    /// Our own engines.
    #[default]
    Keytoll,
    /// strongSwan's charon, as device or gateway.
    StrongSwan,
    /// FreeRADIUS, as AAA server.
    FreeRadius,
    /// hostapd's RADIUS and EAP server, with hlr_auc_gw for cards.
    Hostapd,
}

impl Maker {
    /// Makers of devices and gateways.
    pub const OF_ENDS: [Self; 2] = [Self::Keytoll, Self::StrongSwan];
    /// Makers of AAA servers.
    pub const OF_AAA: [Self; 3] = [Self::Keytoll, Self::FreeRadius, Self::Hostapd];

    /// The name used in scenarios and files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Keytoll => "keytoll",
            Self::StrongSwan => "strongswan",
            Self::FreeRadius => "freeradius",
            Self::Hostapd => "hostapd",
        }
    }

    /// Whether it is a foreign daemon's.
    pub fn is_foreign(self) -> bool {
        self != Self::Keytoll
    }
}

/// The makers of the nodes of a row. The HSS is ours; it exists if the AAA server is ours.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Makers {
    /// The device's.
    pub ue: Maker,
    /// The gateway's.
    pub gw: Maker,
    /// The AAA server's.
    pub aaa: Maker,
}

impl Makers {
    /// The maker of a node.
    pub const fn of(self, node: Node) -> Maker {
        match node {
            Node::Ue => self.ue,
            Node::Gw => self.gw,
            Node::Aaa => self.aaa,
            Node::Hss | Node::Ap => Maker::Keytoll,
        }
    }

    /// The first foreign maker.
    pub fn foreign(self) -> Option<Maker> {
        [self.ue, self.gw, self.aaa].into_iter().find(|maker| maker.is_foreign())
    }
}

pub(crate) const HSS_STORE: &str = "hss_store";
pub(crate) const FAULT: &str = "fault";
/// The word for a store that answers at once.
const NONE: &str = "none";
/// The word for no fault.
const NO_FAULT: &str = "none";

/// Every key, in the order in which it is printed.
pub(crate) static SETTINGS: &[Setting] = &[
    Setting::new(
        "ipv6",
        BOOLEAN,
        "the packets of the device are IPv6",
        field!(options.ipv6, Item::boolean, ToString::to_string),
    ),
    Setting::new(
        "ue",
        &["keytoll", "strongswan"],
        "whose program the device is",
        field!(options.makers.ue, |item| item.pick("program", &Maker::OF_ENDS, Maker::name), |maker| quoted(
            maker.name()
        )),
    )
    .of(&FOREIGN_ENDS),
    Setting::new(
        "gw",
        &["keytoll", "strongswan"],
        "whose program the gateway is",
        field!(options.makers.gw, |item| item.pick("program", &Maker::OF_ENDS, Maker::name), |maker| quoted(
            maker.name()
        )),
    )
    .of(&FOREIGN_ENDS),
    Setting::new(
        "aaa",
        &["keytoll", "freeradius", "hostapd"],
        "whose program the AAA server is",
        field!(options.makers.aaa, |item| item.pick("program", &Maker::OF_AAA, Maker::name), |maker| quoted(
            maker.name()
        )),
    )
    .of(&EAP),
    Setting::new(
        HSS_STORE,
        STORES,
        "how long the HSS waits for its store at each look-up of a subscriber",
        field!(options.hss_store, |item| spread_or(item, NONE), |spread| quoted(
            &spread.map_or_else(|| NONE.to_owned(), |spread| spread.to_string())
        )),
    )
    .of(&CARD),
    Setting::new(
        FAULT,
        &["none", "FAULT"],
        "what is wrong on purpose",
        field!(options.fault, fault, |fault| quoted(fault_name(*fault))),
    ),
];

/// `"none"`, or one of the catalogue.
fn fault(item: &Item) -> Result<Option<Fault>, ScenarioError> {
    let all = std::iter::once(None).chain(Fault::ALL.map(Some)).collect::<Vec<_>>();
    item.pick("fault", &all, fault_name)
}

fn fault_name(fault: Option<Fault>) -> &'static str {
    fault.map_or(NO_FAULT, Fault::name)
}

/// A fault must be one of the method's.
pub(super) fn check_fault(settings: &Settings, method: &Method, blame: &Item) -> Result<(), ScenarioError> {
    let options = &settings.options;
    let Some(fault) = options.fault.filter(|&fault| !options.can_have(fault, method)) else {
        return Ok(());
    };
    let (without, needs) = match fault.needs() {
        Some(facet) if !method.has(facet) => {
            (String::new(), format!("it needs a method with {}", facet.noun))
        }
        _ => (options.gateway_option(), "nobody shows a certificate then".to_owned()),
    };
    let message = format!("`fault = \"{}\"` means nothing to `{}`{without}", fault.name(), method.name());
    Err(value_of(blame, FAULT).spot.error(message, "this fault").hint(needs))
}

// RFC 8200 §5: every IPv6 link has an MTU of at least 1280 bytes.
pub(super) fn check_mtu(
    settings: &Settings,
    (network_item, network): (&Item, &Network),
) -> Result<(), ScenarioError> {
    if !settings.options.ipv6 || network.mtu_bytes >= 1280 {
        return Ok(());
    }
    let message = format!("an MTU of {} bytes is too small for IPv6", network.mtu_bytes);
    let hint = "an `mtu` of at least 1280, or `ipv6 = false` in `[options]`";
    Err(network_item.spot.error(message, "this network").hint(hint))
}

//! Which nodes there are and how they are joined.

use std::time::Duration;

use super::Entry;

/// An arrangement of nodes. The AAA server and its subscribers are there only for methods that need them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Topology {
    /// Device and gateway joined by the scenario's network, the AAA server beside the gateway.
    Raw,
    /// One gateway far in the core, the AAA server near it.
    Centralized,
    /// Gateways in regions.
    Distributed,
    /// Gateways at the edge, the AAA server far away.
    Flat,
    /// Access points and their AAA server on one site.
    Wlan,
}

impl Topology {
    /// Every topology, in the order of the catalogue.
    pub const ALL: [Self; 5] = [Self::Raw, Self::Centralized, Self::Distributed, Self::Flat, Self::Wlan];

    /// The name used in scenarios, files and on the screen.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Raw => "raw",
            Self::Centralized => "centralized",
            Self::Distributed => "distributed",
            Self::Flat => "flat",
            Self::Wlan => "wlan",
        }
    }

    /// The one with this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|topology| topology.name() == name)
    }

    /// One-way delay on the wire that is added to the access network between device and gateway.
    pub const fn ue_gw(self) -> Duration {
        Duration::from_millis(match self {
            Self::Raw | Self::Wlan => 0,
            Self::Centralized => 30,
            Self::Distributed => 15,
            Self::Flat => 10,
        })
    }

    /// One-way delay between gateway and AAA server.
    pub const fn gw_aaa(self) -> Duration {
        match self {
            Self::Raw => Duration::from_micros(100),
            Self::Wlan => Duration::from_millis(1),
            Self::Centralized => Duration::from_millis(5),
            Self::Distributed => Duration::from_millis(15),
            Self::Flat => Duration::from_millis(30),
        }
    }

    /// One-way delay between AAA server and HSS.
    pub const fn aaa_hss(self) -> Duration {
        match self {
            Self::Raw => Duration::from_micros(100),
            Self::Centralized | Self::Distributed | Self::Flat | Self::Wlan => Duration::from_millis(5),
        }
    }

    /// One-way delay between a gateway and an HSS that it asks by itself: the paper has one delay for the AAA server and the HSS.
    pub const fn gw_hss(self) -> Duration {
        self.gw_aaa()
    }

    const fn summary(self) -> &'static str {
        match self {
            Self::Raw => {
                "device (UE) to gateway (GW) by the scenario's network alone; GW--AAA, GW--HSS and AAA--HSS 0.1 ms"
            }
            Self::Centralized => "UE--GW 30 ms more than the network; GW--AAA and GW--HSS 5, AAA--HSS 5 ms",
            Self::Distributed => "UE--GW 15 ms more than the network; GW--AAA and GW--HSS 15, AAA--HSS 5 ms",
            Self::Flat => "UE--GW 10 ms more than the network; GW--AAA and GW--HSS 30, AAA--HSS 5 ms",
            Self::Wlan => "station (UE) to access point (AP) by the network alone; AP--AAA 1, AAA--HSS 5 ms",
        }
    }

    const fn source(self) -> &'static str {
        match self {
            Self::Raw => "the testbed of Faigl 2009 (`keytoll list papers`)",
            Self::Centralized | Self::Distributed | Self::Flat => {
                "Faigl 2012 (`keytoll list papers`); one-way delays derived from its shares of computation in the delay"
            }
            Self::Wlan => "keytoll's own choice: a AAA server on the site, an operator's HSS",
        }
    }

    /// How the list shows it.
    pub(super) fn entry(self) -> Entry {
        Entry {
            name: self.name().to_owned(),
            summary: self.summary().to_owned(),
            source: self.source().to_owned(),
            standing: "",
        }
    }
}

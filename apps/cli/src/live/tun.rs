//! The TUN interface of a node: created before the node starts, configured when its address is known.

use std::net::IpAddr;

use keytoll_hosts::Event;
use keytoll_live::interface::{self, assign, withdraw};
use keytoll_live::{Interface, InterfaceError};
use keytoll_scenario::NodePlan;
use keytoll_scenario::node::TunPlan;
use miette::{Report, miette};

/// An interface that may not have its address yet.
pub(crate) struct Tun {
    plan: TunPlan,
    /// The outer address of the peer, if it is known beforehand.
    peer: Option<IpAddr>,
    /// The address that the gateway assigned.
    assigned: Option<IpAddr>,
    is_routed: bool,
}

impl Tun {
    /// Creates the interface, if the plan has one.
    pub(crate) fn open(plan: &NodePlan) -> Result<Option<(Self, Interface)>, Report> {
        let peer = plan.call().map(|call| call.gateway.0);
        let Some(plan) = plan.tun().cloned() else { return Ok(None) };
        let interface = Interface::open(&plan.name, plan.mtu_bytes).map_err(|error| miette!("{error}"))?;
        let mut tun = Self { plan, peer, assigned: None, is_routed: false };
        if let Some((address, length)) = tun.plan.address {
            assign(&tun.plan.name, address, length).map_err(|error| miette!("{error}"))?;
            tun.check_way().and_then(|()| tun.routes()).map_err(|error| miette!("{error}"))?;
        }
        Ok(Some((tun, interface)))
    }

    /// Takes the address that the gateway assigned, if the plan has none.
    pub(crate) fn note(&mut self, event: &Event) -> Result<(), Report> {
        let Event::Established(established) = event else { return Ok(()) };
        let Some(address) = established.address.filter(|_| self.plan.address.is_none()) else {
            return Ok(());
        };
        if self.assigned == Some(address) {
            return Ok(());
        }
        // An assigned address must not make a host or network of this machine unreachable.
        interface::check_free(&self.plan.name, address).map_err(|error| miette!("{error}"))?;
        let alone = |address: IpAddr| if address.is_ipv4() { 32 } else { 128 };
        assign(&self.plan.name, address, alone(address)).map_err(|error| miette!("{error}"))?;
        if let Some(old) = self.assigned.replace(address) {
            withdraw(&self.plan.name, old, alone(old)).map_err(|error| miette!("{error}"))?;
        }
        self.routes().map_err(|error| miette!("{error}"))
    }

    /// Routes the plan's networks to the interface, once: the routes remain when the address changes.
    fn routes(&mut self) -> Result<(), InterfaceError> {
        if std::mem::replace(&mut self.is_routed, true) {
            return Ok(());
        }
        self.plan.routes.iter().try_for_each(|network| self.route(&network.to_string()))
    }

    /// Routes a network to the interface, unless the peer itself is in it and has no more specific route.
    fn route(&self, network: &str) -> Result<(), InterfaceError> {
        interface::route(&self.plan.name, network)?;
        self.check_way().inspect_err(|_| {
            // The first error is returned; a route that is gone already is none.
            let _ = interface::unroute(&self.plan.name, network);
        })
    }

    fn check_way(&self) -> Result<(), InterfaceError> {
        self.peer.map_or(Ok(()), |peer| interface::check_way_to(peer, &self.plan.name))
    }
}

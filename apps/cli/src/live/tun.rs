//! The interface of a node: made before the node begins, addressed when its address is known.

use std::net::IpAddr;

use keytoll_hosts::Event;
use keytoll_ike::v2;
use keytoll_live::Interface;
use keytoll_live::interface::{assign, route, withdraw};
use keytoll_scenario::NodePlan;
use keytoll_scenario::node::TunPlan;
use miette::{Report, miette};

/// An interface that may still want its address.
pub(crate) struct Tun {
    plan: TunPlan,
    /// The address that the gateway gave.
    assigned: Option<IpAddr>,
}

impl Tun {
    /// Makes the interface that the plan wants, if it wants one.
    pub(crate) fn open(plan: &NodePlan) -> Result<Option<(Self, Interface)>, Report> {
        let plan = match plan {
            NodePlan::Gateway(plan) => plan.tun.clone(),
            NodePlan::Device(plan) => plan.tun.clone(),
            NodePlan::Aaa(_) | NodePlan::Hss(_) => None,
        };
        let Some(plan) = plan else { return Ok(None) };
        let interface = Interface::open(&plan.name, plan.mtu_bytes).map_err(|error| miette!("{error}"))?;
        let tun = Self { plan, assigned: None };
        if let Some((address, length)) = tun.plan.address {
            assign(&tun.plan.name, address, length).map_err(|error| miette!("{error}"))?;
            tun.routes()?;
        }
        Ok(Some((tun, interface)))
    }

    /// Takes the address that the gateway gave, if the plan has none of its own.
    pub(crate) fn note(&mut self, event: &Event) -> Result<(), Report> {
        let Event::Ike(v2::Event::Established(established)) = event else { return Ok(()) };
        let Some(address) = established.address.filter(|_| self.plan.address.is_none()) else {
            return Ok(());
        };
        if self.assigned == Some(address) {
            return Ok(());
        }
        let alone = |address: IpAddr| if address.is_ipv4() { 32 } else { 128 };
        assign(&self.plan.name, address, alone(address)).map_err(|error| miette!("{error}"))?;
        if let Some(old) = self.assigned.replace(address) {
            withdraw(&self.plan.name, old, alone(old)).map_err(|error| miette!("{error}"))?;
        }
        self.routes()
    }

    fn routes(&self) -> Result<(), Report> {
        let mut networks = self.plan.routes.iter();
        networks
            .try_for_each(|network| route(&self.plan.name, &network.to_string()))
            .map_err(|error| miette!("{error}"))
    }
}

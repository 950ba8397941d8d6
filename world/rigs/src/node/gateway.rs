//! A gateway of a node file.

use std::net::{IpAddr, SocketAddr};

use keytoll_crypto_api::Seed;
use keytoll_hosts::{AaaAccess, Gateway, GatewayConfig, Host, SaLimits};
use keytoll_ike::wire::TrafficSelector;
use keytoll_net::Socket;
use keytoll_radius::client::{Config, Retransmission, Server};
use keytoll_scenario::ScenarioError;
use keytoll_scenario::node::{GatewayPlan, RadiusPlan};

use super::trusts::Drawn;
use super::{Place, Role, Wanted, ike};
use crate::ipsec::sa_limits;

/// A gateway without ports.
#[derive(Debug)]
pub(super) struct Blueprint {
    ike: keytoll_ike::Config,
    listen: IpAddr,
    ports: (u16, u16),
    sa_limits: SaLimits,
    inner: Vec<IpAddr>,
    radius: Option<RadiusPlan>,
}

impl Blueprint {
    pub(super) fn draw(plan: &GatewayPlan, trusts: &Drawn) -> Result<Self, ScenarioError> {
        let connections = plan.connections.iter();
        let connections = connections.map(|connection| ike::connection(connection, None, trusts));
        let mut connections = connections.collect::<Result<Vec<_>, _>>()?;
        // Devices with an inner address are to reach the addresses behind the gateway.
        for connection in connections.iter_mut().filter(|connection| connection.pool.is_some()) {
            if let Some(child) = connection.child.as_mut().filter(|child| child.local.is_empty()) {
                child.local = plan.inner.iter().copied().map(TrafficSelector::host).collect();
            }
        }
        Ok(Self {
            ike: ike::endpoint(&plan.endpoint, connections),
            listen: plan.listen,
            ports: plan.endpoint.ports,
            sa_limits: sa_limits(plan.endpoint.sa_limits),
            inner: plan.inner.clone(),
            radius: plan.radius.clone(),
        })
    }
}

impl Role for Blueprint {
    fn sockets(&self) -> Vec<Wanted> {
        let own = [self.ports.0, self.ports.1].map(|port| Place::At(SocketAddr::new(self.listen, port)));
        let radius = self.radius.iter().flat_map(|radius| {
            let ports = radius.ports.clone().map_or_else(|| vec![0; FREE_PORTS], Iterator::collect);
            ports.into_iter().map(|port| match &radius.local {
                Some(local) => Place::At(SocketAddr::new(local.value, port)),
                None => Place::Towards(radius.server, port),
            })
        });
        own.into_iter().chain(radius).map(Wanted::Udp).collect()
    }

    fn build(self: Box<Self>, locals: &[Socket], seed: &Seed) -> Box<dyn Host> {
        let ike = keytoll_ike::Config { port: locals[0].port, nat_port: locals[1].port, ..self.ike };
        let aaa = self.radius.map(|plan| access(plan, &locals[2..]));
        let config = GatewayConfig { ike, address: self.listen, inner: self.inner, aaa };
        Box::new(Gateway::new(config, seed, "gw").with_limits(self.sa_limits))
    }
}

// RFC 2865 §2.5: each port has 256 identifiers, which devices that authenticate at the same time share. This is the default number
// of source ports of RADIUS requests.
const FREE_PORTS: usize = 8;

/// `locals` has as many as the plan's ports.
fn access(plan: RadiusPlan, locals: &[Socket]) -> AaaAccess {
    let authentication = Socket::from(plan.server);
    let radius = Config {
        local: locals[0].ip,
        ports: locals.iter().map(|local| local.port).collect(),
        server: Server {
            authentication,
            accounting: authentication.at_port(plan.accounting_port),
            secret: plan.secret,
        },
        nas_identifier: plan.identifier,
        retransmission: Retransmission::default(),
    };
    let RadiusPlan { asks_identity, accounting, .. } = plan;
    AaaAccess { radius, asks_identity, names_addresses: true, accounts: accounting }
}

//! A device of a node file.

use std::net::{IpAddr, SocketAddr};

use keytoll_crypto_api::Seed;
use keytoll_hosts::{Device, DeviceConfig, EapCredentials, Host, SaLimits};
use keytoll_ike::wire::Identity;
use keytoll_net::Socket;
use keytoll_scenario::ScenarioError;
use keytoll_scenario::node::DevicePlan;

use super::trusts::Drawn;
use super::{Place, Role, Wanted, eap, ike};
use crate::ipsec::sa_limits;

/// A device without ports.
#[derive(Debug)]
pub(super) struct Blueprint {
    ike: keytoll_ike::Config,
    ports: (u16, u16),
    sa_limits: SaLimits,
    local: Option<IpAddr>,
    gateway: SocketAddr,
    inner: Option<IpAddr>,
    target: IpAddr,
    eap: Option<EapCredentials>,
}

impl Blueprint {
    pub(super) fn draw(plan: &DevicePlan, trusts: &Drawn) -> Result<Self, ScenarioError> {
        let eap = plan.eap.as_ref().map(|plan| eap::peer(plan, trusts)).transpose()?;
        // RFC 7296 §2.16: the gateway may use IKE's identity as EAP's, so they are equal unless the plan has another one.
        let claimed = eap.as_ref().map(|eap| Identity::of_name(&eap.identity.now()));
        let connection = ike::connection(&plan.connection, claimed, trusts)?;
        let mut ike = ike::endpoint(&plan.endpoint, vec![connection]);
        ike.responder_ports = Some((plan.gateway.port(), plan.gateway_nat_port));
        Ok(Self {
            ike,
            ports: plan.endpoint.ports,
            sa_limits: sa_limits(plan.endpoint.sa_limits),
            local: plan.local,
            gateway: plan.gateway,
            inner: plan.inner,
            target: plan.ping.unwrap_or_else(|| plan.gateway.ip()),
            eap,
        })
    }
}

impl Role for Blueprint {
    fn sockets(&self) -> Vec<Wanted> {
        let place = |port| match self.local {
            Some(local) => Place::At(SocketAddr::new(local, port)),
            None => Place::Towards(self.gateway, port),
        };
        [self.ports.0, self.ports.1].map(|port| Wanted::Udp(place(port))).to_vec()
    }

    fn build(self: Box<Self>, locals: &[Socket], seed: &Seed) -> Box<dyn Host> {
        let config = DeviceConfig {
            ike: keytoll_ike::Config { port: locals[0].port, nat_port: locals[1].port, ..self.ike },
            address: locals[0].ip,
            gateway: self.gateway.ip(),
            inner: self.inner,
            target: self.target,
            eap: self.eap,
        };
        Box::new(Device::new(config, seed, "ue").with_limits(self.sa_limits))
    }
}

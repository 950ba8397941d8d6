//! An AAA server of a node file.

use std::collections::BTreeMap;
use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;

use keytoll_crypto_api::Seed;
use keytoll_diameter::{Name, client as diameter};
use keytoll_eap::ServerConfig;
use keytoll_hosts::{Aaa, AaaConfig, Host, HssAccess, Subscribers};
use keytoll_net::Socket;
use keytoll_radius::server;
use keytoll_scenario::ScenarioError;
use keytoll_scenario::node::{AaaPlan, HssAccessPlan};

use super::secure::{self, Settings};
use super::subscribers::Records;
use super::trusts::Drawn;
use super::{Place, Role, Wanted, eap};

// RFC 6733 §2.1: the port of the AAA server's end of the stream.
const DIAMETER_PORT: u16 = 3868;
/// The limit on subscribers whose vectors the AAA server stores.
const SUBSCRIBERS_KEPT_MAX: usize = 100_000;

/// An AAA server without addresses.
pub(super) struct Blueprint {
    plan: AaaPlan,
    eap: Arc<ServerConfig>,
    records: Records,
    tls: Option<Settings>,
}

impl fmt::Debug for Blueprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Blueprint").field("plan", &self.plan).finish_non_exhaustive()
    }
}

impl Blueprint {
    pub(super) fn draw(plan: &AaaPlan, trusts: &Drawn) -> Result<Self, ScenarioError> {
        let (eap, records) = (eap::server(plan, trusts)?, Records::read(&plan.subscribers)?);
        let tls = plan.hss.as_ref().and_then(|hss| hss.tls.as_ref());
        let tls = tls.map(|tls| secure::client(tls, &plan.name, trusts)).transpose()?;
        Ok(Self { plan: plan.clone(), eap, records, tls })
    }
}

impl Role for Blueprint {
    fn tls(&self) -> Option<&Settings> {
        self.tls.as_ref()
    }

    fn sockets(&self) -> Vec<Wanted> {
        let (authentication, accounting) = self.plan.ports;
        let own = [authentication, accounting].map(|port| Place::At(SocketAddr::new(self.plan.listen, port)));
        own.into_iter().map(Wanted::Udp).chain(self.plan.hss.as_ref().map(calling)).collect()
    }

    fn build(self: Box<Self>, locals: &[Socket], seed: &Seed) -> Box<dyn Host> {
        let plan = self.plan;
        let clients = plan.clients.into_iter().map(|(ip, secret)| (ip, server::Client { secret }));
        let subscribers = match plan.hss {
            Some(hss) => Subscribers::Hss(access(hss, plan.name, locals[2])),
            None if self.records.is_empty() => Subscribers::Nobody,
            None => Subscribers::Own(self.records.centre(seed)),
        };
        let radius = server::Config {
            authentication_port: locals[0].port,
            accounting_port: locals[1].port,
            reject_delay: plan.reject_delay,
            conversations_per_user_max: plan.at_once_per_user.into(),
            conversations_per_station_max: PLACES_OF_STATION,
            ..server::Config::new(clients.collect::<BTreeMap<_, _>>())
        };
        Box::new(Aaa::new(
            AaaConfig { radius, eap: self.eap, address: plan.listen, subscribers },
            seed,
            "aaa",
        ))
    }
}

/// Unfinished conversations of one Calling-Station-Id at one client. It keeps the table for others. Passwords have a limit of their own, and
/// so many places cannot be kept by a stranger with a few packets a second.
const PLACES_OF_STATION: usize = 64;

/// The socket that calls an HSS.
pub(super) fn calling(hss: &HssAccessPlan) -> Wanted {
    Wanted::Call(match hss.local {
        Some(local) => Place::At(SocketAddr::new(local, DIAMETER_PORT)),
        None => Place::Towards(hss.server, DIAMETER_PORT),
    })
}

/// An HSS, called from this socket by a host of this name.
pub(super) fn access(plan: HssAccessPlan, host: String, local: Socket) -> HssAccess {
    let name = Name { host, realm: plan.realm.clone() };
    let diameter = diameter::Config::new(local, plan.server.into(), name, plan.realm);
    let diameter = diameter::Config { secured: plan.tls.is_some(), ..diameter };
    HssAccess { diameter, batch: plan.batch, kept_max: SUBSCRIBERS_KEPT_MAX }
}

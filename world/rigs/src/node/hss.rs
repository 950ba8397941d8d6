//! An HSS of a node file.

use std::collections::BTreeSet;
use std::fmt;
use std::net::{IpAddr, SocketAddr};

use keytoll_crypto_api::Seed;
use keytoll_diameter::{Name, server};
use keytoll_hosts::{Host, Hss, HssConfig};
use keytoll_net::Socket;
use keytoll_scenario::ScenarioError;
use keytoll_scenario::node::HssPlan;

use super::secure::{self, Settings};
use super::subscribers::Records;
use super::trusts::Drawn;
use super::{Role, Wanted};

/// An HSS without addresses.
pub(super) struct Blueprint {
    plan: HssPlan,
    records: Records,
    tls: Option<Settings>,
}

impl fmt::Debug for Blueprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Blueprint").field("plan", &self.plan).finish_non_exhaustive()
    }
}

impl Blueprint {
    pub(super) fn draw(plan: &HssPlan, trusts: &Drawn) -> Result<Self, ScenarioError> {
        let tls = plan.tls.as_ref().map(|tls| secure::server(tls, &plan.name, trusts)).transpose()?;
        Ok(Self { plan: plan.clone(), records: Records::read(&plan.subscribers)?, tls })
    }
}

impl Role for Blueprint {
    fn tls(&self) -> Option<&Settings> {
        self.tls.as_ref()
    }

    fn sockets(&self) -> Vec<Wanted> {
        vec![Wanted::Listen(SocketAddr::new(self.plan.listen, self.plan.port))]
    }

    fn expected(&self) -> Option<BTreeSet<IpAddr>> {
        self.plan.peers.as_ref().map(|peers| peers.iter().copied().collect())
    }

    fn build(self: Box<Self>, locals: &[Socket], seed: &Seed) -> Box<dyn Host> {
        let admitted = self.expected();
        let Self { plan, records, tls } = *self;
        let name = Name { host: plan.name, realm: plan.realm };
        let diameter =
            server::Config { admitted, secured: tls.is_some(), ..server::Config::new(locals[0], name) };
        Box::new(Hss::new(HssConfig { diameter, subscribers: records.centre(seed) }))
    }
}

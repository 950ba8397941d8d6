//! A population of stations at one access point, each with addresses of its own, and with EAP an identity and credentials of its own.

use std::time::Duration;

use keytoll_crypto_api::Seed;
use keytoll_engine::trace::Node;
use keytoll_hosts::{Aaa, Host, Hss};
use keytoll_net::Host as Address;
use keytoll_rig::{Crowd, Layout, Placement, Seat};
use keytoll_scenario::plan::RowPlan;
use keytoll_scenario::population::{Member, Population};
use keytoll_wlan::MacAddr;

use super::keys::Keys;
use super::sites::Sites;
use super::{build, has_back_end};
use crate::credentials::Credentials;
use crate::eap::{self, Everybody};
use crate::people::{self, Person};

/// Longer than any population.
const A_YEAR: Duration = Duration::from_secs(365 * 24 * 3600);
/// Authentications that the AAA server has under way for an access point, at most.
const UNFINISHED_MAX: usize = 10_000;

/// A population.
pub(super) struct Populated {
    row: RowPlan,
    sites: Sites,
    /// What all stations and the access point share.
    shared: Keys,
    everybody: Everybody,
    credentials: Credentials,
    population: Population,
    seed: Seed,
}

impl Populated {
    pub(super) fn new(
        row: &RowPlan,
        (population, credentials): (&Population, &Credentials),
        shared: Keys,
        seed: &Seed,
    ) -> Self {
        let mut row = row.clone();
        // Stations of a population send nothing, and stay.
        row.options.wlan.stays_idle = A_YEAR;
        Self {
            sites: Sites::of(&row, &Placement::Simulator),
            shared,
            everybody: Everybody::of(std::slice::from_ref(&row), credentials, seed),
            credentials: credentials.clone(),
            population: population.clone(),
            seed: seed.clone(),
            row,
        }
    }

    fn access_point(&self) -> Box<dyn Host> {
        let judge = self.row.method.eap().map(|_| {
            let access = eap::access_of_access_point((&self.row, &self.sites.back_end), &self.seed);
            build::judge_with(&self.row, (eap::of_many(access), &self.everybody.server()), &self.seed)
        });
        let here = (&self.row, &self.sites);
        Box::new(build::access_point_with(here, (&self.shared, &[]), (judge, A_YEAR), &self.seed))
    }

    fn aaa(&self) -> Box<dyn Host> {
        let server = (self.everybody.server(), self.row.method.has_card());
        let here = (&self.row, &self.sites.back_end);
        let config = eap::aaa_of_many(here, server, (1, UNFINISHED_MAX), &self.seed);
        Box::new(Aaa::new(config, &self.seed, "aaa"))
    }
}

impl Crowd for Populated {
    fn layout(&self, _: usize, _: u32) -> Layout {
        super::laid_out(&self.row, &self.sites)
    }

    fn serving(&mut self, node: Node, _: u32) -> Box<dyn Host> {
        match node {
            Node::Ap => self.access_point(),
            Node::Aaa if has_back_end(&self.row) => self.aaa(),
            Node::Hss => {
                let centre = self.everybody.centre(&self.population);
                let centre = centre.expect("only rows with a card have an HSS");
                Box::new(Hss::new(eap::hss(centre, &self.sites.back_end)))
            }
            other => panic!("{} serves nobody", other.name()),
        }
    }

    fn seat(&mut self, member: Member, visit: u32) -> Seat {
        let person = Person::of(member);
        let station = address(member.number);
        let ue = people::address(member.number, visit, self.sites.ue.is_ipv6());
        let sites = Sites { station, ue, ..self.sites.clone() };
        let eap = self.everybody.device(0, &person, &self.credentials);
        let name = format_args!("device/{}/{visit}", member.number);
        let own = self.seed.stream_of(name).seed();
        let host = build::station((&self.row, &sites), &self.shared, eap.as_ref(), &own);
        Seat { host: Box::new(host), address: Address::Mac(station) }
    }
}

/// The address of a station in frames: locally administered, as RFC 7042 §2.1 has addresses that nobody assigns.
fn address(number: u32) -> MacAddr {
    let [first, second, third, fourth] = number.to_be_bytes();
    [0x02, 1, first, second, third, fourth]
}

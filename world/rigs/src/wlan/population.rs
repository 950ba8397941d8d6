//! A population of stations at one access point, each with addresses of its own, and with EAP an identity and credentials of its own.

use std::time::Duration;

use keytoll_crypto_api::Seed;
use keytoll_engine::trace::Node;
use keytoll_hosts::{Aaa, Host, Hss};
use keytoll_net::Host as Address;
use keytoll_rig::{Crowd, Layout, Placement, Seat};
use keytoll_scenario::plan::RowPlan;
use keytoll_scenario::population::{Member, Population};
use keytoll_scenario::quantity::Probability;
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

/// 802.11-2020 §9.4.1.8: an access point has numbers for so many stations.
const STATIONS_MAX: u32 = 2007;

/// Why a row has not this population; nothing if it has.
pub(super) fn supports(row: &RowPlan, population: &Population) -> Result<(), &'static str> {
    let stays_full = population.stay.is_none() && population.devices > STATIONS_MAX;
    let has_one_key = row.method.eap().is_none();
    match () {
        () if build::is_rrkm(row) => Err("keys of RRKM for many stations are not built yet"),
        () if build::roams(row) => {
            Err("stations of a population have one access point, whatever `roam_after` is")
        }
        () if population.gateways > 1 => {
            Err("a population of stations has one access point, not several `gateways`")
        }
        () if stays_full => {
            Err("an access point has numbers for 2007 stations, and more would `stay` for ever")
        }
        () if population.moves.is_some() => Err(
            "an access point is not told who attaches elsewhere, and is soon full: `moves` is not built yet",
        ),
        () if population.devices_per_link > 1 => Err(
            "stations find their network by broadcast, which no link carries that they share (`devices_per_link`)",
        ),
        () if population.wrong != Probability::ZERO && has_one_key => {
            Err("all stations have one key, or none, so that no share of them can be `wrong`")
        }
        () => Ok(()),
    }
}

/// Why rows have no population in common; nothing if they have.
pub(super) fn mixes(rows: &[&RowPlan]) -> Result<(), &'static str> {
    match rows {
        [_] | [] => Ok(()),
        _ => Err("a network has one way to admit its stations"),
    }
}

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
        let own = Seed::from_bytes(self.seed.stream_of(name).bytes());
        let host = build::station((&self.row, &sites), &self.shared, eap.as_ref(), &own);
        Seat { host: Box::new(host), address: Address::Mac(station) }
    }
}

/// The address of a station in frames: locally administered, as RFC 7042 §2.1 has addresses that nobody assigns.
fn address(number: u32) -> MacAddr {
    let [first, second, third, fourth] = number.to_be_bytes();
    [0x02, 1, first, second, third, fourth]
}

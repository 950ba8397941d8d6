//! A population of devices at one gateway of HIP or several: each with an address and a Host Identity of its own, and with AKA a card.

use std::time::Duration;

use keytoll_crypto_api::Seed;
use keytoll_engine::trace::Node;
use keytoll_hip::config::Admits;
use keytoll_hosts::{Host, Hss};
use keytoll_net::Host as Address;
use keytoll_rig::{Crowd, Layout, Placement, Seat};
use keytoll_scenario::plan::RowPlan;
use keytoll_scenario::population::{Member, Population};

use super::identities::Identities;
use super::sites::Sites;
use super::{build, has_card};
use crate::eap;
use crate::people::{self, Person};

/// Longer than any population.
const A_YEAR: Duration = Duration::from_secs(365 * 24 * 3600);

/// The row with associations that end when the population says so: its devices send nothing, and stay.
fn lasting(row: &RowPlan) -> RowPlan {
    let mut row = row.clone();
    row.options.hip.unused_after = A_YEAR;
    row
}

/// A population.
pub(super) struct Populated {
    row: RowPlan,
    sites: Sites,
    identities: Identities,
    population: Population,
    seed: Seed,
}

impl Populated {
    /// Of one row, which is all that the family mixes.
    pub(super) fn new(
        rows: &[&RowPlan],
        population: &Population,
        identities: &Identities,
        seed: &Seed,
    ) -> Self {
        let row = lasting(rows[0]);
        let sites = Sites::of(&row, &Placement::Simulator);
        let (identities, population) = (identities.clone(), population.clone());
        Self { row, sites, identities, population, seed: seed.clone() }
    }

    fn members(&self) -> impl Iterator<Item = Member> {
        (0..self.population.devices).map(|number| self.population.member(&self.seed, number))
    }

    fn identity(&self, member: Member) -> keytoll_hip::HostIdentity {
        self.identities.named(&self.row, &Person::of(member).name())
    }

    /// Whom the gateway lets in: with AKA whoever proves a subscription, else the devices by their HITs.
    fn admits(&self) -> Admits {
        if has_card(&self.row) {
            return Admits::Anybody;
        }
        let known = self.members().filter(|member| !member.is_wrong);
        Admits::Hits(known.map(|member| self.identity(member).hit()).collect())
    }
}

impl Crowd for Populated {
    fn layout(&self, _: usize, gateway: u32) -> Layout {
        super::laid_out(&self.row, &self.sites.behind(gateway))
    }

    fn serving(&mut self, node: Node, gateway: u32) -> Box<dyn Host> {
        match node {
            Node::Gw => {
                let [_, own] = self.identities.of(&self.row);
                let (sites, name) = (self.sites.behind(gateway), crate::sites::name(gateway));
                let admits = self.admits();
                Box::new(build::gateway((&self.row, &sites), &own, admits, (&self.seed, &name)))
            }
            Node::Hss => {
                let centre = eap::centre_of(self.members(), &self.seed);
                Box::new(Hss::new(eap::hss(centre, &self.sites.back_end)))
            }
            other => panic!("{} serves nobody", other.name()),
        }
    }

    fn seat(&mut self, member: Member, visit: u32) -> Seat {
        let person = Person::of(member);
        let ue = people::address(member.number, visit, self.sites.ue.is_ipv6());
        let sites = Sites { ue, ..self.sites.clone() };
        let [_, gateway] = self.identities.of(&self.row);
        let own = self.identity(member);
        let imsi = person.imsi();
        let card = has_card(&self.row).then(|| (imsi.as_str(), person.card(&self.seed)));
        let seed = self.seed.stream_of(format_args!("device/{}/{visit}", member.number)).seed();
        let host = build::device((&self.row, &sites), [&own, &gateway], card, &seed);
        Seat { host: Box::new(host), address: Address::Ip(ue) }
    }
}

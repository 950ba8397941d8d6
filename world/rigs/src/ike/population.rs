//! A population of devices at one gateway or several: each with an address, an identity and credentials of its own.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::time::Duration;

use keytoll_crypto_api::{Secret, Seed};
use keytoll_engine::trace::Node;
use keytoll_hosts::{Aaa, Device, DeviceSetup, Gateway, Host, Hss};
use keytoll_ike::config::{Believe, Connection, OwnKeys, Pool, Prove, SharedKeys, Version};
use keytoll_ike::wire::Identity;
use keytoll_net::Host as Address;
use keytoll_rig::{Crowd, Layout, Placement, Seat};
use keytoll_scenario::families::ike::Phase1;
use keytoll_scenario::plan::RowPlan;
use keytoll_scenario::population::{Member, Population};

use super::{Credentials, Sites, build, row_secret};
use crate::credentials::UE_ID;
use crate::eap::{self, Everybody};
use crate::people::{self, Person};

/// Longer than any population.
const A_YEAR: Duration = Duration::from_secs(365 * 24 * 3600);

/// A population.
pub(super) struct Populated {
    rows: Vec<RowPlan>,
    credentials: Credentials,
    population: Population,
    seed: Seed,
    sites: Vec<Sites>,
    everybody: Everybody,
    /// By share.
    devices: Vec<Devices>,
}

/// What the devices of a share have in common.
struct Devices {
    setup: Arc<DeviceSetup>,
    terms: Arc<Terms>,
}

/// What the terms of every device of a share are made of.
#[derive(Debug)]
struct Terms {
    connection: Connection,
    seed: Seed,
}

/// A device of a population on one of its visits.
#[derive(Debug)]
struct Seated {
    terms: Arc<Terms>,
    person: Person,
    visit: u32,
    /// What of its connection is its own, if that cannot be derived from its number.
    kept: Option<Box<Kept>>,
}

/// Who a device is, and how it proves that.
#[derive(Debug, Clone)]
struct Kept {
    local_id: Identity,
    local: Prove,
}

impl keytoll_hosts::Person for Seated {
    fn terms(&self) -> Option<Arc<Connection>> {
        let derived = || Kept {
            local_id: build::identity(&self.person.name()),
            local: Prove::Psk(self.person.psk(&self.terms.seed)),
        };
        let Kept { local_id, local } = self.kept.as_deref().cloned().unwrap_or_else(derived);
        Some(Arc::new(Connection { local_id, local, ..self.terms.connection.clone() }))
    }

    fn seed(&self) -> Seed {
        let name = format_args!("device/{}/{}", self.person.number(), self.visit);
        self.terms.seed.stream_of(name).seed()
    }
}

/// The shared keys of the devices of a share, which a gateway derives as they do: a list would take more than their SAs.
struct Keys {
    population: Population,
    share: usize,
    seed: Seed,
    /// Devices are known by their addresses, and otherwise by their names.
    // RFC 2409 §5.4: main mode hides the name until the key is needed.
    are_of_addresses: bool,
}

impl Keys {
    fn person(&self, identity: &Identity) -> Option<Person> {
        if self.are_of_addresses {
            return Person::at(identity.address()?);
        }
        let person = Person::named(&identity.data)?;
        (*identity == build::identity(&person.name())).then_some(person)
    }
}

impl SharedKeys for Keys {
    fn key(&self, identity: &Identity) -> Option<Secret> {
        let person = self.person(identity).filter(|person| person.number() < self.population.devices)?;
        let member = self.population.member(&self.seed, person.number());
        (member.share == self.share && !member.is_wrong).then(|| person.psk(&self.seed))
    }
}

impl Populated {
    pub(super) fn new(
        rows: &[&RowPlan],
        population: &Population,
        credentials: &Credentials,
        seed: &Seed,
    ) -> Self {
        let owned: Vec<_> = rows.iter().map(|row| (*row).clone()).collect();
        let sites = rows
            .iter()
            .map(|row| Sites { pool: pool(row, population), ..Sites::of(row, &Placement::Simulator) });
        let sites: Vec<_> = sites.collect();
        let devices =
            owned.iter().zip(&sites).map(|here| devices(here, population, credentials, seed)).collect();
        Self {
            sites,
            devices,
            everybody: Everybody::of(&owned, credentials.shared(), seed),
            rows: owned,
            credentials: credentials.clone(),
            population: population.clone(),
            seed: seed.clone(),
        }
    }

    /// One of the gateways, counted from 0.
    fn gateway(&self, number: u32) -> Gateway {
        let connections = self.rows.iter().zip(&self.sites).zip(0..).map(|((row, sites), share)| {
            let (prove, believe) = self.credentials.of_gateway(row, &row_secret(&self.seed));
            let believe = self.shared_keys(share, &prove).unwrap_or(believe);
            lasting(build::connection_of_gateway((row, sites), prove, believe))
        });
        let (row, sites) = (&self.rows[0], &self.sites[0]);
        let with_eap = self.rows.iter().find(|row| row.method.eap().is_some());
        let back_end = sites.back_end.behind(number);
        let access = with_eap.map(|row| eap::access_of_many((row, &back_end), number, &self.seed));
        let name = crate::sites::name(number);
        build::gateway_with((row, sites), connections.collect(), access, (&self.seed, &name))
    }

    /// The keys by which a gateway with a shared key knows the devices of a share; `None` without shared keys.
    fn shared_keys(&self, share: usize, prove: &Prove) -> Option<Believe> {
        if !matches!(prove, Prove::Psk(_)) || self.rows[share].method.eap().is_some() {
            return None;
        }
        let are_of_addresses = self.rows[share].method.phase1() == Some(Phase1::Main);
        let (population, seed) = (self.population.clone(), self.seed.clone());
        let keys = Keys { population, share, seed, are_of_addresses };
        let by_identity = OwnKeys::Derived(Arc::new(keys));
        Some(Believe::Psk { any: None, by_identity })
    }
}

fn devices(
    (row, sites): (&RowPlan, &Sites),
    population: &Population,
    credentials: &Credentials,
    seed: &Seed,
) -> Devices {
    let proofs = credentials.of_device(row, &row_secret(seed));
    let mut connection = lasting(build::connection_of_device((row, sites), proofs, build::identity(UE_ID)));
    connection.liveness_after = population.liveness;
    let setup = Arc::new(build::setup_of_devices((row, sites), connection.clone()));
    Devices { setup, terms: Arc::new(Terms { connection, seed: seed.clone() }) }
}

/// The same with SAs that end when the population says so: those of IKEv1 have lifetimes (RFC 2407 §4.5, RFC 2409 appendix A).
fn lasting(mut connection: Connection) -> Connection {
    if let Version::V1(terms) = &mut connection.version {
        (terms.lifetime, terms.child_lifetime) = (A_YEAR, A_YEAR);
    }
    connection
}

/// Inner addresses for everybody, twice: a new SA has one before the old one gives up its own.
fn pool(row: &RowPlan, population: &Population) -> Pool {
    let sites = Sites::of(row, &Placement::Simulator);
    let size = population.devices.saturating_mul(2).max(sites.pool.size);
    let first =
        if sites.inner.is_ipv6() { sites.pool.first } else { IpAddr::V4(Ipv4Addr::new(100, 64, 0, 1)) };
    Pool { first, size }
}

impl Crowd for Populated {
    fn layout(&self, share: usize, gateway: u32) -> Layout {
        super::laid_out(&self.rows[share], &self.sites[share].behind(gateway))
    }

    fn serving(&mut self, node: Node, gateway: u32) -> Box<dyn Host> {
        let with_eap = || self.rows.iter().find(|row| row.method.eap().is_some());
        let row = with_eap().unwrap_or(&self.rows[0]);
        let here = (row, &self.sites[0].back_end);
        match node {
            Node::Gw => Box::new(self.gateway(gateway)),
            Node::Aaa => {
                let has_cards = self.rows.iter().any(|row| row.method.has_card());
                let unfinished_max = row.options.ike.half_open_max as usize;
                let server = (self.everybody.server(), has_cards);
                let gateways = (self.population.gateways, unfinished_max);
                let config = eap::aaa_of_many(here, server, gateways, &self.seed);
                Box::new(Aaa::new(config, &self.seed, "aaa"))
            }
            Node::Hss => {
                let centre = self.everybody.centre(&self.population);
                Box::new(Hss::new(eap::hss(centre.expect("only rows with a card have an HSS"), here.1)))
            }
            other => panic!("{} serves nobody", other.name()),
        }
    }

    fn seat(&mut self, member: Member, visit: u32) -> Seat {
        let (row, person) = (&self.rows[member.share], Person::of(member));
        let is_ipv6 = self.sites[member.share].ue.is_ipv6();
        let ue = people::address(member.number, visit, is_ipv6);
        let eap = self.everybody.device(member.share, &person, self.credentials.shared());
        let Devices { setup, terms } = &self.devices[member.share];
        let derives = matches!(terms.connection.local, Prove::Psk(_));
        let kept = (!derives).then(|| {
            let local = match self.credentials.of_device(row, &person.psk(&self.seed)).0 {
                Prove::Certificate(_) => {
                    let set = self.credentials.of(row).expect("a method with certificates has some");
                    Prove::Certificate(set.of_device(&person.name(), person.is_wrong))
                }
                other => other,
            };
            let local_id = build::identity_of_device(&person.name(), eap.as_ref());
            Box::new(Kept { local_id, local })
        });
        let seated = Seated { terms: Arc::clone(terms), person, visit, kept };
        let host = Device::of(setup, ue, Box::new(seated), eap);
        Seat { host: Box::new(host), address: Address::Ip(ue) }
    }
}

//! A gateway or a device of HIP of a node file.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::path::PathBuf;

use keytoll_crypto::Real;
use keytoll_crypto_api::{Seed, SigningKey};
use keytoll_eap::simaka::peer::SharedCard;
use keytoll_engine::trace::Protocol;
use keytoll_hip::config::{Admits, Aka, Config, Puzzles, Retransmission};
use keytoll_hip::identity::{DietVariant, hit_of_public_key};
use keytoll_hip::names::HIP;
use keytoll_hip::number::{EspSuite, HitSuite};
use keytoll_hip::wire::packet::IP_PROTOCOL;
use keytoll_hip::{Hit, HostIdentity, Leniency};
use keytoll_hosts::{Host, HssAccess};
use keytoll_net::ip::protocol::ESP;
use keytoll_net::{Addr, Socket};
use keytoll_scenario::ScenarioError;
use keytoll_scenario::families::hip::Exchange;
use keytoll_scenario::node::{
    AkaPlan, Departure, HipPlan, HipSide, HipTerms, HostPlan, HssAccessPlan, Line, Placed, Transport,
};

use super::aaa::{access, calling};
use super::secure::{self, Settings};
use super::trusts::Drawn;
use super::{Place, Role, Wanted, files, subscribers};
use crate::hip::hosts::{Card, Device, DeviceConfig, Gateway, GatewayConfig, Hss};
use crate::hip::of_p256;
use crate::ipsec::sa_limits;

/// A host without addresses.
#[derive(Debug)]
pub(super) struct Blueprint {
    plan: HipPlan,
    hip: Config,
    peer: Option<Hit>,
    card: Option<SharedCard>,
    tls: Option<Settings>,
}

impl Blueprint {
    pub(super) fn draw(plan: &HipPlan, trusts: &Drawn) -> Result<Self, ScenarioError> {
        let identity = identity(&plan.key, &plan.terms)?;
        let known = |host: &HostPlan| hit(host, plan.terms.exchange);
        let (admits, puzzle, peer) = match &plan.side {
            HipSide::Gateway { admits, puzzle_difficulty_bits, .. } => {
                let hits =
                    admits.as_ref().map(|all| all.iter().map(known).collect::<Result<BTreeSet<_>, _>>());
                let puzzle = Puzzles { difficulty_bits: *puzzle_difficulty_bits, ..Puzzles::default() };
                (hits.transpose()?.map_or(Admits::Anybody, Admits::Hits), puzzle, None)
            }
            HipSide::Device { peer, .. } => {
                let peer = peer.as_ref().map(known).transpose()?;
                (peer.map_or(Admits::Anybody, |peer| Admits::Hits([peer].into())), Puzzles::default(), peer)
            }
        };
        let hip = Config { admits, puzzle, aka: aka(plan), ..endpoint(&plan.terms, vec![identity]) };
        let (card, tls) = match &plan.side {
            HipSide::Device { card, .. } => (card.as_ref().map(subscribers::card).transpose()?, None),
            HipSide::Gateway { hss, .. } => {
                (None, hss.as_ref().map(|hss| tls(hss, trusts)).transpose()?.flatten())
            }
        };
        Ok(Self { plan: plan.clone(), hip, peer, card, tls })
    }
}

impl Role for Blueprint {
    fn sockets(&self) -> Vec<Wanted> {
        let own = |port| match &self.plan.side {
            HipSide::Gateway { listen, .. } => Place::At(SocketAddr::new(*listen, port)),
            HipSide::Device { local: Some(local), .. } => Place::At(SocketAddr::new(*local, port)),
            HipSide::Device { gateway, .. } => Place::Towards(*gateway, port),
        };
        let hip = match self.plan.terms.transport {
            Transport::Udp(port) => vec![Wanted::Udp(own(port))],
            Transport::Raw => [(IP_PROTOCOL, HIP), (ESP, Protocol::ESP)]
                .map(|protocol| Wanted::Raw(own(0), protocol))
                .to_vec(),
        };
        let HipSide::Gateway { hss: Some((_, hss)), .. } = &self.plan.side else { return hip };
        [&hip[..], &[calling(hss)]].concat()
    }

    fn identity(&self) -> Option<Line> {
        self.hip.identities.first().map(|own| ("HIT", own.hit().to_string()))
    }

    fn tls(&self) -> Option<&Settings> {
        self.tls.as_ref()
    }

    fn build(self: Box<Self>, locals: &[Socket], seed: &Seed) -> Box<dyn Host> {
        let Self { plan, hip, peer, card, .. } = *self;
        let AkaPlan { kind: aka, network } = plan.terms.aka;
        let limits = sa_limits(plan.sa_limits);
        let on = |socket: Socket| on(plan.terms.transport, socket);
        match plan.side {
            HipSide::Device { gateway, .. } => {
                let card = card.map(|card| Card { card, aka, network });
                let (local, gateway) = (on(locals[0]), on(gateway.into()));
                Box::new(Device::new(
                    DeviceConfig { hip, local, gateway, peer, card, limits, journey: None },
                    seed,
                    "ue",
                ))
            }
            HipSide::Gateway { hss, .. } => {
                let hss = hss.zip(locals.last()).map(|((name, hss), local)| {
                    let HssAccess { diameter, .. } = access(hss, name, *local);
                    Hss { diameter, aka, network }
                });
                Box::new(Gateway::new(GatewayConfig { hip, hss, limits }, seed, "gw"))
            }
        }
    }
}

/// The endpoint of hosts that speak so.
pub(super) fn endpoint(terms: &HipTerms, identities: Vec<HostIdentity>) -> Config {
    let (first, tries) = terms.retransmission;
    Config {
        retransmission: Retransmission { first, tries: tries.into() },
        unused_after: terms.unused_after,
        keepalive_after: terms.nat_keepalive,
        rekey_after: terms.rekey_child,
        esp_suites: terms.esp_suites.iter().filter_map(|suite| EspSuite::of(*suite)).collect(),
        p256_hash: of_p256(terms.p256_hash),
        leniency: leniency(&terms.leniency),
        ..Config::new(identities)
    }
}

fn leniency(departures: &[Departure]) -> Leniency {
    let has = |departure| departures.contains(&departure);
    Leniency {
        any_order: has(Departure::AnyOrder),
        swapped_puzzle: has(Departure::SwappedPuzzle),
        swapped_integrity_keys: has(Departure::SwappedIntegrityKeys),
        r2_with_signature_2: has(Departure::R2WithSignature2),
        no_r1_counter: has(Departure::NoR1Counter),
        short_kij: has(Departure::ShortKij),
    }
}

/// A socket of HIP as an address of datagrams.
pub(super) const fn on(transport: Transport, socket: Socket) -> Addr {
    match transport {
        Transport::Udp(_) => Addr::Udp(socket),
        Transport::Raw => Addr::Ip { ip: socket.ip, protocol: IP_PROTOCOL },
    }
}

/// Who we are: a key that signs for the base exchange, one that agrees for the diet exchange.
pub(super) fn identity(path: &Placed<PathBuf>, terms: &HipTerms) -> Result<HostIdentity, ScenarioError> {
    let made = match terms.exchange {
        Exchange::Base => HostIdentity::signing(signing_key(path)?, &mut Real::default())
            .map(|identity| identity.with_p256_hash(of_p256(terms.p256_hash))),
        Exchange::Diet | Exchange::DietAka => {
            HostIdentity::agreeing(files::agreement_key(path)?, DietVariant::default())
        }
    };
    made.map_err(|_| path.error(format!("{} has no Host Identity in HIP", path.value.display()), KEYS_OF_BEX))
}

fn signing_key(path: &Placed<PathBuf>) -> Result<SigningKey, ScenarioError> {
    if files::agreement_key(path).is_ok() {
        let shown = path.value.display();
        let message = format!("the base exchange needs a key that signs, and {shown} has one of X25519");
        return Err(path.error(message, "this file").hint("openssl genpkey -algorithm ed25519 -out FILE"));
    }
    files::key(path)
}

const KEYS_OF_BEX: &str = "a key of RSA, of ECDSA on P-256 or P-384, or of Ed25519";

/// A mistake at a place of the file, told in a sentence with a label.
type At<'a> = &'a dyn Fn(String, &str) -> ScenarioError;

/// Whom a plan means, which must be somebody that the method can be spoken with.
pub(super) fn hit(host: &HostPlan, exchange: Exchange) -> Result<Hit, ScenarioError> {
    let (hit, place): (Hit, At<'_>) = match host {
        HostPlan::Hit(hit) => (Hit(hit.value.octets()), &|message, label| hit.error(message, label)),
        HostPlan::PublicKey(path) => {
            let spki = files::public_key(path)?;
            let hit = hit_of_public_key(&spki, DietVariant::default(), &mut Real::default());
            let message = || format!("the key in {} has no Host Identity in HIP", path.value.display());
            (hit.map_err(|_| path.error(message(), "this key"))?, &|message, label| {
                path.error(message, label)
            })
        }
    };
    let is_diet =
        hit.suite().ok_or_else(|| place(format!("nobody knows the suite of the HIT {hit}"), "this HIT"))?
            == HitSuite::EcdhFold;
    if is_diet == (exchange == Exchange::Base) {
        let whose = if is_diet { "the diet exchange" } else { "the base exchange" };
        let message = format!("the HIT {hit} is one for {whose}, which is not the method here");
        return Err(place(message, "this host"));
    }
    Ok(hit)
}

fn tls((name, hss): &(String, HssAccessPlan), trusts: &Drawn) -> Result<Option<Settings>, ScenarioError> {
    hss.tls.as_ref().map(|tls| secure::client(tls, name, trusts)).transpose()
}

fn aka(plan: &HipPlan) -> Aka {
    match &plan.side {
        HipSide::Gateway { hss: Some(_), .. } => Aka::Required,
        HipSide::Device { card: Some(card), .. } => {
            Aka::Subscriber(card.subscriber.imsi.value.clone().into_bytes())
        }
        _ => Aka::None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_departure_is_a_leniency_of_its_own() {
        assert_eq!(leniency(&[]), Leniency::NONE);
        let names = Departure::ALL.map(|departure| {
            let told = format!("{:?}", leniency(&[departure]));
            assert_eq!(told.matches("true").count(), 1, "{told}");
            assert!(told.contains(&format!("{}: true", departure.name())), "{told}");
            told
        });
        let all = format!("{:?}", leniency(&Departure::ALL));
        assert_eq!(all.matches("true").count(), names.len(), "{all}");
    }
}

//! The devices of a load of HIP: Host Identities that are made when they are needed, or read before, and cards.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;

use keytoll_crypto::{Real, keys};
use keytoll_crypto_api::algorithm::{Group, KeyKind};
use keytoll_crypto_api::{Crypto as _, Rng, Seed};
use keytoll_hip::config::{Admits, Config, Initiator};
use keytoll_hip::identity::DietVariant;
use keytoll_hip::{Hit, HostIdentity};
use keytoll_hosts::callers::DeviceIndex;
use keytoll_net::Socket;
use keytoll_scenario::ScenarioError;
use keytoll_scenario::families::hip::Exchange;
use keytoll_scenario::node::load::{HipLoad, Identities, Identity, LoadPlan};
use keytoll_scenario::node::{AkaPlan, HipTerms, Placed};

use super::{Cards, check_imsis};
use crate::hip::callers::{HipCallers, Route, Terms};
use crate::hip::hosts::Card;
use crate::node::hip;

/// What all devices have in common.
pub(super) struct HipAccess {
    terms: HipTerms,
    hip: Config,
    peer: Option<Hit>,
    /// Their Host Identities, by their number; empty: they are made.
    own: Arc<[Arc<HostIdentity>]>,
}

impl HipAccess {
    pub(super) fn draw(plan: &LoadPlan, load: &HipLoad) -> Result<Self, ScenarioError> {
        let exchange = load.terms.exchange;
        let peer = load.peer.as_ref().map(|peer| hip::hit(peer, exchange)).transpose()?;
        if exchange == Exchange::DietAka {
            check_imsis(&plan.identities)?;
        }
        let admits = peer.map_or(Admits::Anybody, |peer| Admits::Hits([peer].into()));
        Ok(Self {
            terms: load.terms.clone(),
            hip: Config { admits, ..hip::endpoint(&load.terms, Vec::new()) },
            peer,
            own: own(&plan.identities, &load.terms)?.into(),
        })
    }

    /// The callers of a worker, with its sockets at these addresses.
    pub(super) fn build(
        &self,
        (target, locals): (SocketAddr, &[Socket]),
        identities: Identities,
        seed: &Seed,
        name: &str,
    ) -> HipCallers {
        let on = |socket| hip::on(self.terms.transport, socket);
        let locals = locals.iter().copied().map(on).collect();
        let route = Route { locals, gateway: on(target.into()), peer: self.peer };
        let mut maker = Maker {
            exchange: self.terms.exchange,
            aka: self.terms.aka,
            own: Arc::clone(&self.own),
            cards: Cards::default(),
            rng: seed.stream("hosts"),
            made: BTreeMap::new(),
            identities,
        };
        let terms = move |device| maker.terms(device);
        HipCallers::new(self.hip.clone(), route, Box::new(terms), seed, name)
    }
}

/// The Host Identities in the files of identities, if they have any.
fn own(identities: &Placed<Identities>, terms: &HipTerms) -> Result<Vec<Arc<HostIdentity>>, ScenarioError> {
    let read = |one: Identity| Some(hip::identity(&identities.with(one.key?), terms).map(Arc::new));
    identities.value.samples().filter_map(read).collect()
}

/// Makes what a device needs when it begins.
struct Maker {
    exchange: Exchange,
    aka: AkaPlan,
    own: Arc<[Arc<HostIdentity>]>,
    cards: Cards,
    rng: Rng,
    /// The Host Identities that were made: a device keeps its own.
    made: BTreeMap<DeviceIndex, Arc<HostIdentity>>,
    identities: Identities,
}

impl Maker {
    fn terms(&mut self, device: DeviceIndex) -> Terms {
        let one = self.identities.get(device.0);
        let own = self.host(device);
        if self.exchange != Exchange::DietAka {
            return Terms { who: Initiator { own, subscriber: None }, card: None };
        }
        let AkaPlan { kind: aka, network } = self.aka;
        let card = Card { card: self.cards.of(device, &one, ""), aka, network };
        Terms { who: Initiator { own, subscriber: Some(one.name.as_bytes().into()) }, card: Some(card) }
    }

    /// The Host Identity of a device: read, or made when it begins for the first time.
    fn host(&mut self, device: DeviceIndex) -> Arc<HostIdentity> {
        if let Some(own) = self.own.get(device.0 as usize) {
            return Arc::clone(own);
        }
        let (exchange, rng) = (self.exchange, &mut self.rng);
        Arc::clone(self.made.entry(device).or_insert_with(|| Arc::new(make(exchange, rng))))
    }
}

/// A Host Identity of a kind of key that is quickly made.
fn make(exchange: Exchange, rng: &mut Rng) -> HostIdentity {
    let crypto = &mut Real::default();
    match exchange {
        Exchange::Base => HostIdentity::signing(keys::generate(KeyKind::Ed25519, rng), crypto),
        Exchange::Diet | Exchange::DietAka => {
            HostIdentity::agreeing(crypto.generate(Group::X25519, rng), DietVariant::default())
        }
    }
    .expect("HIP has a Host Identity for these kinds of keys")
}

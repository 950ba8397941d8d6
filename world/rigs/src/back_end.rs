//! The back end of an authenticator: the AAA server, reached by RADIUS, and the HSS, reached by Diameter. All rigs with EAP share
//! it.

use std::net::SocketAddr;
use std::time::Duration;

use keytoll_crypto_api::{Secret, Seed};
use keytoll_diameter::DIAMETER;
use keytoll_eap::simaka::flavour::Flavour;
use keytoll_eap::simaka::identity::Imsi;
use keytoll_eap::simaka::peer::SharedCard;
use keytoll_engine::trace::{Link, Node};
use keytoll_hosts::{Aaa, Host, Hss};
use keytoll_net::Addr;
use keytoll_radius::RADIUS;
use keytoll_rig::{End, LinkSpec, NodeSpec, SharedSecret, Streams, wire};
use keytoll_scenario::catalogue::EapMethod;
use keytoll_scenario::plan::{Maker, RowPlan};

use crate::credentials::Credentials;
use crate::eap::{self, Ends, Memories};
use crate::fault;
use crate::sites::Sites;

/// The nodes of a row's back end. Foreign AAA servers generate their own vectors.
fn present(row: &RowPlan) -> &'static [Node] {
    let own = !row.options.makers.aaa.is_foreign();
    match (row.method.eap(), row.method.has_card() && own) {
        (None, _) => &[],
        (Some(_), false) => &[Node::Aaa],
        (Some(_), true) => &[Node::Aaa, Node::Hss],
    }
}

/// The nodes of a row's back end.
pub(crate) fn nodes(row: &RowPlan, sites: &Sites) -> impl Iterator<Item = NodeSpec> {
    present(row).iter().map(move |&node| match node {
        Node::Hss => hss(sites),
        _ => aaa(row.options.makers.aaa, sites),
    })
}

fn aaa(maker: Maker, sites: &Sites) -> NodeSpec {
    let udp = [sites.ports.radius, sites.ports.accounting];
    NodeSpec {
        node: Node::Aaa,
        maker,
        holds_sas: false,
        inner: Vec::new(),
        datagrams: udp.map(|port| Addr::udp(sites.aaa, port)).to_vec(),
        streams: Some(diameter(Vec::new())),
    }
}

/// The HSS.
pub(crate) fn hss(sites: &Sites) -> NodeSpec {
    NodeSpec {
        node: Node::Hss,
        maker: Maker::Keytoll,
        holds_sas: false,
        inner: Vec::new(),
        datagrams: Vec::new(),
        streams: Some(diameter(vec![SocketAddr::new(sites.hss, sites.ports.diameter)])),
    }
}

/// Diameter over TCP.
pub(crate) fn diameter(listen: Vec<SocketAddr>) -> Streams {
    Streams { protocol: DIAMETER, length: keytoll_diameter::wire::message::length, listen }
}

/// Where an authenticator receives the answers of the AAA server, if its row has one.
pub(crate) fn client_sockets(row: &RowPlan, sites: &Sites) -> impl Iterator<Item = Addr> {
    let ports = row.method.eap().map(|_| eap::RADIUS_CLIENT_PORTS);
    ports.into_iter().flatten().map(|port| Addr::udp(sites.core, port))
}

/// The links of a row's back end, with this one-way delay between authenticator and AAA server.
pub(crate) fn links(
    row: &RowPlan,
    (authenticator, wire_delay): (Node, Duration),
    sites: &Sites,
) -> impl Iterator<Item = LinkSpec> {
    present(row).iter().map(move |&node| match node {
        Node::Hss => LinkSpec {
            ends: [End::ip(Node::Aaa, sites.aaa), End::ip(Node::Hss, sites.hss)],
            config: fault::hss_link(row, wire(row.topology.aaa_hss())),
            protocol: DIAMETER,
            prefix_bits: None,
        },
        _ => LinkSpec {
            ends: [End::ip(authenticator, sites.core), End::ip(Node::Aaa, sites.aaa)],
            config: fault::aaa_link(row, wire(wire_delay)),
            protocol: RADIUS,
            prefix_bits: None,
        },
    })
}

/// The secret shared by authenticator and AAA server.
pub(crate) fn shared_secrets(row: &RowPlan, authenticator: Node, seed: &Seed) -> Vec<SharedSecret> {
    let link = Link::between(authenticator, Node::Aaa);
    row.method.eap().map(|_| SharedSecret { link, secret: eap::secret(seed) }).into_iter().collect()
}

/// The secrets of a row's devices and back end.
#[derive(Debug)]
pub struct Secrets {
    /// Of the user with a password.
    pub password: Secret,
    /// The subscriber's key on the card.
    pub key: [u8; 16],
    /// The operator's code OPc of the subscriber.
    pub opc: [u8; 16],
    /// The secret of authenticator and AAA server.
    pub radius: Secret,
}

/// The laboratory's subscriber.
pub const IMSI: &str = eap::IMSI;

/// The same, read.
pub fn imsi() -> Imsi {
    eap::imsi()
}

/// The kind of card that an EAP method needs, if any.
pub fn card(method: &EapMethod) -> Option<Flavour> {
    eap::method(method).card
}

/// The authentication management field of its vectors.
pub const AMF: [u8; 2] = eap::AMF;

impl Secrets {
    /// The secrets of a row with this seed.
    pub fn of(seed: &Seed) -> Self {
        let [key, opc] = eap::subscriber_keys(seed);
        Self { password: eap::password_of(seed), key, opc, radius: eap::secret(seed) }
    }

    /// Each with its name.
    pub(crate) fn named(self) -> [(&'static str, Secret); 4] {
        let Self { password, key, opc, radius } = self;
        [
            ("password", password),
            ("Ki", Secret::from(&key[..])),
            ("OPc", Secret::from(&opc[..])),
            ("RADIUS secret", radius),
        ]
    }
}

/// Both ends of EAP in a row, and the hosts of one of them; empty for methods without EAP.
pub(crate) struct BackEnd {
    ends: Option<Ends>,
    memories: Memories,
    /// A card that is also used elsewhere between authentications.
    travelling_card: Option<SharedCard>,
}

impl BackEnd {
    /// That of a row.
    pub(crate) fn of(row: &RowPlan, credentials: &Credentials, seed: &Seed) -> Self {
        let ends = row.method.eap().map(|kind| fault::ends(row, kind, credentials, seed));
        Self {
            travelling_card: fault::travelling_card(row, ends.as_ref().and_then(|ends| ends.card.as_ref())),
            memories: ends.as_ref().map(Memories::of).unwrap_or_default(),
            ends,
        }
    }

    /// Both ends of EAP.
    pub(crate) const fn ends(&self) -> Option<&Ends> {
        self.ends.as_ref()
    }

    /// The host at a node.
    pub(crate) fn host(&mut self, node: Node, here: (&RowPlan, &Sites), seed: &Seed) -> Box<dyn Host> {
        let (row, sites) = here;
        let ends = self.ends.as_mut().expect("only methods with EAP have nodes behind the authenticator");
        match node {
            Node::Aaa => {
                let config = fault::aaa(row, eap::aaa(here, ends, seed));
                Box::new(Aaa::new(config, seed, "aaa"))
            }
            Node::Hss => {
                let subscribers = ends.subscribers.take().expect("only methods with a card have an HSS");
                Box::new(Hss::new(fault::hss(row, eap::hss(subscribers, sites), seed)))
            }
            other => panic!("there is no {} behind an authenticator", other.name()),
        }
    }

    /// Simulates the use of a card elsewhere before an authentication starts.
    pub(crate) fn before_authentication(&self) {
        self.travelling_card.iter().for_each(fault::travel);
    }

    /// Discards sessions that could be resumed.
    pub(crate) fn forget(&self) {
        self.memories.forget();
    }
}

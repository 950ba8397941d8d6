//! The rig of IKE: a device and a gateway, and with EAP an AAA server and perhaps an HSS behind the gateway.
//!
//! ```text
//!   UE --access network, topology's wire-- GW --wire, RADIUS-- AAA --wire, Diameter-- HSS
//! ```

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use keytoll_eap::simaka::peer::SharedCard;
use keytoll_engine::Seed;
use keytoll_engine::crypto::Secret;
use keytoll_engine::trace::{Link, Node, Protocol};
use keytoll_hosts::{Aaa, Host, Hss};
use keytoll_rig::{
    End, Goal, Layout, LinkSpec, NodeSpec, Placement, Prepared, Rig, Setup, SharedSecret, Streams, Users,
};
use keytoll_scenario::catalogue::Method;
use keytoll_scenario::plan::{Maker, Plan, RowPlan};

use crate::credentials::Credentials;
use crate::eap::{self, Ends, Memories};
use crate::sites::{self, Sites};
use crate::{build, fault};

/// How long the other side may take to answer a deletion: it has said it three times by then (4 s and 7.2 s apart).
const ANSWERED_MAX: Duration = Duration::from_secs(12);
/// The same where nobody answers (RFC 2408 §5.15): time for the deletion to get across the slowest of the networks.
const UNANSWERED_MAX: Duration = Duration::from_millis(500);

/// The rig of IKE.
pub(crate) struct IkeRig;

impl Rig for IkeRig {
    fn runs(&self, method: Method) -> bool {
        match method {
            Method::Ikev2Psk
            | Method::Ikev2Signature(_)
            | Method::Ikev2Eap(_)
            | Method::Ikev1Psk(_)
            | Method::Ikev1Rsa(_) => true,
        }
    }

    fn standard_ports(&self) -> &'static [u16] {
        &sites::STANDARD_PORTS
    }

    fn layout(&self, row: &RowPlan, placement: &Placement) -> Layout {
        let sites = Sites::of(row, placement);
        let is_answered = row.method.phase1().is_none();
        let here = (row, &sites);
        Layout {
            nodes: nodes(here),
            links: links(here),
            initiator: Node::Ue,
            goal: if row.options.childless { Goal::Sa } else { Goal::Echo },
            users: Users {
                nodes: [Node::Ue, Node::Gw],
                outer: [sites.ue, sites.gw],
                target: sites.target(row),
            },
            closing_max: if is_answered { ANSWERED_MAX } else { UNANSWERED_MAX },
        }
    }

    fn shared_secrets(&self, row: &RowPlan, seed: &Seed) -> Vec<SharedSecret> {
        let radius = || SharedSecret { link: Link(Node::Gw, Node::Aaa), secret: eap::secret(seed) };
        row.method.eap().map(|_| radius()).into_iter().collect()
    }

    fn secrets(&self, seed: &Seed) -> Vec<(&'static str, Secret)> {
        let [key, opc] = eap::subscriber_keys(seed);
        vec![
            ("shared key", build::row_secret(seed)),
            ("password", eap::password_of(seed)),
            ("Ki", Secret::from(&key[..])),
            ("OPc", Secret::from(&opc[..])),
            ("RADIUS secret", eap::secret(seed)),
        ]
    }

    fn prepare(&self, plan: &Plan) -> Box<dyn Prepared> {
        Box::new(Credentials::prepare(plan))
    }
}

/// Which nodes stand behind the gateway. Other makers' AAA servers bring their own vectors.
fn back_end(row: &RowPlan) -> &'static [Node] {
    let own = !row.options.makers.aaa.is_foreign();
    match (row.method.eap(), row.method.has_card() && own) {
        (None, _) => &[],
        (Some(_), false) => &[Node::Aaa],
        (Some(_), true) => &[Node::Aaa, Node::Hss],
    }
}

fn nodes((row, sites): (&RowPlan, &Sites)) -> Vec<NodeSpec> {
    let ike = |ip: IpAddr| [sites.ports.ike, sites.ports.nat].map(|port| SocketAddr::new(ip, port));
    let radius_ports = eap::RADIUS_CLIENT_PORTS.filter(|_| row.method.eap().is_some());
    let radius = radius_ports.map(|port| SocketAddr::new(sites.core, port));
    let makers = row.options.makers;
    let spec = |node, maker, inner, udp| NodeSpec {
        node,
        maker,
        holds_sas: true,
        inner: vec![inner],
        udp,
        streams: None,
    };
    let device = spec(Node::Ue, makers.ue, sites.brought, ike(sites.ue).to_vec());
    let gateway = spec(Node::Gw, makers.gw, sites.inner, ike(sites.gw).into_iter().chain(radius).collect());
    let behind = back_end(row).iter().map(|node| match node {
        Node::Hss => hss_node(sites),
        _ => aaa_node(makers.aaa, sites),
    });
    [device, gateway].into_iter().chain(behind).collect()
}

fn aaa_node(maker: Maker, sites: &Sites) -> NodeSpec {
    let udp = [sites.ports.radius, sites.ports.accounting];
    NodeSpec {
        node: Node::Aaa,
        maker,
        holds_sas: false,
        inner: Vec::new(),
        udp: udp.map(|port| SocketAddr::new(sites.aaa, port)).to_vec(),
        streams: Some(diameter(Vec::new())),
    }
}

fn hss_node(sites: &Sites) -> NodeSpec {
    NodeSpec {
        node: Node::Hss,
        maker: Maker::Keytoll,
        holds_sas: false,
        inner: Vec::new(),
        udp: Vec::new(),
        streams: Some(diameter(vec![SocketAddr::new(sites.hss, sites.ports.diameter)])),
    }
}

fn diameter(listen: Vec<SocketAddr>) -> Streams {
    Streams { protocol: Protocol::Diameter, length: keytoll_diameter::wire::message::length, listen }
}

fn links((row, sites): (&RowPlan, &Sites)) -> Vec<LinkSpec> {
    let access = LinkSpec {
        ends: [(Node::Ue, sites.ue), (Node::Gw, sites.gw)].map(end),
        config: fault::access_link(row, build::link(&row.network, row.topology.ue_gw())),
        protocol: Protocol::Ike,
        prefix_bits: Some(if sites.ue.is_ipv6() { 64 } else { 24 }),
    };
    let behind = back_end(row).iter().map(|node| match node {
        Node::Hss => LinkSpec {
            ends: [(Node::Aaa, sites.aaa), (Node::Hss, sites.hss)].map(end),
            config: fault::hss_link(row, build::wire(row.topology.aaa_hss())),
            protocol: Protocol::Diameter,
            prefix_bits: None,
        },
        _ => LinkSpec {
            ends: [(Node::Gw, sites.core), (Node::Aaa, sites.aaa)].map(end),
            config: fault::aaa_link(row, build::wire(row.topology.gw_aaa())),
            protocol: Protocol::Radius,
            prefix_bits: None,
        },
    });
    [access].into_iter().chain(behind).collect()
}

const fn end((node, address): (Node, IpAddr)) -> End {
    End { node, address }
}

impl Prepared for Credentials {
    fn set_up(&self, row: &RowPlan, placement: &Placement, seed: &Seed) -> Box<dyn Setup> {
        let ends = row.method.eap().map(|kind| fault::ends(row, kind, self, seed));
        Box::new(Built {
            row: row.clone(),
            sites: Sites::of(row, placement),
            seed: seed.clone(),
            credentials: self.clone(),
            travelling_card: fault::travelling_card(row, ends.as_ref()),
            memories: ends.as_ref().map(Memories::of).unwrap_or_default(),
            ends,
        })
    }
}

/// A row with both ends of EAP.
struct Built {
    row: RowPlan,
    sites: Sites,
    seed: Seed,
    credentials: Credentials,
    ends: Option<Ends>,
    memories: Memories,
    /// A card that is used elsewhere between authentications.
    travelling_card: Option<SharedCard>,
}

impl Built {
    fn ends(&mut self) -> &mut Ends {
        self.ends.as_mut().expect("only methods with EAP have such a node")
    }

    fn aaa(&mut self) -> Aaa {
        let (row, sites, seed) = (self.row.clone(), self.sites.clone(), self.seed.clone());
        let config = eap::aaa((&row, &sites), self.ends(), &seed);
        Aaa::new(fault::aaa(&row, config), &seed, "aaa")
    }

    fn hss(&mut self) -> Hss {
        let subscribers = self.ends().subscribers.take().expect("only methods with a card have an HSS");
        Hss::new(fault::hss(&self.row, eap::hss(subscribers, &self.sites), &self.seed))
    }
}

impl Setup for Built {
    fn host(&mut self, node: Node) -> Box<dyn Host> {
        let here = (&self.row, &self.sites);
        match node {
            Node::Ue => {
                let device = build::device(here, &self.credentials, self.ends.as_ref(), &self.seed);
                Box::new(device)
            }
            Node::Gw => Box::new(build::gateway(here, &self.credentials, &self.seed)),
            Node::Aaa => Box::new(self.aaa()),
            Node::Hss => Box::new(self.hss()),
            Node::Ap => panic!("IKE has no access point"),
        }
    }

    fn before_authentication(&self) {
        self.travelling_card.iter().for_each(fault::travel);
    }

    fn forget(&self) {
        self.memories.forget();
    }
}

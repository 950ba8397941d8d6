//! What both sides of an IKE SA shall agree on, and what strongSwan is told of it: one connection `c` with a child `net`
//! (and `host`, a part of it), the same on both sides but for their roles.

use std::fs;
use std::net::{IpAddr, Ipv4Addr};
use std::path::Path;

use keytoll_daemons::charon::{
    Addresses, Child, Config, Credential, IkeVersion, Kind, Own, Peer, Radius, Secret,
};

use crate::eap::{Login, PASSWORD, RADIUS_SECRET, USER, Version};
use crate::freeradius;
use crate::lab::{Node, POOL};
use crate::pki::Pki;
use crate::run::Trouble;

/// The shared key, unless a case wants a wrong one.
pub const SECRET: &str = "lab-shared-secret";

/// How both sides prove who they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Auth {
    /// The shared key.
    Psk,
    /// The node's certificate of a [`crate::Pki`].
    Certificate,
    /// The key of that certificate, which the other side has.
    RawKey,
    /// The device with EAP, to an AAA server behind the gateway; the gateway with its certificate.
    Eap(Login),
}

/// What the device is called inside the tunnel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Inner {
    /// An address the gateway assigns from its pool.
    Virtual,
    /// The network it brings along.
    Subnet,
}

/// What both sides shall agree on.
#[derive(Debug, Clone, Copy)]
pub struct Terms {
    /// Which IKE.
    pub version: IkeVersion,
    /// Who proves what how.
    pub auth: Auth,
    /// Who this side says it is, if not whom the other expects.
    pub own_id: Option<&'static str>,
    /// The shared key of both, whether it is used or not.
    pub secret: &'static str,
    /// IKE proposals in strongSwan's words.
    pub ike: &'static str,
    /// ESP proposals in strongSwan's words.
    pub esp: &'static str,
    /// The device's inner address.
    pub inner: Inner,
    /// Signatures by certificates in strongSwan's words; empty: whatever fits.
    pub signatures: &'static str,
    /// The signature that keytoll is to make; empty: what is usual.
    pub keytoll_signature: &'static str,
    /// Whether they meet on IPv6; inside it is always IPv4.
    pub ipv6: bool,
    /// More lines for strongSwan's connection.
    pub charon: &'static str,
    /// More lines for strongSwan's daemon.
    pub daemon: &'static str,
    /// More lines of keytoll's node file, before its tables.
    pub keytoll: &'static str,
}

impl Terms {
    /// A shared key and a virtual address.
    pub const fn psk(ike: &'static str, esp: &'static str) -> Self {
        Self {
            version: IkeVersion::V2,
            auth: Auth::Psk,
            own_id: None,
            secret: SECRET,
            ike,
            esp,
            inner: Inner::Virtual,
            signatures: "",
            keytoll_signature: "",
            ipv6: false,
            charon: "",
            daemon: "",
            keytoll: "",
        }
    }

    /// Certificates and a virtual address.
    pub const fn certificate(ike: &'static str, esp: &'static str) -> Self {
        Self { auth: Auth::Certificate, ..Self::psk(ike, esp) }
    }

    /// IKEv1, between networks: nobody asks for an address.
    pub const fn v1(version: IkeVersion, auth: Auth, ike: &'static str, esp: &'static str) -> Self {
        Self { version, auth, inner: Inner::Subnet, ..Self::psk(ike, esp) }
    }

    /// EAP, certificates of the servers, and a virtual address.
    pub const fn eap(login: Login) -> Self {
        Self { auth: Auth::Eap(login), ..Self::psk("aes128-sha256-x25519", "aes128gcm16") }
    }

    /// Where the node is on the cable.
    pub const fn outer(&self, node: Node) -> IpAddr {
        if self.ipv6 { IpAddr::V6(node.outer_v6()) } else { IpAddr::V4(node.outer()) }
    }

    /// What strongSwan is told on this node.
    pub fn charon(&self, node: Node, pki: Option<&Pki>) -> Result<Config, Trouble> {
        let peer = peer_of(node);
        let login = self.login();
        Ok(Config {
            version: self.version,
            local: self.outer(node),
            remote: (node == Node::Ue).then(|| self.outer(peer)),
            ike: self.ike.into(),
            esp: self.esp.into(),
            own: self.own_auth(node),
            own_id: self.own_id.unwrap_or(node.id()).into(),
            signatures: self.signatures,
            peer: self.peer_auth(node),
            peer_id: peer.id().into(),
            addresses: self.addresses(node),
            children: vec![
                child("net", self.selector(node), self.selector(peer)),
                child("host", self.host(node), self.host(peer)),
            ],
            secrets: self.secrets(node),
            files: pki.map_or(Ok(Vec::new()), |pki| self.files(node, pki))?,
            radius: login.filter(|login| login.server == Node::Aaa).map(|_| radius()),
            is_tls_1_3: login.is_some_and(|login| login.method.tls == Some(Version::Tls13)),
            more: self.charon.into(),
            daemon: format!("{}{}", self.daemon, self.eap_server(node)),
            logs: true,
        })
    }

    const fn login(&self) -> Option<Login> {
        match self.auth {
            Auth::Eap(login) => Some(login),
            Auth::Psk | Auth::Certificate | Auth::RawKey => None,
        }
    }

    fn own_auth(&self, node: Node) -> Own {
        let file = format!("{}.crt", node.name());
        match (self.auth, node) {
            (Auth::Psk, _) => Own::Psk,
            (Auth::RawKey, _) => Own::RawKey { file: public_key(node) },
            (Auth::Eap(login), Node::Ue) => Own::Eap {
                identity: USER.into(),
                server: login.server.id().into(),
                certificate: login.method.has_certificate().then_some(file),
            },
            _ => Own::Certificate { file },
        }
    }

    fn peer_auth(&self, node: Node) -> Peer {
        match (self.auth, node) {
            (Auth::Psk, _) => Peer::Psk,
            (Auth::RawKey, _) => Peer::RawKey { file: public_key(peer_of(node)) },
            (Auth::Eap(login), Node::Gw) if login.server == Node::Gw => Peer::Eap {
                method: freeradius::words(login.method).own.to_owned(),
                asks_identity: login.asks_identity,
            },
            (Auth::Eap(login), Node::Gw) => Peer::Radius { asks_identity: login.asks_identity },
            _ => Peer::Certificate,
        }
    }

    /// The method that a gateway's own EAP server proposes inside TTLS.
    fn eap_server(&self, node: Node) -> String {
        match self.login() {
            Some(login) if login.server == node && login.method.tls.is_some() => {
                let inside = freeradius::words(login.method).inside;
                format!("\n  plugins {{ eap-ttls {{ phase2_method = {inside} }} }}")
            }
            _ => String::new(),
        }
    }

    fn secrets(&self, node: Node) -> Vec<Secret> {
        let password = |login: Login| Secret::Password {
            identity: USER.into(),
            // Only the device's may be wrong.
            password: if node == Node::Ue { login.password } else { PASSWORD }.as_bytes().to_vec(),
        };
        let key = Secret::Psk(self.secret.as_bytes().to_vec());
        std::iter::once(key).chain(self.login().map(password)).collect()
    }

    fn addresses(&self, node: Node) -> Addresses {
        match (self.inner, node) {
            (Inner::Virtual, Node::Ue) => Addresses::Asks(IpAddr::V4(Ipv4Addr::UNSPECIFIED)),
            (Inner::Virtual, _) => Addresses::Gives(POOL.into()),
            (Inner::Subnet, _) => Addresses::Own,
        }
    }

    /// What the node shows and trusts.
    fn files(&self, node: Node, pki: &Pki) -> Result<Vec<Credential>, Trouble> {
        let name = node.name();
        let key = credential(Kind::Key, format!("{name}.key"), &pki.key(node))?;
        if self.auth == Auth::RawKey {
            let public = |node| credential(Kind::PublicKey, public_key(node), &pki.public_key(node));
            return Ok(vec![key, public(node)?, public(peer_of(node))?]);
        }
        let mut files = vec![
            credential(Kind::Authority, "root.crt".into(), &pki.root_certificate())?,
            credential(Kind::Certificate, format!("{name}.crt"), &pki.certificate(node))?,
            key,
        ];
        for (number, path) in pki.intermediate_certificates().iter().enumerate() {
            files.push(credential(Kind::Authority, format!("authority{number}.crt"), path)?);
        }
        Ok(files)
    }

    /// The child `host` is for one address of the gateway alone.
    const fn host(&self, node: Node) -> &'static str {
        match node {
            Node::Ue => self.selector(node),
            _ => "10.98.2.1/32",
        }
    }

    const fn selector(&self, node: Node) -> &'static str {
        match (self.inner, node) {
            // "dynamic" stands for the virtual address once there is one.
            (Inner::Virtual, Node::Ue) => "dynamic",
            _ => node.inner_net(),
        }
    }
}

fn child(name: &str, local: &str, remote: &str) -> Child {
    Child { name: name.into(), local: local.into(), remote: remote.into(), mode: "tunnel" }
}

fn radius() -> Radius {
    Radius { address: Node::Aaa.outer().into(), secret: RADIUS_SECRET.into(), accounting: false }
}

/// The other end of the IKE SA.
pub(crate) const fn peer_of(node: Node) -> Node {
    match node {
        Node::Ue => Node::Gw,
        Node::Gw | Node::Aaa => Node::Ue,
    }
}

/// The file of a node's public key.
fn public_key(node: Node) -> String {
    format!("{}.pub", node.name())
}

fn credential(kind: Kind, name: String, path: &Path) -> Result<Credential, Trouble> {
    let read = fs::read(path);
    let bytes = read.map_err(|source| Trouble::File { what: format!("read {}", path.display()), source })?;
    Ok(Credential { kind, name, bytes })
}

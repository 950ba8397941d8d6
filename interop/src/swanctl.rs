//! The configuration files strongSwan reads: `strongswan.conf` for the daemon, `swanctl.conf` for what it shall agree to.
//! One connection `c` with a child `net` (and `host`, a part of it), the same on both sides but for their roles.

use std::path::Path;

use crate::eap::{Login, Method, RADIUS_SECRET, USER, Version};
use crate::lab::{Node, POOL};

/// The shared key, unless a case wants a wrong one.
pub const SECRET: &str = "lab-shared-secret";

/// How both sides prove who they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Auth {
    /// The shared key.
    Psk,
    /// The node's certificate of a [`crate::Pki`].
    Certificate,
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
    /// Who proves what how.
    pub auth: Auth,
    /// The shared key of both, whether it is used or not.
    pub secret: &'static str,
    /// IKE proposals in strongSwan's words.
    pub ike: &'static str,
    /// ESP proposals in strongSwan's words.
    pub esp: &'static str,
    /// The device's inner address.
    pub inner: Inner,
    /// More lines for strongSwan's connection.
    pub charon: &'static str,
    /// More arguments for `keytoll-live-peer`, separated by blanks.
    pub keytoll: &'static str,
}

impl Terms {
    /// A shared key and a virtual address.
    pub const fn psk(ike: &'static str, esp: &'static str) -> Self {
        Self { auth: Auth::Psk, secret: SECRET, ike, esp, inner: Inner::Virtual, charon: "", keytoll: "" }
    }

    /// Certificates and a virtual address.
    pub const fn certificate(ike: &'static str, esp: &'static str) -> Self {
        Self { auth: Auth::Certificate, ..Self::psk(ike, esp) }
    }

    /// EAP, certificates of the servers, and a virtual address.
    pub const fn eap(login: Login) -> Self {
        Self { auth: Auth::Eap(login), ..Self::psk("aes128-sha256-x25519", "aes128gcm16") }
    }

    /// `swanctl.conf` for one side.
    pub fn swanctl_conf(&self, node: Node) -> String {
        let (peer, remote_addrs) = match node {
            Node::Ue => (Node::Gw, format!("remote_addrs = {}", Node::Gw.outer())),
            _ => (Node::Ue, String::new()),
        };
        format!(
            "connections {{ c {{
  version = 2
  local_addrs = {local}
  {remote_addrs}
  proposals = {ike}
  unique = never
  mobike = no
  {addresses}
  {more}
  local {{ {own_auth}
    id = {own_id} }}
  remote {{ auth = {auth}
    id = {peer_id} }}
  children {{ {net}
    {host} }} }} }}
pools {{ p {{ addrs = {POOL} }} }}
secrets {{ ike-1 {{ secret = \"{secret}\" }}
  {eap_secret} }}
",
            local = node.outer(),
            ike = self.ike,
            net = self.child("net", self.selector(node), self.selector(peer)),
            host = self.child("host", self.host(node), self.host(peer)),
            secret = self.secret,
            more = self.charon,
            addresses = self.addresses(node),
            own_auth = self.own_auth(node),
            auth = self.peer_auth(node),
            eap_secret = self.eap_secret(),
            own_id = node.id(),
            peer_id = peer.id(),
        )
    }

    fn child(&self, name: &str, local: &str, remote: &str) -> String {
        format!("{name} {{ local_ts = {local}\n remote_ts = {remote}\n esp_proposals = {} }}", self.esp)
    }

    fn own_auth(&self, node: Node) -> String {
        let certificate = format!("certs = {}.crt", node.name());
        match (self.auth, node) {
            (Auth::Psk, _) => "auth = psk".into(),
            (Auth::Eap(login), Node::Ue) => {
                let name = Node::Aaa.id();
                let own = if matches!(login.method, Method::Tls(_)) { &certificate } else { "" };
                format!("auth = eap\n    eap_id = {USER}\n    aaa_id = {name}\n    {own}")
            }
            _ => format!("auth = pubkey\n    {certificate}"),
        }
    }

    const fn peer_auth(&self, node: Node) -> &'static str {
        match (self.auth, node) {
            (Auth::Psk, _) => "psk",
            (Auth::Eap(login), Node::Gw) if login.asks_identity => "eap-radius\n    eap_id = %any",
            (Auth::Eap(_), Node::Gw) => "eap-radius",
            _ => "pubkey",
        }
    }

    fn eap_secret(&self) -> String {
        match self.auth {
            Auth::Eap(login) => format!("eap-1 {{ id = {USER}\n    secret = \"{}\" }}", login.password),
            _ => String::new(),
        }
    }

    const fn addresses(&self, node: Node) -> &'static str {
        match (self.inner, node) {
            (Inner::Virtual, Node::Ue) => "vips = 0.0.0.0",
            (Inner::Virtual, _) => "pools = p",
            (Inner::Subnet, _) => "",
        }
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

/// Plugins of Debian's packages that IKEv2 needs; an explicit list keeps the machine's own /etc/strongswan.d out.
/// `kernel-libipsec` stands before `kernel-netlink`: the first that can do a thing does it.
const PLUGINS: &str = "aesni aes sha2 sha1 md5 mgf1 random nonce x509 constraints pubkey pkcs1 pkcs8 pem openssl gmp \
    curve25519 chapoly xcbc cmac hmac kdf ctr ccm gcm drbg kernel-libipsec kernel-netlink socket-default vici";

/// Plugins that EAP needs as well: MSCHAPv2 wants MD4 and DES.
const EAP_PLUGINS: &str = "md4 des eap-identity eap-md5 eap-mschapv2 eap-gtc eap-tls eap-ttls eap-radius";

impl Terms {
    /// `strongswan.conf` for a daemon that keeps everything it writes in `dir`.
    pub fn strongswan_conf(&self, dir: &Path) -> String {
        let dir = dir.display();
        let eap_plugins = if matches!(self.auth, Auth::Eap(_)) { EAP_PLUGINS } else { "" };
        format!(
            "charon {{
  load_modular = no
  load = {PLUGINS} {eap_plugins}
  install_virtual_ip_on = lo
  {tls}
  syslog {{ daemon {{ default = -1 }}
    auth {{ default = -1 }} }}
  filelog {{ main {{ path = {dir}/charon.log
      append = no
      flush_line = yes
      default = 2
      net = 1
      job = 1 }} }}
  plugins {{ vici {{ socket = unix://{dir}/vici }}
    {radius} }}
}}
charon-systemd {{ journal {{ default = -1 }} }}
",
            tls = self.tls(),
            radius = self.radius(),
        )
    }

    fn tls(&self) -> &'static str {
        match self.auth {
            Auth::Eap(login) if login.method.tls() == Some(Version::Tls13) => "tls { version_max = 1.3 }",
            _ => "",
        }
    }

    fn radius(&self) -> String {
        match self.auth {
            Auth::Eap(_) => format!(
                "eap-radius {{ servers {{ aaa {{ address = {}\n secret = {RADIUS_SECRET} }} }} }}",
                Node::Aaa.outer()
            ),
            _ => String::new(),
        }
    }
}

//! The methods, one file each, and their list: the names of methods in scenarios and node files, and the constructors of
//! their two sides. A new method is a file and its lines here.

pub mod aka;
pub mod aka_prime;
pub mod gtc;
pub mod md5;
pub mod mschapv2;
mod parts;
pub mod peap;
pub mod sim;
pub mod tls;
pub mod ttls;

use std::fmt;
use std::sync::Arc;

pub use parts::{Lacks, PeerParts, ServerParts, TlsParts};

use crate::packet::MethodType;
use crate::server::ServerConfig;
use crate::simaka::flavour::Flavour;
use crate::{Limits, PeerOffer, ServerOffer};

/// Every method; the order has no meaning.
pub static METHODS: &[&Method] = &[
    &md5::METHOD,
    &mschapv2::METHOD,
    &gtc::METHOD,
    &sim::METHOD,
    &aka::METHOD,
    &aka_prime::METHOD,
    &tls::METHOD,
    &ttls::WITH_PAP,
    &ttls::WITH_MSCHAPV2,
    &ttls::WITH_EAP_MD5,
    &ttls::WITH_EAP_MSCHAPV2,
    &peap::WITH_MSCHAPV2,
    &peap::WITH_GTC,
];

/// The method with this name; `None` if there is no such method. There is no fallback.
pub fn named(name: &str) -> Option<&'static Method> {
    METHODS.iter().copied().find(|method| method.name == name)
}

/// The methods of a type: one, or those that differ in their inner method.
pub fn of_type(kind: MethodType) -> impl Iterator<Item = &'static Method> {
    METHODS.iter().copied().filter(move |method| method.kind == kind)
}

/// Makes a peer's side of a method.
type MakePeer = fn(&Method, &PeerParts) -> Result<Arc<dyn PeerOffer>, Lacks>;
/// Makes a server's side.
type MakeServer = fn(&ServerParts, &[&'static Method]) -> Result<Arc<dyn ServerOffer>, Lacks>;

/// A method, with its inner method if it has a tunnel.
pub struct Method {
    /// Its name in scenarios and node files.
    pub name: &'static str,
    /// Its type in packets.
    pub kind: MethodType,
    /// The name of its type in traces and captures.
    pub title: &'static str,
    /// Whether it uses TLS.
    pub has_tls: bool,
    /// How it uses the subscriber's card; `None` if it needs no card.
    pub card: Option<Flavour>,
    /// The EAP method inside its tunnel; `None` if there is no tunnel, or no EAP inside.
    pub inside: Option<&'static Self>,
    /// Makes the peer's side.
    pub(crate) peer: MakePeer,
    /// Makes the server's side, with the methods that it proposes inside its tunnel.
    pub(crate) server: MakeServer,
}

impl Method {
    /// The peer's side.
    ///
    /// # Errors
    /// A part is missing that the method needs.
    pub fn peer(&self, parts: &PeerParts) -> Result<Arc<dyn PeerOffer>, Lacks> {
        (self.peer)(self, parts)
    }

    /// Its name in captures: its own, or for methods with TLS, whose inner method is encrypted, that of the type.
    pub fn name_outside(&self) -> String {
        if self.has_tls { self.title.to_lowercase() } else { self.name.to_owned() }
    }
}

/// Names are unique.
impl PartialEq for Method {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for Method {}

impl fmt::Debug for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

/// One proposal of a server: a type, with all configured inner methods.
#[derive(Debug)]
pub struct Proposal {
    /// The first of the methods with this type.
    pub method: &'static Method,
    inside: Vec<&'static Method>,
}

impl Proposal {
    // RFC 3748 §2.1: a type that a peer has refused is not proposed again.
    /// The proposals of a server with these methods, in their order: each type once.
    pub fn all(methods: &[&'static Method]) -> Vec<Self> {
        let mut proposals: Vec<Self> = Vec::new();
        for &method in methods {
            match proposals.iter_mut().find(|earlier| earlier.method.kind == method.kind) {
                Some(earlier) => earlier.inside.extend(method.inside),
                None => proposals.push(Self { method, inside: method.inside.into_iter().collect() }),
            }
        }
        proposals
    }

    /// The server's side.
    ///
    /// # Errors
    /// A part is missing that the method, or an inner one, needs.
    pub fn server(&self, parts: &ServerParts) -> Result<Arc<dyn ServerOffer>, Lacks> {
        (self.method.server)(parts, &self.inside)
    }
}

/// The EAP server inside a tunnel, with these methods.
fn inside(methods: &[&'static Method], parts: &ServerParts) -> Result<Arc<ServerConfig>, Lacks> {
    let methods = methods.iter().map(|method| (method.server)(parts, &[])).collect::<Result<_, _>>()?;
    Ok(Arc::new(ServerConfig { methods, limits: Limits::default() }))
}

// RFC 9048 §4: a server announces in EAP-AKA that it prefers EAP-AKA′, so that a device that supports it detects a bidding-down
// attack.
/// Whether EAP-AKA′ precedes EAP-AKA in the order of preference.
pub fn prefers_prime(methods: &[&Method]) -> bool {
    let mut of_aka =
        methods.iter().filter(|method| [MethodType::AKA, MethodType::AKA_PRIME].contains(&method.kind));
    of_aka.next().is_some_and(|first| first.kind == MethodType::AKA_PRIME)
}

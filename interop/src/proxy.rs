//! RADIUS proxies between keytoll's gateway and an AAA server: a table of `RESULTS.md`. Read RFC 2865 §2.3, RFC 3579 §3.2,
//! RFC 5997 and RFC 6614 first.
//!
//! ```text
//!   gateway 10.99.2.2 ---- 10.99.2.3 proxy -- 127.0.0.1 AAA server
//! ```

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use keytoll_scenario::catalogue::eap::Foreign;

use crate::chain::{Outcome, Setting};
use crate::eap::{Binding, Method};
use crate::freeradius::FreeRadius;
use crate::freeradius_proxy::{Proxy, Rejects};
use crate::lab::{GW_TOWARDS_AAA, Lab, Node};
use crate::node_file;
use crate::peer::Peer;
use crate::pki::Pki;
use crate::radsecproxy::{Config, Leg, Radsecproxy};
use crate::run::Trouble;
use crate::swanctl::Terms;

/// The AAA server's address behind a proxy.
pub const BEHIND: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 1812);
/// Where the second of two proxies listens.
const BETWEEN: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 2083);

/// The proxies behind the gateway, and the AAA server behind them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Chain {
    /// radsecproxy, and keytoll.
    Radsecproxy,
    /// Two of it with TLS in between, and keytoll.
    RadsecproxyTls,
    /// FreeRADIUS, and keytoll.
    FreeRadius,
    /// radsecproxy, and FreeRADIUS.
    RadsecproxyFreeRadius,
}

impl Chain {
    /// All columns.
    pub const ALL: &[Self] =
        &[Self::Radsecproxy, Self::RadsecproxyTls, Self::FreeRadius, Self::RadsecproxyFreeRadius];

    /// The known outcome of a method.
    pub fn outcome(self, method: Method) -> Outcome {
        match (self, method.eap.freeradius, method.binding) {
            (Self::RadsecproxyFreeRadius, Foreign::Lacks(refusal), _) => Outcome::NotOffered(refusal.message),
            (Self::RadsecproxyFreeRadius, _, Some(Binding::Required)) => {
                Outcome::NotOffered("FreeRADIUS 3 does not do Cryptobinding")
            }
            _ => Outcome::Passed,
        }
    }

    /// Lets keytoll authenticate through it.
    ///
    /// # Errors
    /// When it does not succeed.
    pub fn authenticate(self, setting: &Setting<'_>) -> Result<(), Trouble> {
        let (lab, pki) = (setting.lab, setting.aaa);
        match self {
            Self::Radsecproxy => {
                let _aaa = server(setting)?;
                let proxy = radsecproxy(lab)?;
                setting.with_keytoll()?;
                expect_log(&proxy.log(), "Access-Accept for user")
            }
            Self::RadsecproxyTls => {
                let _aaa = server(setting)?;
                let (outer, inner) = radsecproxies(lab, pki)?;
                setting.with_keytoll()?;
                expect_log(&outer.log(), "Access-Accept for user")?;
                expect_log(&inner.log(), "Access-Accept for user")
            }
            Self::FreeRadius => {
                let _aaa = server(setting)?;
                let proxy = Proxy::start(lab, BEHIND, Rejects::Bare)?;
                setting.with_keytoll()?;
                expect_log(&proxy.log(), "Received Access-Accept")
            }
            Self::RadsecproxyFreeRadius => {
                let _aaa = FreeRadius::start_behind(lab, &setting.login, pki)?;
                let proxy = radsecproxy(lab)?;
                setting.with_keytoll()?;
                expect_log(&proxy.log(), "Access-Accept for user")
            }
        }
    }
}

/// keytoll's AAA server behind a proxy.
///
/// # Errors
/// When it does not start.
pub fn server(setting: &Setting<'_>) -> Result<Peer, Trouble> {
    let spot = setting.lab.spot(Node::Aaa).running("aaa", BEHIND.ip());
    let text = node_file::text(Node::Aaa, &BEHIND.ip(), &Terms::eap(setting.login), Some(setting.aaa));
    // Its client is the proxy.
    let text = text.replace(&format!("\"{GW_TOWARDS_AAA}\""), &format!("\"{}\"", BEHIND.ip()));
    Peer::of_file(&spot, setting.program, &text)
}

/// One radsecproxy over UDP on both sides.
///
/// # Errors
/// When it does not start.
pub fn radsecproxy(lab: &Lab) -> Result<Radsecproxy, Trouble> {
    Radsecproxy::start(
        lab,
        &Config {
            name: "proxy",
            listen: (entrance(), Leg::Udp),
            client: GW_TOWARDS_AAA.into(),
            server: (BEHIND, Leg::Udp),
        },
    )
}

/// Two of them with TLS in between; the first one is the gateway's server.
fn radsecproxies(lab: &Lab, pki: &Pki) -> Result<(Radsecproxy, Radsecproxy), Trouble> {
    let inner = Config {
        name: "inner-proxy",
        listen: (BETWEEN, Leg::Tls(pki)),
        client: BETWEEN.ip(),
        server: (BEHIND, Leg::Udp),
    };
    let inner = Radsecproxy::start(lab, &inner)?;
    let outer = Config {
        name: "proxy",
        listen: (entrance(), Leg::Udp),
        client: GW_TOWARDS_AAA.into(),
        server: (BETWEEN, Leg::Tls(pki)),
    };
    Ok((Radsecproxy::start(lab, &outer)?, inner))
}

/// The address that the gateway sends to.
fn entrance() -> SocketAddr {
    (Node::Aaa.outer(), 1812).into()
}

fn expect_log(log: &str, words: &str) -> Result<(), Trouble> {
    let is_there = log.contains(words);
    is_there.then_some(()).ok_or_else(|| Trouble::Failed {
        command: format!("look for {words:?} in the proxy's log"),
        output: log.to_owned(),
    })
}

impl fmt::Display for Chain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Radsecproxy => "radsecproxy → keytoll",
            Self::RadsecproxyTls => "radsecproxy → TLS → radsecproxy → keytoll",
            Self::FreeRadius => "FreeRADIUS as proxy → keytoll",
            Self::RadsecproxyFreeRadius => "radsecproxy → FreeRADIUS",
        })
    }
}

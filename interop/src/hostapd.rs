//! One hostapd as the AAA server of a lab, and behind it hlr_auc_gw, which knows the subscriber's key.

use std::ops::Deref;

use keytoll_daemons::aaa::Methods;
use keytoll_daemons::hostapd::{Config, Subscriber};

use crate::eap::{CARD_KEY, CARD_OPC, IMSI, Inside, Login, Method, PASSWORD};
use crate::freeradius::{client, tls};
use crate::lab::{Lab, Node};
use crate::pki::Pki;
use crate::run::Trouble;

/// Debian's.
pub const PACKAGED: &str = "/usr/sbin/hostapd";
/// Built from Debian's source; not packaged.
pub const SUBSCRIBERS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../target/wpa/hlr_auc_gw");

/// A running server.
#[derive(Debug)]
pub struct Hostapd(keytoll_daemons::Hostapd);

impl Hostapd {
    /// Starts both at the AAA server's address and waits until hostapd listens.
    pub fn start(lab: &Lab, login: &Login, pki: &Pki) -> Result<Self, Trouble> {
        Self::start_with(lab, login, pki, true)
    }

    /// The same, but it tells nothing, which is cheaper.
    pub fn start_quietly(lab: &Lab, login: &Login, pki: &Pki) -> Result<Self, Trouble> {
        Self::start_with(lab, login, pki, false)
    }

    fn start_with(lab: &Lab, login: &Login, pki: &Pki, logs: bool) -> Result<Self, Trouble> {
        let config = Config {
            port: 1812,
            client: client(),
            methods: methods(login),
            user: login.user(),
            password: PASSWORD.into(),
            subscriber: Some(subscriber()),
            has_pseudonyms: login.method.card().is_some(),
            tls: Some(tls(login, pki)),
            logs,
        };
        keytoll_daemons::Hostapd::start(&lab.place(Node::Aaa), &lab.dir(Node::Aaa), &config).map(Self)
    }
}

impl Deref for Hostapd {
    type Target = keytoll_daemons::Hostapd;

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

/// TS 33.402 §6.2: AKA′ wants the separation bit of the AMF; the sequence number is one never used.
fn subscriber() -> Subscriber {
    Subscriber { imsi: IMSI.into(), key: CARD_KEY, opc: CARD_OPC, amf: [0x80, 0], sqn: 0 }
}

fn methods(login: &Login) -> Methods {
    let inside = match login.method {
        Method::Ttls(inside, _) => inner_type(inside),
        Method::Peap(..) => "MSCHAPV2",
        _ => "TTLS-PAP",
    };
    Methods { proposed: eap_type(login.proposed), allowed: eap_type(login.method), inside }
}

/// Its names of methods.
const fn eap_type(method: Method) -> &'static str {
    match method {
        Method::Md5 => "MD5",
        Method::MschapV2 => "MSCHAPV2",
        Method::Gtc => "GTC",
        Method::Sim => "SIM",
        Method::Aka => "AKA",
        Method::AkaPrime => "AKA'",
        Method::Tls(_) => "TLS",
        Method::Ttls(..) => "TTLS",
        Method::Peap(..) => "PEAP",
    }
}

const fn inner_type(inside: Inside) -> &'static str {
    match inside {
        Inside::Pap => "TTLS-PAP",
        Inside::MschapV2 => "TTLS-MSCHAPV2",
        Inside::EapMd5 => "MD5",
        Inside::EapMschapV2 => "MSCHAPV2",
    }
}

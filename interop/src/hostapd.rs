//! One hostapd as the AAA server of a lab, and behind it hlr_auc_gw, which knows the subscriber's key.

use std::ops::Deref;

use keytoll_daemons::aaa::Methods;
use keytoll_daemons::hostapd::{Access, Config, Subscriber};
use keytoll_scenario::catalogue::eap::Words;

use crate::eap::{CARD_KEY, CARD_OPC, IMSI, Login, Method, PASSWORD};
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
        let access = Access::Radius { port: 1812, client: client() };
        let config = Config { logs, ..config(login, pki, access) };
        keytoll_daemons::Hostapd::start(&lab.place(Node::Aaa), &lab.dir(Node::Aaa), &config).map(Self)
    }

    /// Starts it as an authenticator on the cable between gateway and device, in the gateway's place.
    pub fn start_wired(
        lab: &Lab,
        login: &Login,
        pki: &Pki,
        wep_key_bytes: Option<u8>,
    ) -> Result<Self, Trouble> {
        let access = Access::Wired { interface: "eth0".into(), wep_key_bytes };
        let config = Config { subscriber: None, ..config(login, pki, access) };
        keytoll_daemons::Hostapd::start(&lab.place(Node::Gw), &lab.dir(Node::Gw), &config).map(Self)
    }
}

impl Deref for Hostapd {
    type Target = keytoll_daemons::Hostapd;

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

fn config(login: &Login, pki: &Pki, access: Access) -> Config {
    Config {
        access,
        methods: methods(login),
        user: login.user(),
        password: PASSWORD.into(),
        subscriber: Some(subscriber()),
        has_pseudonyms: login.method.card().is_some(),
        tls: Some(tls(login, pki)),
        logs: true,
    }
}

/// TS 33.402 §6.2: AKA′ wants the separation bit of the AMF; the sequence number is one never used.
fn subscriber() -> Subscriber {
    Subscriber { imsi: IMSI.into(), key: CARD_KEY, opc: CARD_OPC, amf: [0x80, 0], sqn: 0 }
}

fn methods(login: &Login) -> Methods {
    let words = |method: Method| method.eap.hostapd.words().expect("hostapd has every method");
    let Words { own: allowed, inside } = words(login.method);
    Methods { proposed: words(login.proposed).own, allowed, inside }
}

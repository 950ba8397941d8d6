//! One FreeRADIUS as the AAA server of a lab.

use std::ops::Deref;

use keytoll_crypto::Real;
use keytoll_daemons::aaa::{Client, Methods, Tls};
use keytoll_daemons::freeradius::{Config, Triplet, User};
use keytoll_eap::simaka::milenage::Milenage;
use keytoll_eap::simaka::vector;
use keytoll_scenario::catalogue::eap::{Proof, Words};

use crate::eap::{CARD_KEY, CARD_OPC, Login, Method, PASSWORD, RADIUS_SECRET, USER, Version};
use crate::lab::{GW_TOWARDS_AAA, Lab, Node};
use crate::pki::Pki;
use crate::proxy::BEHIND;
use crate::run::Trouble;

/// A running server.
#[derive(Debug)]
pub struct FreeRadius(keytoll_daemons::FreeRadius);

impl FreeRadius {
    /// Starts it at the AAA server's address, with every method it has and one version of TLS, and waits until it
    /// listens.
    pub fn start(lab: &Lab, login: &Login, pki: &Pki) -> Result<Self, Trouble> {
        let config = Config { logs: true, ..config(login, pki) };
        Self::run(lab, &config)
    }

    /// The same, but it tells nothing, which is cheaper.
    pub fn start_quietly(lab: &Lab, login: &Login, pki: &Pki) -> Result<Self, Trouble> {
        Self::run(lab, &config(login, pki))
    }

    /// The same as the first, but with TLS of one version around RADIUS: RFC 6614.
    pub fn start_in_tls(lab: &Lab, login: &Login, pki: &Pki, version: Version) -> Result<Self, Trouble> {
        let around = Tls { is_1_3: version == Version::Tls13, fragment_bytes: 8192, ..tls(login, pki) };
        let config = Config {
            listen: (Node::Aaa.outer(), 2083).into(),
            around: Some(around),
            client: Client { secret: "radsec".into(), ..client() },
            logs: true,
            ..config(login, pki)
        };
        Self::run(lab, &config)
    }

    /// The same as the first at another address, with a proxy there as its client.
    ///
    /// # Errors
    /// As [`Self::start`].
    pub fn start_behind(lab: &Lab, login: &Login, pki: &Pki) -> Result<Self, Trouble> {
        let client = Client { address: BEHIND.ip(), ..client() };
        Self::run(lab, &Config { listen: BEHIND, client, logs: true, ..config(login, pki) })
    }

    fn run(lab: &Lab, config: &Config) -> Result<Self, Trouble> {
        keytoll_daemons::FreeRadius::start(&lab.place(Node::Aaa), &lab.dir(Node::Aaa), config).map(Self)
    }
}

/// RADIUS over UDP, without a log.
fn config(login: &Login, pki: &Pki) -> Config {
    Config {
        listen: (Node::Aaa.outer(), 1812).into(),
        around: None,
        client: client(),
        methods: Methods {
            proposed: words(login.proposed).own,
            allowed: words(login.method).own,
            inside: words(login.method).inside,
        },
        tls: Some(tls(login, pki)),
        users: users(login),
        logs: false,
    }
}

impl Deref for FreeRadius {
    type Target = keytoll_daemons::FreeRadius;

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

/// The gateway, as every AAA server knows it.
pub(crate) fn client() -> Client {
    Client { address: GW_TOWARDS_AAA.into(), secret: RADIUS_SECRET.into() }
}

/// What every AAA server shows and trusts.
pub(crate) fn tls(login: &Login, pki: &Pki) -> Tls {
    Tls {
        certificate: pki.certificate(Node::Aaa),
        key: pki.key(Node::Aaa),
        root: pki.root_certificate(),
        is_1_3: login.method.tls == Some(Version::Tls13),
        fragment_bytes: 1024,
        resumption: login.resumption,
    }
}

fn users(login: &Login) -> Vec<User> {
    let known = User::Password { name: USER.into(), password: PASSWORD.into() };
    let subscriber = || User::Sim { name: login.user(), triplets: [1, 2, 3].map(triplet) };
    std::iter::once(known).chain((login.method.eap.proof == Proof::Sim).then(subscriber)).collect()
}

/// rlm_eap_sim knows no key, only three triplets of the subscriber's.
fn triplet(n: u8) -> Triplet {
    let card = Milenage::with_opc(&CARD_KEY.to_be_bytes(), &CARD_OPC.to_be_bytes());
    let vector::Triplet { rand, sres, kc } =
        vector::Triplet::from_milenage(&card, [n; 16], &mut Real::default());
    Triplet { rand, sres: sres.to_vec(), kc: kc.to_vec() }
}

/// Its name of a method, which is strongSwan's, too. Of a method that it lacks, MD5, which it then proposes.
pub(crate) fn words(method: Method) -> Words {
    method.eap.freeradius.words().unwrap_or(Words { own: "md5", inside: "md5" })
}

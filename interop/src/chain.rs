//! Who is in which place when a device authenticates with EAP, and what comes of it: the columns of `RESULTS.md`, each
//! cell proved by a test of its own.

use std::fmt;

use keytoll_scenario::catalogue::eap::Foreign;

use crate::charon::Charon;
use crate::eap::{Binding, Login, Method, Version};
use crate::eapol_test::Station;
use crate::freeradius::FreeRadius;
use crate::hostapd::Hostapd;
use crate::lab::{Lab, Node};
use crate::peer::Peer;
use crate::pki::{KeyKind, Pki};
use crate::run::Trouble;
use crate::swanctl::Terms;

/// Device, gateway and AAA server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Chain {
    /// keytoll, keytoll, FreeRADIUS.
    FreeRadius,
    /// keytoll, keytoll, hostapd.
    Hostapd,
    /// eapol_test is device and gateway in one, keytoll.
    EapolTest,
    /// strongSwan, keytoll, keytoll.
    CharonDevice,
    /// keytoll, strongSwan, keytoll.
    CharonGateway,
    /// keytoll, strongSwan, FreeRADIUS.
    CharonGatewayFreeRadius,
    /// strongSwan, keytoll, FreeRADIUS.
    CharonDeviceFreeRadius,
}

/// What comes of a method in a chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// The device is accepted, and packets pass.
    Passed,
    /// As that, but not with the program as it is packaged.
    PassedWith(&'static str),
    /// Tried in vain.
    Failed {
        /// What the foreign program has in its log then.
        words: &'static str,
        /// What that means.
        why: &'static str,
    },
    /// The foreign program has no such method, so there is nothing to try.
    NotOffered(&'static str),
}

impl Outcome {
    /// That what came of it is what was known.
    ///
    /// # Panics
    /// When it is not.
    pub fn check(self, tried: Result<(), Trouble>, lab: &Lab) {
        match (tried, self) {
            (Err(why), Self::Passed | Self::PassedWith(_)) => panic!("{why}\n{}", lab.last_words()),
            (Ok(()), Self::Failed { why, .. }) => {
                panic!("it works, although {why}: the table can tell better")
            }
            (Err(other), Self::Failed { words, .. }) => {
                let has_words = |node| lab.log(node).contains(words);
                assert!(
                    [Node::Ue, Node::Gw, Node::Aaa].map(has_words).contains(&true),
                    "no {words:?}: {other}"
                );
            }
            (Ok(()), _) | (_, Self::NotOffered(_)) => {}
        }
    }
}

/// What everybody in a chain is told.
#[derive(Debug)]
pub struct Setting<'a> {
    /// Where they are.
    pub lab: &'a Lab,
    /// The built `keytoll`.
    pub program: &'a str,
    /// What is agreed between device and AAA server.
    pub login: Login,
    /// What device and gateway show and trust.
    pub pki: &'a Pki,
    /// What the AAA server shows and trusts.
    pub aaa: &'a Pki,
}

impl Chain {
    /// All columns.
    pub const ALL: &[Self] = &[
        Self::FreeRadius,
        Self::Hostapd,
        Self::EapolTest,
        Self::CharonDevice,
        Self::CharonGateway,
        Self::CharonGatewayFreeRadius,
        Self::CharonDeviceFreeRadius,
    ];

    /// What is known to come of a method.
    pub fn outcome(self, method: Method) -> Outcome {
        match self {
            Self::FreeRadius | Self::CharonGatewayFreeRadius => with_freeradius(method),
            Self::CharonDevice | Self::CharonDeviceFreeRadius => with_charon_device(method),
            Self::Hostapd => with_hostapd(method),
            Self::EapolTest if method.card().is_some() => {
                Outcome::PassedWith("eapol_test of build-wpa.sh; Debian's own has no card simulators")
            }
            Self::EapolTest | Self::CharonGateway => Outcome::Passed,
        }
    }
}

fn with_freeradius(method: Method) -> Outcome {
    match (method.eap.freeradius, method.binding) {
        (Foreign::Lacks(refusal), _) => Outcome::NotOffered(refusal.message),
        (_, Some(Binding::Required)) => Outcome::NotOffered("FreeRADIUS 3 does not do Cryptobinding"),
        _ => Outcome::Passed,
    }
}

fn with_hostapd(method: Method) -> Outcome {
    match (method.binding, method.tls) {
        _ if method.card().is_some() => {
            Outcome::PassedWith("the vectors by hlr_auc_gw of build-wpa.sh, which Debian leaves out")
        }
        (Some(Binding::Optional | Binding::Required), Some(Version::Tls13)) => Outcome::Failed {
            words: "EAP-PEAP wrong cryptobinding",
            why: "hostapd 2.10 derives another tunnel key than RFC 9427 §2.4 wants",
        },
        _ => Outcome::Passed,
    }
}

fn with_charon_device(method: Method) -> Outcome {
    match (method.eap.strongswan, method.tls) {
        (Foreign::Lacks(refusal), _) => Outcome::NotOffered(refusal.message),
        (_, Some(Version::Tls13)) if method.has_certificate() => Outcome::Failed {
            words: "received critical signal",
            why: "strongSwan 5.9.8 crashes on the success indication of RFC 9190 §2.5",
        },
        (_, Some(Version::Tls13)) => Outcome::Failed {
            words: "AUTHENTICATION_FAILED",
            why: "strongSwan 5.9.8 derives other keys than RFC 9427 §2.1 wants",
        },
        _ => Outcome::Passed,
    }
}

impl Setting<'_> {
    /// Lets the device prove itself.
    pub fn authenticate(&self, chain: Chain) -> Result<(), Trouble> {
        match chain {
            Chain::FreeRadius => {
                let _aaa = self.freeradius()?;
                self.with_keytoll()
            }
            Chain::Hostapd => {
                let _aaa = Hostapd::start(self.lab, &self.login, self.aaa)?;
                Setting { login: self.login.nameless(), ..*self }.with_keytoll()
            }
            Chain::EapolTest => {
                let _aaa = self.keytoll(Node::Aaa)?;
                Station::new(self.login, self.pki).run(self.lab).map(drop)
            }
            Chain::CharonDevice => {
                let _aaa = self.keytoll(Node::Aaa)?;
                self.with_charon_device()
            }
            Chain::CharonGateway => {
                let _aaa = self.keytoll(Node::Aaa)?;
                self.with_charon_gateway()
            }
            Chain::CharonGatewayFreeRadius => {
                let _aaa = self.freeradius()?;
                self.with_charon_gateway()
            }
            Chain::CharonDeviceFreeRadius => {
                let _aaa = self.freeradius()?;
                self.with_charon_device()
            }
        }
    }

    /// Lets keytoll authenticate at keytoll's gateway; the AAA server runs already.
    ///
    /// # Errors
    /// When it does not succeed.
    pub fn with_keytoll(&self) -> Result<(), Trouble> {
        let mut gw = self.keytoll(Node::Gw)?;
        self.echo()?;
        gw.expect("established").map(drop)
    }

    pub(crate) fn with_charon_gateway(&self) -> Result<(), Trouble> {
        let gw = self.charon(Node::Gw)?;
        self.echo()?;
        gw.await_sas("one IKE SA", |sas| sas.len() == 1 && sas[0].state == "ESTABLISHED").map(drop)
    }

    fn with_charon_device(&self) -> Result<(), Trouble> {
        let mut gw = self.keytoll(Node::Gw)?;
        let ue = self.charon(Node::Ue)?;
        let initiated = ue.initiate();
        // Fails at once if strongSwan is no more.
        ue.list_sas()?;
        if let Err(why) = initiated {
            // Both sides must know that it came to nothing.
            gw.expect("failed")?;
            return Err(why);
        }
        gw.expect("established")?;
        self.lab.ping(Node::Ue, None, Node::Gw.inner(), 1).map(drop)
    }

    fn echo(&self) -> Result<(), Trouble> {
        let mut ue = self.keytoll(Node::Ue)?;
        ue.say("echo")?;
        ue.expect("established")?;
        ue.expect("echo-reply").map(drop)
    }

    /// Our host in this place.
    pub fn keytoll(&self, node: Node) -> Result<Peer, Trouble> {
        let pki = if node == Node::Aaa { self.aaa } else { self.pki };
        Peer::start(self.lab, node, self.program, &Terms::eap(self.login), Some(pki))
    }

    fn charon(&self, node: Node) -> Result<Charon, Trouble> {
        Charon::start(self.lab, node, &Terms::eap(self.login), Some(self.pki))
    }

    fn freeradius(&self) -> Result<FreeRadius, Trouble> {
        FreeRadius::start(self.lab, &self.login, self.aaa)
    }
}

/// RSA where both sides' certificates travel in EAP, and need fragments there; elsewhere what is quickly made.
pub fn key_kind(method: Method) -> KeyKind {
    if method.has_certificate() { KeyKind::Rsa2048 } else { KeyKind::EcdsaP256 }
}

impl fmt::Display for Chain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::FreeRadius => "keytoll → keytoll → FreeRADIUS",
            Self::Hostapd => "keytoll → keytoll → hostapd",
            Self::EapolTest => "eapol_test → keytoll",
            Self::CharonDevice => "strongSwan → keytoll → keytoll",
            Self::CharonGateway => "keytoll → strongSwan → keytoll",
            Self::CharonGatewayFreeRadius => "keytoll → strongSwan → FreeRADIUS",
            Self::CharonDeviceFreeRadius => "strongSwan → keytoll → FreeRADIUS",
        })
    }
}

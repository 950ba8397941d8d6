//! The EAP methods: what scenarios, node files and the configurations of foreign daemons have to know of each. How the two
//! sides of one are made stands in `keytoll_eap::methods`, under the same name; a method of this list that is not in that one
//! fails a test, and a name that is not in this list is refused wherever it is written.

use std::fmt;

/// An EAP method, with what goes on inside its tunnel if it has one.
pub struct EapMethod {
    /// What node files call it.
    pub name: &'static str,
    /// What scenarios call IKEv2 with it.
    pub method: &'static str,
    /// What people call it.
    pub title: &'static str,
    /// What else is to be said of it in a list; empty: nothing.
    pub remark: &'static str,
    /// The documents that specify it.
    pub source: &'static str,
    /// What proves the device.
    pub proof: Proof,
    /// Whether it sends the password itself and not in TLS: whoever carries EAP, RADIUS included, can read it.
    pub shows_password: bool,
    /// Whether TLS is part of it.
    pub has_tls: bool,
    /// Why it must not be the only proof that a device has of its gateway (RFC 5998 §4); none: it may.
    pub not_alone: Option<&'static str>,
    /// Whether a strongSwan device has it.
    pub strongswan: Foreign<()>,
    /// What FreeRADIUS calls it.
    pub freeradius: Foreign<Words>,
    /// What hostapd calls it.
    pub hostapd: Foreign<Words>,
}

/// What proves a device to an AAA server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Proof {
    /// A password.
    Password,
    /// A SIM: the AAA server needs triplets of the HSS.
    Sim,
    /// A USIM, which counts authentications: the AAA server needs quintuplets of the HSS.
    Usim,
    /// A certificate.
    Certificate,
}

/// Whether a foreign daemon has a method; if so, what it has to be told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Foreign<W> {
    /// It has.
    Has(W),
    /// It has, but not with TLS 1.3.
    UpToTls12(W, Refusal),
    /// It has not.
    Lacks(Refusal),
}

/// A method in the words of a foreign AAA server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Words {
    /// The method itself.
    pub own: &'static str,
    /// What is proposed inside its tunnel.
    pub inside: &'static str,
}

/// Why a foreign daemon is not to be had.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Refusal {
    /// Who cannot do what.
    pub message: &'static str,
    /// What to do instead.
    pub hint: &'static str,
}

impl<W: Copy> Foreign<W> {
    /// What the daemon has to be told; none if it has not got the method.
    pub const fn words(&self) -> Option<W> {
        match *self {
            Self::Has(words) | Self::UpToTls12(words, _) => Some(words),
            Self::Lacks(_) => None,
        }
    }

    /// Why the daemon is not to be had, with TLS 1.3 or an older version.
    pub const fn refusal(&self, is_tls_1_3: bool) -> Option<Refusal> {
        match *self {
            Self::UpToTls12(_, refusal) if is_tls_1_3 => Some(refusal),
            Self::Has(_) | Self::UpToTls12(..) => None,
            Self::Lacks(refusal) => Some(refusal),
        }
    }
}

/// What to do about a method that a foreign daemon has not got.
pub(crate) const OURS: &str = "leave it to keytoll, or choose another method";

const NO_CARD: Foreign<()> = lacks("a strongSwan device as Debian builds it has no card to ask", OURS);
const NO_PEAP: Foreign<()> = lacks("Debian builds strongSwan without PEAP", OURS);
const NO_ATTRIBUTES: Foreign<()> = lacks("strongSwan does nothing but EAP inside TTLS", OURS);
const NO_TLS_1_3: Foreign<()> = Foreign::UpToTls12(
    (),
    Refusal { message: "strongSwan 5.9.8 does not get through TLS 1.3 inside EAP", hint: "`tls = \"1.2\"`" },
);
const NO_AKA: Foreign<Words> = lacks("FreeRADIUS 3 has neither EAP-AKA nor EAP-AKA'", "`aaa = \"hostapd\"`");
const OTHER_BINDING: Refusal = Refusal {
    message: "hostapd 2.10 binds PEAP to another key than RFC 9427 wants with TLS 1.3",
    hint: "`tls = \"1.2\"`",
};

const fn lacks<W>(message: &'static str, hint: &'static str) -> Foreign<W> {
    Foreign::Lacks(Refusal { message, hint })
}

const fn has(own: &'static str, inside: &'static str) -> Foreign<Words> {
    Foreign::Has(Words { own, inside })
}

/// Names an entry, in node files and behind IKEv2.
macro_rules! named {
    ($name:literal, $title:literal, $source:literal; $($rest:tt)*) => {
        EapMethod {
            name: $name,
            method: concat!("ikev2-eap-", $name),
            title: $title,
            source: $source,
            $($rest)*
        }
    };
}

/// A password that the gateway hears of.
const OPEN: EapMethod = EapMethod {
    name: "",
    method: "",
    title: "",
    remark: "",
    source: "",
    proof: Proof::Password,
    shows_password: false,
    has_tls: false,
    not_alone: None,
    strongswan: Foreign::Has(()),
    freeradius: has("md5", "md5"),
    hostapd: has("MD5", "MD5"),
};
const CARD: EapMethod = EapMethod { proof: Proof::Usim, strongswan: NO_CARD, freeradius: NO_AKA, ..OPEN };
/// A password inside TLS.
const TUNNEL: EapMethod =
    EapMethod { has_tls: true, remark: "RSA 2048 bits", strongswan: NO_TLS_1_3, ..OPEN };

/// Every EAP method, in the order of the catalogue.
pub static EAP_METHODS: &[EapMethod] = &[
    named! {"md5", "EAP-MD5", "RFC 3748 §5.4";
        not_alone: Some("EAP-MD5 makes no key by which the gateway could prove itself"),
        ..OPEN
    },
    named! {"mschapv2", "EAP-MSCHAPv2", "RFC 2759";
        not_alone: Some("EAP-MSCHAPv2 tells a gateway that proved nothing enough to try passwords"),
        freeradius: has("mschapv2", "md5"),
        hostapd: has("MSCHAPV2", "MD5"),
        ..OPEN
    },
    named! {"gtc", "EAP-GTC", "RFC 3748 §5.6";
        shows_password: true,
        not_alone: Some("EAP-GTC shows the password itself to a gateway that proved nothing"),
        freeradius: has("gtc", "md5"),
        hostapd: has("GTC", "MD5"),
        ..OPEN
    },
    named! {"sim", "EAP-SIM", "RFC 4186";
        remark: "three triplets",
        proof: Proof::Sim,
        freeradius: has("sim", "md5"),
        hostapd: has("SIM", "MD5"),
        ..CARD
    },
    named! {"aka", "EAP-AKA", "RFC 4187"; hostapd: has("AKA", "MD5"), ..CARD },
    named! {"aka-prime", "EAP-AKA'", "RFC 9048"; hostapd: has("AKA'", "MD5"), ..CARD },
    named! {"tls", "EAP-TLS", "RFC 5216, RFC 9190";
        proof: Proof::Certificate,
        freeradius: has("tls", "md5"),
        hostapd: has("TLS", "MD5"),
        ..TUNNEL
    },
    named! {"ttls-pap", "EAP-TTLS with PAP", "RFC 5281";
        strongswan: NO_ATTRIBUTES,
        freeradius: has("ttls", "md5"),
        hostapd: has("TTLS", "TTLS-PAP"),
        ..TUNNEL
    },
    named! {"ttls-mschapv2", "EAP-TTLS with MS-CHAP-V2", "RFC 5281";
        strongswan: NO_ATTRIBUTES,
        freeradius: has("ttls", "md5"),
        hostapd: has("TTLS", "TTLS-MSCHAPV2"),
        ..TUNNEL
    },
    named! {"ttls-md5", "EAP-TTLS with MD5", "RFC 5281";
        freeradius: has("ttls", "md5"),
        hostapd: has("TTLS", "MD5"),
        ..TUNNEL
    },
    named! {"ttls-eap-mschapv2", "EAP-TTLS with EAP-MSCHAPv2", "RFC 5281";
        freeradius: has("ttls", "mschapv2"),
        hostapd: has("TTLS", "MSCHAPV2"),
        ..TUNNEL
    },
    named! {"peap-mschapv2", "PEAP with MSCHAPv2", "[MS-PEAP]";
        strongswan: NO_PEAP,
        freeradius: has("peap", "mschapv2"),
        hostapd: Foreign::UpToTls12(Words { own: "PEAP", inside: "MSCHAPV2" }, OTHER_BINDING),
        ..TUNNEL
    },
    named! {"peap-gtc", "PEAP with GTC", "[MS-PEAP], RFC 3748 §5.6";
        strongswan: NO_PEAP,
        freeradius: has("peap", "gtc"),
        hostapd: Foreign::UpToTls12(Words { own: "PEAP", inside: "GTC" }, OTHER_BINDING),
        ..TUNNEL
    },
];

impl EapMethod {
    /// The one that node files call so.
    pub fn named(name: &str) -> Option<&'static Self> {
        EAP_METHODS.iter().find(|method| method.name == name)
    }

    /// Whether a card proves the subscriber, so that the HSS is asked for vectors.
    pub const fn has_card(&self) -> bool {
        matches!(self.proof, Proof::Sim | Proof::Usim)
    }

    /// Whether a password proves the user.
    pub const fn has_password(&self) -> bool {
        matches!(self.proof, Proof::Password)
    }

    // RFC 5998 §4: mutual authentication, keys, and nothing to guess a password by.
    /// Whether it is safe where nothing but itself proves who the other side is.
    pub const fn proves_server(&self) -> bool {
        self.not_alone.is_none()
    }
}

/// Names are unique.
impl PartialEq for EapMethod {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for EapMethod {}

impl fmt::Debug for EapMethod {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_method_has_a_name_of_its_own() {
        for method in EAP_METHODS {
            assert_eq!(EapMethod::named(method.name), Some(method));
            assert_eq!(method.method.strip_prefix("ikev2-eap-"), Some(method.name));
            assert_eq!(EAP_METHODS.iter().filter(|other| *other == method).count(), 1, "{method:?}");
        }
    }

    #[test]
    fn a_method_that_must_not_stand_alone_says_so_itself() {
        for method in EAP_METHODS.iter().filter(|method| !method.proves_server()) {
            assert!(method.has_password() && !method.has_tls, "{method:?}");
            assert!(method.not_alone.is_some_and(|why| why.starts_with(method.title)), "{method:?}");
        }
    }
}

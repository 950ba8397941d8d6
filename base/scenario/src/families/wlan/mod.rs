//! The family of wireless LANs: their methods, each an entry. Read IEEE Std 802.11-2020 §12.2 and §12.6.1 first.

mod check;
mod options;
mod population;

use std::sync::LazyLock;

use keytoll_crypto_api::algorithm::Standing;
use keytoll_engine::trace::Node;

use super::{Family, Occasion};
use crate::catalogue::eap::Proof;
use crate::catalogue::facet::{
    CARD, CERTIFICATES, EAP, EAP_CARD, Facet, PASSWORD, SERVER_CERTIFICATE, SHARED_KEY, SIM, TLS, USIM,
};
use crate::catalogue::{EAP_METHODS, EapMethod, Method};
use crate::plan::RowPlan;
pub use options::{EapServer, KeyHash, Options, Pairwise, Protection, Roaming, Rrkm, Wep};

/// IEEE 802.11 and IEEE 802.1X.
pub static FAMILY: Family = Family {
    name: "wlan",
    is_example: false,
    methods: || &METHODS,
    settings: options::SETTINGS,
    check: check::check,
    foreign_limits: &[],
    profile_suites: |_| &[],
    key_kind: |_, _| None,
    groups: |_, _| &[],
    advice: |_| None,
    asks_for: |_| None,
    cookies_from: |_| None,
    without,
    simulated_only: |row| Some(row.method.name),
    populates: population::check,
    occasions: &[Occasion {
        key: "group_rekey",
        after: |row| row.options.wlan.group_rekey,
        is_of_devices: false,
    }],
    unmixed: Some("a network has one way to admit its stations"),
};

/// Nobody is asked by an access point that has the EAP server inside.
fn without(row: &RowPlan) -> &'static [Node] {
    match row.options.wlan.eap_server {
        EapServer::Radius => &[],
        EapServer::AccessPoint => &[Node::Aaa, Node::Hss],
    }
}

/// What wireless LANs know of a method besides what every family does: how stations are admitted, and what protects their
/// frames.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Admission {
    /// Everybody, and nothing is protected.
    Open,
    /// Shared key authentication, and WEP with the same key.
    SharedKey,
    /// Round-Robin Key Management, with WEP.
    Rrkm,
    /// 802.1X, which gives out keys for WEP.
    DynamicWep,
    /// WPA2 with a key of a passphrase.
    Wpa2Psk,
    /// WPA2 with keys of EAP.
    Wpa2Eap,
    /// WPA3 with SAE.
    Wpa3Sae,
    /// WPA3 with keys of EAP.
    Wpa3Eap,
}

/// Every method of wireless LANs.
static WLAN: Facet = Facet { whom: "wireless LANs", noun: "a wireless LAN" };
/// Frames are protected by WEP.
static WEP: Facet = Facet { whom: "wireless LANs with WEP", noun: "WEP" };
static RRKM: Facet = Facet { whom: "RRKM", noun: "RRKM" };
/// Keys come of a 4-way handshake.
static RSN: Facet = Facet { whom: "WPA2 and WPA3", noun: "WPA2 or WPA3" };
static WPA2: Facet = Facet { whom: "WPA2", noun: "WPA2" };
/// EAP is carried in frames of a wireless LAN.
static EAPOL: Facet = Facet { whom: "wireless LANs with 802.1X", noun: "802.1X" };

static METHODS: LazyLock<Vec<Method>> = LazyLock::new(|| {
    let mut methods = vec![open(), shared_key(), rrkm(), dynamic_wep()];
    methods.extend([wpa2_psk(), wpa3_sae()]);
    // RFC 4017 §2.2: mutual authentication, keys, and nothing to guess a password by.
    let fit = || EAP_METHODS.iter().filter(|eap| eap.proves_server());
    methods.extend(fit().map(|eap| rsn_with(eap, "wpa2", &Admission::Wpa2Eap)));
    methods.extend(fit().map(|eap| rsn_with(eap, "wpa3", &Admission::Wpa3Eap)));
    methods
});

fn open() -> Method {
    Method {
        name: "wlan-open",
        summary: "802.11, open system authentication, no protection".to_owned(),
        source: "IEEE 802.11-2020 §12.3.3.2".to_owned(),
        family: &FAMILY,
        nodes: &[Node::Ue, Node::Ap],
        facets: vec![&WLAN],
        eap: None,
        key: None,
        suite: None,
        standing: Standing::Broken,
        own: &Admission::Open,
    }
}

// Fluhrer, Mantin, Shamir, SAC 2001: the key follows from frames.
fn shared_key() -> Method {
    Method {
        name: "wep-shared-key",
        summary: "802.11, shared key authentication, WEP".to_owned(),
        source: "IEEE 802.11-2020 §12.3.3.3".to_owned(),
        facets: vec![&WLAN, &SHARED_KEY, &WEP],
        own: &Admission::SharedKey,
        ..open()
    }
}

fn rrkm() -> Method {
    Method {
        name: "rrkm",
        summary: "802.11 with Round-Robin Key Management, WEP; a reconstruction: no text of it is published"
            .to_owned(),
        source: "the RRKM thesis (`keytoll list papers`)".to_owned(),
        facets: vec![&WLAN, &SHARED_KEY, &WEP, &RRKM],
        own: &Admission::Rrkm,
        ..open()
    }
}

fn dynamic_wep() -> Method {
    let tls = EapMethod::named("tls").expect("a test looks for it");
    Method {
        name: "dot1x-eap-tls",
        summary: "802.1X, EAP-TLS over RADIUS, RSA 2048 bits, keys for WEP".to_owned(),
        source: "IEEE 802.1X-2004 §8.4.9, RFC 5216".to_owned(),
        facets: [&[&WEP][..], &facets(tls)].concat(),
        standing: Standing::Broken,
        own: &Admission::DynamicWep,
        ..with_eap(tls)
    }
}

fn wpa2_psk() -> Method {
    Method {
        name: "wpa2-psk",
        summary: "WPA2-Personal, shared passphrase, 4-way handshake".to_owned(),
        source: "IEEE 802.11-2020 §12.7.1.2, §12.7.6".to_owned(),
        facets: vec![&WLAN, &SHARED_KEY, &RSN, &WPA2],
        standing: Standing::Good,
        own: &Admission::Wpa2Psk,
        ..open()
    }
}

fn wpa3_sae() -> Method {
    Method {
        name: "wpa3-sae",
        summary: "WPA3-Personal, SAE with P-256, 4-way handshake".to_owned(),
        source: "IEEE 802.11-2020 §12.4, §12.7.6".to_owned(),
        facets: vec![&WLAN, &SHARED_KEY, &RSN],
        own: &Admission::Wpa3Sae,
        ..wpa2_psk()
    }
}

/// WPA2 or WPA3 with keys of an EAP method.
fn rsn_with(eap: &'static EapMethod, generation: &str, own: &'static Admission) -> Method {
    let of_generation: &[&Facet] = if *own == Admission::Wpa2Eap { &[&RSN, &WPA2] } else { &[&RSN] };
    let title = if *own == Admission::Wpa2Eap { "WPA2-Enterprise" } else { "WPA3-Enterprise" };
    let remark = if eap.remark.is_empty() { String::new() } else { format!(", {}", eap.remark) };
    Method {
        // Once for each entry of a list that lives as long as the program.
        name: format!("{generation}-eap-{}", eap.name).leak(),
        summary: format!("{title}, {} over RADIUS{remark}, 4-way handshake", eap.title),
        source: format!("IEEE 802.11-2020 §12.7.6, {}", eap.source),
        facets: [&facets(eap)[..], of_generation].concat(),
        own,
        ..with_eap(eap)
    }
}

fn with_eap(eap: &'static EapMethod) -> Method {
    Method {
        nodes: match eap.has_card() {
            true => &[Node::Ue, Node::Ap, Node::Aaa, Node::Hss],
            false => &[Node::Ue, Node::Ap, Node::Aaa],
        },
        eap: Some(eap),
        standing: Standing::Good,
        ..open()
    }
}

fn facets(eap: &EapMethod) -> Vec<&'static Facet> {
    let of_tls: &[&'static Facet] =
        if eap.has_tls { &[&CERTIFICATES, &SERVER_CERTIFICATE, &TLS] } else { &[] };
    let of_proof: &[&'static Facet] = match eap.proof {
        Proof::Password => &[&PASSWORD],
        Proof::Sim => &[&CARD, &EAP_CARD, &SIM],
        Proof::Usim => &[&CARD, &EAP_CARD, &USIM],
        Proof::Certificate => &[],
    };
    [&[&WLAN, &EAP, &EAPOL][..], of_tls, of_proof].concat()
}

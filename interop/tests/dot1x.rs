//! 802.1X on a cable, with Debian's hostapd and wpa_supplicant at the other end: EAP-MD5, EAP-TLS and PEAP in both roles, a wrong
//! password, and the keys of dynamic WEP. Read IEEE 802.1X-2020 §8 and §11 first.

use std::time::Duration;

use keytoll_daemons::WpaSupplicant;
use keytoll_interop::dot1x::{Event, authenticator, supplicant};
use keytoll_interop::eap::{Binding, Login, Method, Version};
use keytoll_interop::eapol_test::Station;
use keytoll_interop::hostapd::Hostapd;
use keytoll_interop::run::wait_for;
use keytoll_interop::{KeyKind, Lab, Node, Pki, Trouble, lab_or_skip};
use keytoll_wlan::Cipher;
use keytoll_wlan::dot1x::{WepConfig, WepKey};

fn methods() -> [Method; 5] {
    [
        Method::plain("md5"),
        Method::over(Version::Tls12, "tls"),
        Method::over(Version::Tls13, "tls"),
        Method::bound(Binding::Optional, Version::Tls12, "peap-mschapv2"),
        // With TLS 1.3 hostapd 2.10 has a Cryptobinding key of its own mind (eap_endings.rs).
        Method::bound(Binding::Off, Version::Tls13, "peap-mschapv2"),
    ]
}

/// Runs what may fail in a lab with certificates, if there is one.
fn tried(what: &str, test: impl FnOnce(&Lab, &Pki) -> Result<(), Trouble>) {
    let Some(lab) = lab_or_skip() else { return };
    let pki = Pki::make(lab.shared_dir(), KeyKind::EcdsaP256).unwrap_or_else(|why| panic!("{why}"));
    test(&lab, &pki).unwrap_or_else(|why| panic!("{what}: {why}\n{}", lab.last_words()));
}

/// Waits until a daemon has said this.
fn says(log: impl Fn() -> String, words: &str) -> Result<(), Trouble> {
    let limit = Duration::from_secs(20);
    wait_for(words, limit, || log().contains(words).then_some(()), || words.to_owned())
}

#[test]
fn hostapd_authorizes_our_supplicant() {
    for method in methods() {
        tried(&method.to_string(), |lab, pki| {
            let login = Login::new(method);
            let hostapd = Hostapd::start_wired(lab, &login, pki, None)?;
            let events = supplicant(lab, &login, pki, 1);
            assert_eq!(events, [Event::Authorized { has_keys: method.makes_key() }], "{method}");
            says(|| hostapd.log(), "IEEE 802.1X: authorizing port")
        });
    }
}

#[test]
fn our_authenticator_authorizes_wpa_supplicant() {
    for method in methods() {
        tried(&method.to_string(), |lab, pki| {
            let login = Login::new(method);
            let (events, said) = authenticator(lab, &login, pki, None, 1, || {
                let station = start(lab, &login, pki, 0)?;
                says(|| station.log(), "CTRL-EVENT-EAP-SUCCESS")
            });
            assert_eq!(events, [Event::Authorized { has_keys: method.makes_key() }], "{method}");
            said
        });
    }
}

#[test]
fn a_wrong_password_is_refused_on_both_sides() {
    for method in [methods()[0], methods()[3]] {
        let login = Login { password: "another password", ..Login::new(method) };
        tried(&method.to_string(), |lab, pki| {
            let hostapd = Hostapd::start_wired(lab, &login, pki, None)?;
            let events = supplicant(lab, &login, pki, 1);
            assert!(matches!(&events[..], [Event::Refused(_)]), "{method}: {events:?}");
            says(|| hostapd.log(), "CTRL-EVENT-EAP-FAILURE")
        });
        tried(&method.to_string(), |lab, pki| {
            let (events, said) = authenticator(lab, &login, pki, None, 1, || {
                let station = start(lab, &login, pki, 0)?;
                says(|| station.log(), "CTRL-EVENT-EAP-FAILURE")
            });
            assert_eq!(events, [Event::Refused("EAP failed".to_owned())], "{method}");
            said
        });
    }
}

/// hostapd sends the group's key and the station's own; ours has both.
#[test]
fn our_supplicant_takes_hostapds_wep_keys() {
    for bytes in [5, 13] {
        tried("WEP", |lab, pki| {
            let login = Login::new(Method::over(Version::Tls12, "tls"));
            let _hostapd = Hostapd::start_wired(lab, &login, pki, Some(bytes))?;
            let events = supplicant(lab, &login, pki, 3);
            let [Event::Authorized { has_keys: true }, Event::Key(group), Event::Key(own)] = &events[..]
            else {
                panic!("{events:?}")
            };
            let is_of = |key: &WepKey, unicast| key.unicast == unicast && key.key.len() == usize::from(bytes);
            assert!(is_of(group, false) && is_of(own, true), "{events:?}");
            Ok(())
        });
    }
}

/// wpa_supplicant has no driver for WEP on a cable, but verifies and decrypts what we send.
#[test]
fn wpa_supplicant_takes_our_wep_keys() {
    for cipher in [Cipher::Wep40, Cipher::Wep104] {
        tried("WEP", |lab, pki| {
            let login = Login::new(Method::over(Version::Tls12, "tls"));
            let wep = WepConfig { cipher, change_after: None };
            let (events, said) = authenticator(lab, &login, pki, Some(wep), 2, || {
                let station = start(lab, &login, pki, 3)?;
                says(
                    || station.log(),
                    &format!("Setting dynamic WEP key: broadcast keyidx 1 len {}", cipher.key_len()),
                )?;
                says(
                    || station.log(),
                    &format!("Setting dynamic WEP key: unicast keyidx 0 len {}", cipher.key_len()),
                )?;
                assert!(!station.log().contains("Invalid EAPOL-Key signature"));
                Ok(())
            });
            assert!(matches!(&events[..], [Event::Authorized { .. }, Event::Key(_)]), "{events:?}");
            said
        });
    }
}

/// wpa_supplicant in the device's place; the flags say which WEP keys it requires, 1 for its own and 2 for the group's.
fn start(lab: &Lab, login: &Login, pki: &Pki, eapol_flags: u8) -> Result<WpaSupplicant, Trouble> {
    let network = Station::new(*login, pki).network();
    let network = network.replace("eapol_flags=0", &format!("eapol_flags={eapol_flags}"));
    WpaSupplicant::start(&lab.place(Node::Ue), &lab.dir(Node::Ue), "eth0", &network)
}

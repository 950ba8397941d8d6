//! A device that authenticates a second time, and quickly: it continues a conversation of TLS, or its card
//! has an identity for a fast re-authentication. Read RFC 5216 §2.1.2, RFC 9190 §2.1.3, RFC 9427 §4 and RFC 4187 §5
//! first.

use keytoll_interop::chain::Setting;
use keytoll_interop::eap::{Binding, Login, Method, Version};
use keytoll_interop::eapol_test::Station;
use keytoll_interop::freeradius::FreeRadius;
use keytoll_interop::hostapd::Hostapd;
use keytoll_interop::{KeyKind, Lab, Node, Pki, Trouble, lab_or_skip};

const PROGRAM: &str = env!("CARGO_BIN_EXE_keytoll-under-test");

/// What FreeRADIUS says when it has accepted a device that continues a conversation.
const FREERADIUS_RESUMED: &str = "&request:EAP-Session-Resumed := 1";
/// What hostapd and eapol_test say after a handshake that continues a conversation.
const OPENSSL_RESUMED: &str = "OpenSSL: Handshake finished - resumed=1";

/// Starts a foreign AAA server.
type Start<S> = fn(&Lab, &Login, &Pki) -> Result<S, Trouble>;

fn continuing(method: Method) -> Login {
    Login { resumption: true, ..Login::new(method) }
}

/// Our device comes to our gateway; the server behind it says `words` when the device is back.
fn comes_back<S>(start: Start<S>, login: Login, words: &str) {
    let Some(lab) = lab_or_skip() else { return };
    come_back(&lab, start, login).unwrap_or_else(|why| panic!("{login:?}: {why}\n{}", lab.last_words()));
    let log = lab.log(Node::Aaa);
    assert!(log.contains(words), "{login:?}: no {words:?}\n{log}");
}

fn come_back<S>(lab: &Lab, start: Start<S>, login: Login) -> Result<(), Trouble> {
    let pki = Pki::make(lab.shared_dir(), KeyKind::EcdsaP256)?;
    let setting = Setting { lab, program: PROGRAM, login, pki: &pki, aaa: &pki };
    let _aaa = start(lab, &login, &pki)?;
    let (_gw, mut ue) = (setting.keytoll(Node::Gw)?, setting.keytoll(Node::Ue)?);
    for _ in 0..2 {
        ue.say("echo")?;
        ue.expect("established")?;
        ue.expect("echo-reply")?;
        ue.say("delete")?;
        ue.expect("closed")?;
    }
    Ok(())
}

#[test]
fn freeradius_continues_what_ended_well() {
    for method in [
        Method::over(Version::Tls12, "tls"),
        Method::over(Version::Tls13, "tls"),
        Method::over(Version::Tls12, "ttls-eap-mschapv2"),
        Method::bound(Binding::Optional, Version::Tls12, "peap-mschapv2"),
        Method::bound(Binding::Optional, Version::Tls13, "peap-mschapv2"),
    ] {
        comes_back(FreeRadius::start, continuing(method), FREERADIUS_RESUMED);
    }
}

/// With TLS 1.3 hostapd 2.10 forgets either the byte of RFC 9190 §2.5 (EAP-TLS) or a record (PEAP).
#[test]
fn hostapd_continues_what_ended_well_with_tls_1_2() {
    for method in [
        Method::over(Version::Tls12, "tls"),
        Method::bound(Binding::Off, Version::Tls12, "peap-mschapv2"),
        Method::bound(Binding::Optional, Version::Tls12, "peap-mschapv2"),
        Method::bound(Binding::Required, Version::Tls12, "peap-mschapv2"),
    ] {
        comes_back(Hostapd::start, continuing(method).nameless(), OPENSSL_RESUMED);
    }
}

#[test]
fn hostapd_takes_cards_back_quickly() {
    for (method, words) in [
        (Method::plain("sim"), "EAP-SIM: START -> REAUTH"),
        (Method::plain("aka"), "EAP-AKA: IDENTITY -> REAUTH"),
        (Method::plain("aka-prime"), "EAP-AKA: IDENTITY -> REAUTH"),
    ] {
        comes_back(Hostapd::start, Login::new(method).nameless(), words);
    }
}

/// In PEAP with TLS 1.3 wpa_supplicant 2.10 does not know the byte by which RFC 9427 §4 has us skip the inner method.
#[test]
fn eapol_test_continues_what_ended_well() {
    for method in [
        Method::over(Version::Tls12, "tls"),
        Method::over(Version::Tls13, "tls"),
        Method::bound(Binding::Off, Version::Tls12, "peap-mschapv2"),
        Method::bound(Binding::Optional, Version::Tls12, "peap-mschapv2"),
        Method::bound(Binding::Required, Version::Tls12, "peap-mschapv2"),
        Method::bound(Binding::Required, Version::Tls13, "peap-mschapv2"),
    ] {
        let Some(lab) = lab_or_skip() else { return };
        let told = station_comes_back(&lab, continuing(method))
            .unwrap_or_else(|why| panic!("{method}: {why}\n{}", lab.last_words()));
        assert!(told.contains(OPENSSL_RESUMED), "{method}: {told}");
    }
}

fn station_comes_back(lab: &Lab, login: Login) -> Result<String, Trouble> {
    let pki = Pki::make(lab.shared_dir(), KeyKind::EcdsaP256)?;
    let setting = Setting { lab, program: PROGRAM, login, pki: &pki, aaa: &pki };
    let _aaa = setting.keytoll(Node::Aaa)?;
    Station { again: 1, ..Station::new(login, &pki) }.run(lab)
}

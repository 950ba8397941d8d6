//! How EAP ends when somebody is not believed, and how it begins when the first proposal is not wanted: always at once,
//! on all sides, and for a reason that is named. Read RFC 3748 §4.2 and §5.3.1, RFC 5216 §2.1.3 (alerts) and RFC 7296
//! §2.21.2 first.

use keytoll_interop::chain::{Chain, Setting};
use keytoll_interop::eap::{Binding, Login, Method, Version};
use keytoll_interop::eapol_test::Station;
use keytoll_interop::hostapd::Hostapd;
use keytoll_interop::{KeyKind, Lab, Node, Pki, Trouble, lab_or_skip};

const PROGRAM: &str = env!("CARGO_BIN_EXE_keytoll-under-test");

fn peap() -> [Method; 2] {
    [
        Method::bound(Binding::Optional, Version::Tls12, "peap-mschapv2"),
        Method::bound(Binding::Optional, Version::Tls13, "peap-mschapv2"),
    ]
}

fn tls() -> [Method; 2] {
    [Method::over(Version::Tls12, "tls"), Method::over(Version::Tls13, "tls")]
}

/// Who holds certificates of another authority with the same name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Distrust {
    Nobody,
    /// The AAA server's certificate is of another authority than the device trusts.
    Server,
    /// The AAA server trusts another authority than the device's certificate is of.
    Device,
}

fn authenticate(lab: &Lab, chain: Chain, login: Login, distrust: Distrust) -> Result<(), Trouble> {
    let pki = Pki::make(lab.shared_dir(), KeyKind::EcdsaP256)?;
    let other = Pki::make(&lab.dir(Node::Aaa), KeyKind::EcdsaP256)?;
    let aaa = match distrust {
        Distrust::Nobody => pki.trusting(&pki),
        Distrust::Server => other.trusting(&pki),
        Distrust::Device => pki.trusting(&other),
    };
    Setting { lab, program: PROGRAM, login, pki: &pki, aaa: &aaa }.authenticate(chain)
}

/// Accepted in spite of something unusual.
fn accepted(chain: Chain, login: Login) {
    let Some(lab) = lab_or_skip() else { return };
    authenticate(&lab, chain, login, Distrust::Nobody)
        .unwrap_or_else(|why| panic!("{chain}, {login:?}: {why}\n{}", lab.last_words()));
}

/// Refused; `said` is who must have said what.
fn refused(chain: Chain, login: Login, distrust: Distrust, said: &[(Node, &str)]) {
    let Some(lab) = lab_or_skip() else { return };
    let what = format!("{chain}, {login:?}, {distrust:?}");
    let refused = authenticate(&lab, chain, login, distrust).expect_err(&what).to_string();
    for &(node, words) in said {
        assert!(lab.log(node).contains(words), "{what}: no {words:?}: {refused}\n{}", lab.last_words());
    }
    assert!(!lab.log(Node::Gw).contains("unexpected exchange"), "{what}\n{}", lab.last_words());
}

fn wrong_password(chain: Chain, method: Method, said: &[(Node, &str)]) {
    let login = Login { password: "another password", ..Login::new(method) };
    refused(chain, login, Distrust::Nobody, said);
}

const WRONG_PASSWORD: (Node, &str) = (Node::Aaa, "EAP wrong password");
const REJECTED: (Node, &str) = (Node::Aaa, "Sent Access-Reject");

#[test]
fn freeradius_refuses_a_wrong_password() {
    for method in [
        Method::plain("md5"),
        Method::plain("mschapv2"),
        Method::over(Version::Tls13, "ttls-pap"),
        Method::over(Version::Tls12, "ttls-eap-mschapv2"),
        peap()[0],
        peap()[1],
    ] {
        wrong_password(Chain::FreeRadius, method, &[REJECTED, (Node::Ue, "refused why=\"EAP Failure\"")]);
    }
}

#[test]
fn hostapd_refuses_a_wrong_password_and_mschapv2_says_so() {
    wrong_password(Chain::Hostapd, Method::plain("md5"), &[(Node::Ue, "refused why=\"EAP Failure\"")]);
    for method in
        [Method::plain("mschapv2"), Method::over(Version::Tls13, "ttls-eap-mschapv2"), peap()[0], peap()[1]]
    {
        wrong_password(Chain::Hostapd, method, &[(Node::Ue, "refused why=\"EAP wrong password\"")]);
    }
}

#[test]
fn eapol_test_is_refused_with_a_wrong_password() {
    for method in [
        Method::plain("md5"),
        Method::plain("mschapv2"),
        Method::over(Version::Tls12, "ttls-mschapv2"),
        Method::over(Version::Tls13, "ttls-eap-mschapv2"),
        peap()[0],
        peap()[1],
    ] {
        wrong_password(Chain::EapolTest, method, &[WRONG_PASSWORD]);
    }
}

#[test]
fn strongswan_is_refused_with_a_wrong_password() {
    for method in [Method::plain("md5"), Method::over(Version::Tls12, "ttls-md5")] {
        wrong_password(Chain::CharonDevice, method, &[WRONG_PASSWORD, (Node::Ue, "received EAP_FAILURE")]);
    }
}

/// In MSCHAPv2 the server says so in a request of its own; strongSwan does not answer it, but gives IKE up.
#[test]
fn strongswan_gives_up_and_the_gateway_agrees() {
    let agreed = "sent INFORMATIONAL response";
    let said = [(Node::Ue, "ERROR_AUTHENTICATION_FAILURE"), (Node::Gw, agreed)];
    wrong_password(Chain::CharonDevice, Method::plain("mschapv2"), &said);
}

#[test]
fn behind_strongswan_a_wrong_password_is_named() {
    let said = [WRONG_PASSWORD, (Node::Ue, "refused why=\"EAP wrong password\"")];
    wrong_password(Chain::CharonGateway, Method::plain("mschapv2"), &said);
}

#[test]
fn a_server_of_another_authority_is_refused_by_the_device() {
    for method in tls().into_iter().chain([Method::over(Version::Tls13, "ttls-pap")]).chain(peap()) {
        let said = [REJECTED, (Node::Ue, "failed why=\"TLS bad certificate\"")];
        refused(Chain::FreeRadius, Login::new(method), Distrust::Server, &said);
        let said = [(Node::Ue, "failed why=\"TLS bad certificate\"")];
        refused(Chain::Hostapd, Login::new(method), Distrust::Server, &said);
        let said = [(Node::Aaa, "failed why=\"TLS alert unknown_ca\"")];
        refused(Chain::EapolTest, Login::new(method), Distrust::Server, &said);
    }
    let said = [(Node::Aaa, "failed why=\"TLS alert certificate_unknown\"")];
    refused(Chain::CharonDevice, Login::new(tls()[0]), Distrust::Server, &said);
}

#[test]
fn a_device_of_another_authority_is_refused_by_the_server() {
    for method in tls() {
        refused(Chain::FreeRadius, Login::new(method), Distrust::Device, &[REJECTED]);
        let said = [(Node::Aaa, "local TLS alert: unknown CA"), (Node::Ue, "refused why=\"EAP Failure\"")];
        refused(Chain::Hostapd, Login::new(method), Distrust::Device, &said);
        let said = [(Node::Aaa, "failed why=\"TLS bad certificate\"")];
        refused(Chain::EapolTest, Login::new(method), Distrust::Device, &said);
    }
}

#[test]
fn another_method_than_the_proposed_one_is_asked_for() {
    for chain in
        [Chain::FreeRadius, Chain::Hostapd, Chain::EapolTest, Chain::CharonDevice, Chain::CharonGateway]
    {
        accepted(chain, Login { proposed: Method::plain("md5"), ..Login::new(tls()[0]) });
        accepted(chain, Login { proposed: tls()[0], ..Login::new(Method::plain("mschapv2")) });
        if !matches!(chain, Chain::CharonDevice) {
            accepted(chain, Login { proposed: Method::plain("md5"), ..Login::new(peap()[0]) });
        }
    }
}

fn bound(binding: Binding, version: Version) -> Method {
    Method::bound(binding, version, "peap-mschapv2")
}

#[test]
fn whoever_wants_cryptobinding_refuses_whoever_has_none() {
    for version in [Version::Tls12, Version::Tls13] {
        let [off, required] = [bound(Binding::Off, version), bound(Binding::Required, version)];
        let said = [REJECTED, (Node::Ue, "failed why=\"EAP-PEAP no cryptobinding\"")];
        refused(Chain::FreeRadius, Login::new(required), Distrust::Nobody, &said);
        let said = [(Node::Aaa, "failed why=\"EAP-PEAP no cryptobinding\"")];
        let login = Login { proposed: required, ..Login::new(off) };
        refused(Chain::EapolTest, login, Distrust::Nobody, &said);
    }
}

/// wpa_supplicant keeps its refusal to itself: it does not answer any more.
#[test]
fn eapol_test_that_wants_cryptobinding_refuses_a_server_without() {
    let Some(lab) = lab_or_skip() else { return };
    let [off, required] = [Binding::Off, Binding::Required].map(|binding| bound(binding, Version::Tls12));
    let login = Login { proposed: off, ..Login::new(required) };
    let why = authenticate(&lab, Chain::EapolTest, login, Distrust::Nobody).expect_err("no cryptobinding");
    assert!(why.to_string().contains("EAP-PEAP: No cryptobinding TLV"), "{why}");
}

/// With TLS 1.3 hostapd 2.10 and the eapol_test of the same source do not agree either.
#[test]
fn hostapd_binds_tls_1_3_with_a_key_of_its_own() {
    for (version, agree) in [(Version::Tls12, true), (Version::Tls13, false)] {
        let Some(lab) = lab_or_skip() else { return };
        let pki = Pki::make(lab.shared_dir(), KeyKind::EcdsaP256).unwrap_or_else(|why| panic!("{why}"));
        let login = Login::new(bound(Binding::Required, version));
        let _aaa = Hostapd::start(&lab, &login, &pki).unwrap_or_else(|why| panic!("{why}"));
        match Station::new(login, &pki).run(&lab) {
            Ok(_) => assert!(agree, "{version}: chain.rs can tell better"),
            Err(why) => {
                let why = why.to_string();
                assert!(!agree && why.contains("Invalid Compound_MAC"), "{version}: {why}");
            }
        }
    }
}

/// The USIM has seen later sequence numbers than the network knows (TS 33.102 §6.3.5).
#[test]
fn a_card_ahead_of_the_network_is_caught_up_with() {
    for method in [Method::plain("aka"), Method::plain("aka-prime")] {
        let Some(lab) = lab_or_skip() else { return };
        let login = Login { sqn: 0x1000, ..Login::new(method) };
        authenticate(&lab, Chain::Hostapd, login, Distrust::Nobody)
            .unwrap_or_else(|why| panic!("{method}: {why}\n{}", lab.last_words()));
        let log = lab.log(Node::Aaa);
        assert!(log.contains("Processing Synchronization-Failure"), "{method}\n{log}");
    }
}

/// The same with our network; afterwards the card proves itself twice with the identity for fast re-authentication that
/// it was given (RFC 4187 §5).
#[test]
fn a_card_comes_back_quickly() {
    for method in [Method::plain("sim"), Method::plain("aka"), Method::plain("aka-prime")] {
        let Some(lab) = lab_or_skip() else { return };
        let pki = Pki::make(lab.shared_dir(), KeyKind::EcdsaP256).unwrap_or_else(|why| panic!("{why}"));
        let login = Login { sqn: 0x1000, ..Login::new(method) };
        let setting = Setting { lab: &lab, program: PROGRAM, login, pki: &pki, aaa: &pki };
        let aaa = setting.keytoll(Node::Aaa).unwrap_or_else(|why| panic!("{why}"));
        let station = Station { again: 2, ..Station::new(login, &pki) };
        station.run(&lab).unwrap_or_else(|why| panic!("{method}: {why}"));
        let sent = |name: &str| aaa.traced(&format!("sent {name} "));
        // SIM has Start, AKA the challenge that the card refuses; then the challenge, and one message each time.
        assert_eq!(
            (sent("Access-Challenge"), sent("Access-Accept")),
            (2 + 2, 3),
            "{method}: challenges and accepts"
        );
    }
}

#[test]
fn the_gateway_may_ask_for_the_identity() {
    for chain in [Chain::FreeRadius, Chain::CharonDevice, Chain::CharonGateway] {
        accepted(chain, Login { asks_identity: true, ..Login::new(Method::plain("mschapv2")) });
    }
}

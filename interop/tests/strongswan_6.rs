//! strongSwan 6.1 in IKEv2 and EAP, and strongSwan of both versions as an EAP server: the cells of two tables of `RESULTS.md`.
//! The tests are skipped where Debian's mirror has replaced its packages.

use keytoll_interop::chain::{Outcome, Setting, key_kind};
use keytoll_interop::eap::{Login, Method, Version};
use keytoll_interop::ikev2::Feature;
use keytoll_interop::pair::{Pair, Role};
use keytoll_interop::strongswan_6::{Chain, Direction, check_version};
use keytoll_interop::{
    Lab, Node, Pki, Terms, Trouble, eap_rows, eap_tests, ike_rows, ike_tests, strongswan_6_or_skip,
};

const PROGRAM: &str = env!("CARGO_BIN_EXE_keytoll-under-test");

fn check_ike(direction: Direction, feature: Feature) {
    let outcome = direction.outcome(feature);
    if matches!(outcome, Outcome::NotOffered(_)) {
        return;
    }
    let Some(lab) = strongswan_6_or_skip() else { return };
    outcome.check(feature.run(direction.0, &lab, PROGRAM), &lab);
    check_version(&lab);
}

fn check_eap(chain: Chain, method: Method) {
    let outcome = chain.outcome(method);
    if matches!(outcome, Outcome::NotOffered(_)) {
        return;
    }
    let Some(lab) = chain.lab() else { return };
    outcome.check(authenticate(&lab, chain, Login::new(method)), &lab);
    if chain != Chain::OldServer {
        check_version(&lab);
    }
}

fn authenticate(lab: &Lab, chain: Chain, login: Login) -> Result<(), Trouble> {
    let pki = Pki::make(lab.shared_dir(), key_kind(login.method))?;
    chain.authenticate(&Setting { lab, program: PROGRAM, login, pki: &pki, aaa: &pki })
}

mod ikev2 {
    use super::*;
    use keytoll_interop::ikev2;

    mod keytoll_device {
        use super::*;
        ike_rows!(ike_tests(Direction(ikev2::Direction::KeytollDevice), check_ike));
    }

    mod charon_device {
        use super::*;
        ike_rows!(ike_tests(Direction(ikev2::Direction::CharonDevice), check_ike));
    }
}

mod device {
    use super::*;
    eap_rows!(eap_tests(|method| check_eap(Chain::Device, method)));
}

mod gateway {
    use super::*;
    eap_rows!(eap_tests(|method| check_eap(Chain::Gateway, method)));
}

mod server {
    use super::*;
    eap_rows!(eap_tests(|method| check_eap(Chain::Server, method)));
}

mod old_server {
    use super::*;
    eap_rows!(eap_tests(|method| check_eap(Chain::OldServer, method)));
}

/// strongSwan's EAP server refuses a device with a wrong password, and the device reports an EAP failure.
#[test]
fn a_wrong_password_is_refused_by_strongswan() {
    for (chain, method) in [
        (Chain::Server, Method::plain("md5")),
        (Chain::Server, Method::plain("mschapv2")),
        (Chain::Server, Method::over(Version::Tls13, "ttls-md5")),
        (Chain::OldServer, Method::plain("mschapv2")),
    ] {
        let Some(lab) = chain.lab() else { return };
        let login = Login { password: "another password", ..Login::new(method) };
        let refused = authenticate(&lab, chain, login);
        assert!(refused.is_err(), "{chain}, {method}: accepted");
        for (node, words) in [(Node::Ue, "refused why=\"EAP "), (Node::Gw, "generating IKE_AUTH response")] {
            assert!(lab.log(node).contains(words), "{chain}, {method}: no {words:?}\n{}", lab.last_words());
        }
    }
}

const CLASSIC: &str = "aes128gcm16-prfsha256-x25519";
const HYBRID: &str = "aes128gcm16-prfsha256-x25519-ke1_mlkem768";

/// RFC 9370 §2.2.1: keytoll does no additional key exchange, so of a device's proposals it chooses the one without.
#[test]
fn keytoll_chooses_the_proposal_without_ml_kem() {
    let Some(lab) = strongswan_6_or_skip() else { return };
    let device =
        Terms::psk("aes128gcm16-prfsha256-x25519-ke1_mlkem768,aes128gcm16-prfsha256-x25519", "aes128gcm16");
    let connected = (|| {
        let mut pair = begun(&lab, device)?;
        pair.connect()?;
        pair.delete(Role::Device)
    })();
    connected.unwrap_or_else(|why| panic!("{why}\n{}", lab.last_words()));
    assert!(lab.log(Node::Ue).contains("KE1_ML_KEM_768"), "it was not offered\n{}", lab.last_words());
}

/// A device that offers nothing else is refused, and the gateway's log names the offer.
#[test]
fn keytoll_refuses_a_proposal_with_ml_kem_alone() {
    let Some(lab) = strongswan_6_or_skip() else { return };
    let pair = begun(&lab, Terms::psk(HYBRID, "aes128gcm16")).unwrap_or_else(|why| panic!("{why}"));
    assert!(pair.charon().initiate().is_err(), "strongSwan was let in");
    let offered = format!("proposal-refused why=NO_PROPOSAL_CHOSEN remote=10.99.1.1:500 offered={HYBRID} ");
    for (node, words) in [(Node::Ue, "received NO_PROPOSAL_CHOSEN"), (Node::Gw, offered.as_str())] {
        assert!(lab.log(node).contains(words), "no {words:?}\n{}", lab.last_words());
    }
}

/// strongSwan 6.1 as the device with these terms, keytoll as a gateway that knows one suite.
fn begun(lab: &Lab, device: Terms) -> Result<Pair<'_>, Trouble> {
    let gateway = Terms::psk(CLASSIC, "aes128gcm16");
    Pair::start(keytoll_interop::ikev2::Direction::CharonDevice, lab, PROGRAM, [&device, &gateway], None)
}

//! RADIUS proxies between keytoll's gateway and an AAA server: the cells of a table of `RESULTS.md`, and proxies with an AAA server
//! that does not answer. Read RFC 3579 §3.2 and RFC 5997 first.

use std::time::Duration;

use keytoll_interop::chain::{Outcome, Setting, key_kind};
use keytoll_interop::eap::{Login, Method};
use keytoll_interop::freeradius_proxy::{Proxy, Rejects};
use keytoll_interop::proxy::{BEHIND, Chain, radsecproxy, server};
use keytoll_interop::run::wait_for;
use keytoll_interop::{Lab, Node, Pki, Trouble, eap_rows, eap_tests, lab_or_skip};

const PROGRAM: &str = env!("CARGO_BIN_EXE_keytoll-under-test");

fn check(chain: Chain, method: Method) {
    let outcome = chain.outcome(method);
    if matches!(outcome, Outcome::NotOffered(_)) {
        return;
    }
    let Some(lab) = lab_or_skip() else { return };
    outcome.check(with_setting(&lab, method, |setting| chain.authenticate(setting)), &lab);
}

fn with_setting<T>(
    lab: &Lab,
    method: Method,
    run: impl FnOnce(&Setting<'_>) -> Result<T, Trouble>,
) -> Result<T, Trouble> {
    let pki = Pki::make(lab.shared_dir(), key_kind(method))?;
    run(&Setting { lab, program: PROGRAM, login: Login::new(method), pki: &pki, aaa: &pki })
}

mod one_radsecproxy {
    use super::*;
    eap_rows!(eap_tests(|method| check(Chain::Radsecproxy, method)));
}

mod two_radsecproxies {
    use super::*;
    eap_rows!(eap_tests(|method| check(Chain::RadsecproxyTls, method)));
}

mod freeradius {
    use super::*;
    eap_rows!(eap_tests(|method| check(Chain::FreeRadius, method)));
}

mod radsecproxy_freeradius {
    use super::*;
    eap_rows!(eap_tests(|method| check(Chain::RadsecproxyFreeRadius, method)));
}

/// FreeRADIUS answers an Access-Reject without Message-Authenticator in place of an AAA server that it cannot reach. The gateway
/// discards that and names the server; the device is refused after the gateway's timeout.
#[test]
fn gateway_names_the_server_of_a_bare_access_reject() {
    let Some(lab) = lab_or_skip() else { return };
    let refused = refused_by_freeradius(&lab, Rejects::Bare);
    let refused = refused.unwrap_or_else(|why| panic!("{why}\n{}", lab.last_words()));
    assert_eq!(refused, "failed EAP failure");
    let log = lab.log(Node::Gw);
    for words in [
        "why=\"no Message-Authenticator\" likely=\"the AAA server does not send it",
        "server=\"10.99.2.3:1812\"",
        "failed why=\"RADIUS timeout\"",
    ] {
        assert!(log.contains(words), "no {words:?}\n{log}");
    }
}

/// The gateway accepts the same Access-Reject with Message-Authenticator at once.
#[test]
fn gateway_accepts_an_access_reject_with_message_authenticator() {
    let Some(lab) = lab_or_skip() else { return };
    let refused = refused_by_freeradius(&lab, Rejects::Authentic);
    refused.unwrap_or_else(|why| panic!("{why}\n{}", lab.last_words()));
    let log = lab.log(Node::Gw);
    assert!(!log.contains("no Message-Authenticator") && !log.contains("RADIUS timeout"), "{log}");
}

/// Lets a device try to authenticate through a FreeRADIUS without a home server; returns the device's outcome.
fn refused_by_freeradius(lab: &Lab, rejects: Rejects) -> Result<String, Trouble> {
    with_setting(lab, Method::plain("md5"), |setting| {
        let proxy = Proxy::start(lab, BEHIND, rejects)?;
        let _gw = setting.keytoll(Node::Gw)?;
        let mut ue = setting.keytoll(Node::Ue)?;
        ue.say("echo")?;
        // FreeRADIUS waits two seconds; the gateway's timeout is 30 s, and that of `expect` is as long.
        let sent = || proxy.log().contains("Sent Access-Reject").then_some(());
        wait_for("the Access-Reject", Duration::from_secs(20), sent, || proxy.log())?;
        ue.expect("failed")
    })
}

/// FreeRADIUS uses an AAA server again only after three answers to Status-Server.
#[test]
fn freeradius_uses_keytoll_again_after_status_server() {
    let Some(lab) = lab_or_skip() else { return };
    let authenticated = with_setting(&lab, Method::plain("md5"), |setting| {
        let proxy = Proxy::start(&lab, BEHIND, Rejects::Authentic)?;
        assert!(setting.with_keytoll().is_err(), "there is no AAA server");
        let _aaa = server(setting)?;
        proxy.await_revival()?;
        setting.with_keytoll()
    });
    authenticated.unwrap_or_else(|why| panic!("{why}\n{}", lab.last_words()));
}

/// radsecproxy sends a Status-Server when it has not sent anything for 25 s, and takes a server that does not answer for dead.
#[test]
fn keytoll_answers_status_server_of_radsecproxy() {
    let Some(lab) = lab_or_skip() else { return };
    let answered = with_setting(&lab, Method::plain("md5"), |setting| {
        let aaa = server(setting)?;
        let proxy = radsecproxy(&lab)?;
        let is_answered = || proxy.log().contains("got status server response").then_some(());
        wait_for("an answer to Status-Server", Duration::from_secs(60), is_answered, || proxy.log())?;
        drop(aaa);
        let is_unanswered = || proxy.log().contains("no status server response").then_some(());
        wait_for("a Status-Server without answer", Duration::from_secs(90), is_unanswered, || proxy.log())
    });
    answered.unwrap_or_else(|why| panic!("{why}\n{}", lab.last_words()));
}

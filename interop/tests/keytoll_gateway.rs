//! strongSwan as the device, keytoll as the gateway. Read RFC 7296 §1.2, §2.19, §2.23 and RFC 3948 first.

use keytoll_interop::{Charon, Lab, Node, Peer, Pki, Terms, Trouble, lab_or_skip, suite_tests};

const PROGRAM: &str = env!("CARGO_BIN_EXE_keytoll-live-peer");
const GCM: &str = "aes128gcm16-prfsha256-x25519";

/// strongSwan sets up the SAs, pings through them with the machine's own ping, and takes them down again.
fn ping_and_delete(lab: &Lab, terms: &Terms, pki: Option<&Pki>) -> Result<(), Trouble> {
    let mut gw = Peer::start(lab, Node::Gw, PROGRAM, terms, pki)?;
    let ue = Charon::start(lab, Node::Ue, terms, pki)?;
    ue.initiate()?;
    let established = gw.expect("established")?;
    assert!(established.contains("with ue@lab"), "{established}");
    let sas = ue.list_sas()?;
    assert_eq!(sas.len(), 1, "{sas:?}");
    assert_eq!(sas[0].state, "ESTABLISHED");
    assert_eq!(sas[0].children.len(), 1, "{sas:?}");
    assert_eq!(sas[0].children[0].state, "INSTALLED");
    lab.ping(Node::Ue, None, Node::Gw.inner(), 3)?;
    let child = &ue.list_sas()?[0].children[0];
    assert_eq!((child.bytes_in, child.bytes_out), (3 * 84, 3 * 84), "three echoes of 84 bytes each way");
    ue.terminate()?;
    gw.expect("closed deleted")?;
    assert_eq!(ue.list_sas()?, []);
    Ok(())
}

suite_tests!(ping_and_delete);

#[test]
fn both_sides_rekey() {
    let Some(lab) = lab_or_skip() else { return };
    rekey(&lab).unwrap_or_else(|why| panic!("{why}"));
}

fn rekey(lab: &Lab) -> Result<(), Trouble> {
    let terms = Terms::psk("aes128-sha256-x25519", "aes128-sha256-modp2048");
    let mut gw = Peer::start(lab, Node::Gw, PROGRAM, &terms, None)?;
    let ue = Charon::start(lab, Node::Ue, &terms, None)?;
    ue.initiate()?;
    gw.expect("established")?;
    lab.ping(Node::Ue, None, Node::Gw.inner(), 1)?;
    ue.rekey(false)?;
    ue.await_sas("one new child", |sas| sas[0].children.len() == 1 && sas[0].children[0].bytes_out == 0)?;
    lab.ping(Node::Ue, None, Node::Gw.inner(), 1)?;
    ue.rekey(true)?;
    gw.expect("rekeyed")?;
    gw.say("rekey-ike")?;
    gw.expect("rekeyed")?;
    ue.await_sas("one IKE SA", |sas| sas.len() == 1 && sas[0].state == "ESTABLISHED")?;
    lab.ping(Node::Ue, None, Node::Gw.inner(), 1).map(drop)
}

#[test]
fn a_gateway_may_close_what_the_device_opened() {
    let Some(lab) = lab_or_skip() else { return };
    gateway_closes(&lab).unwrap_or_else(|why| panic!("{why}"));
}

fn gateway_closes(lab: &Lab) -> Result<(), Trouble> {
    let terms = Terms::psk(GCM, "aes128gcm16");
    let mut gw = Peer::start(lab, Node::Gw, PROGRAM, &terms, None)?;
    let ue = Charon::start(lab, Node::Ue, &terms, None)?;
    ue.initiate()?;
    gw.expect("established")?;
    gw.say("delete")?;
    gw.expect("closed")?;
    ue.await_sas("the delete", <[_]>::is_empty)?;
    Ok(())
}

/// A device and a gateway with terms of their own; strongSwan pings through.
fn ping(lab: &Lab, ue: &Terms, gw: &Terms) -> Result<(Charon, Peer), Trouble> {
    let gw = Peer::start(lab, Node::Gw, PROGRAM, gw, None)?;
    let ue = Charon::start(lab, Node::Ue, ue, None)?;
    ue.initiate()?;
    lab.ping(Node::Ue, None, Node::Gw.inner(), 1)?;
    Ok((ue, gw))
}

#[test]
fn the_group_is_asked_for() {
    let Some(lab) = lab_or_skip() else { return };
    let offers_two = Terms::psk("aes128-sha256-x25519,aes128-sha256-modp2048", "aes128gcm16");
    let takes_the_second = Terms::psk("aes128-sha256-modp2048", "aes128gcm16");
    let (ue, _gw) = ping(&lab, &offers_two, &takes_the_second).unwrap_or_else(|why| panic!("{why}"));
    assert!(ue.log().contains("N(INVAL_KE)"), "it was not asked for");
}

#[test]
fn under_load_a_cookie_is_demanded() {
    let Some(lab) = lab_or_skip() else { return };
    let terms = Terms { keytoll: "cookies=always", ..Terms::psk(GCM, "aes128gcm16") };
    let (ue, _gw) = ping(&lab, &terms, &terms).unwrap_or_else(|why| panic!("{why}"));
    assert!(ue.log().contains("parsed IKE_SA_INIT response 0 [ N(COOKIE) ]"), "it was not demanded");
}

#[test]
fn a_second_child_is_created() {
    let Some(lab) = lab_or_skip() else { return };
    second_child(&lab).unwrap_or_else(|why| panic!("{why}"));
}

fn second_child(lab: &Lab) -> Result<(), Trouble> {
    let terms = Terms::psk(GCM, "aes128gcm16");
    let (ue, _gw) = ping(lab, &terms, &terms)?;
    ue.initiate_child("host")?;
    let sas = ue.list_sas()?;
    assert!(sas.len() == 1 && sas[0].children.len() == 2, "{sas:?}");
    lab.ping(Node::Ue, None, Node::Gw.inner(), 1)?;
    ue.terminate()?;
    assert_eq!(ue.list_sas()?, []);
    Ok(())
}

#[test]
fn childless_and_liveness() {
    let Some(lab) = lab_or_skip() else { return };
    childless(&lab).unwrap_or_else(|why| panic!("{why}"));
}

fn childless(lab: &Lab) -> Result<(), Trouble> {
    let terms = Terms {
        charon: "childless = force\n  dpd_delay = 1s",
        keytoll: "child=none",
        ..Terms::psk(GCM, "aes128gcm16")
    };
    let mut gw = Peer::start(lab, Node::Gw, PROGRAM, &terms, None)?;
    let ue = Charon::start(lab, Node::Ue, &terms, None)?;
    ue.initiate_ike()?;
    gw.expect("established")?;
    let sas = ue.list_sas()?;
    assert!(sas.len() == 1 && sas[0].state == "ESTABLISHED" && sas[0].children.is_empty(), "{sas:?}");
    ue.await_log("parsed INFORMATIONAL response")?;
    ue.terminate()?;
    gw.expect("closed deleted").map(drop)
}

#[test]
fn a_wrong_secret_is_refused() {
    let Some(lab) = lab_or_skip() else { return };
    wrong_secret(&lab).unwrap_or_else(|why| panic!("{why}"));
}

fn wrong_secret(lab: &Lab) -> Result<(), Trouble> {
    let terms = Terms::psk(GCM, "aes128gcm16");
    let mut gw = Peer::start(lab, Node::Gw, PROGRAM, &terms, None)?;
    let ue = Charon::start(lab, Node::Ue, &Terms { secret: "another", ..terms }, None)?;
    let refused = ue.initiate().expect_err("an SA with a wrong secret").to_string();
    assert!(refused.contains("AUTHENTICATION_FAILED"), "{refused}");
    assert_eq!(gw.expect("failed")?, "failed AUTHENTICATION_FAILED");
    Ok(())
}

#[test]
fn reauthentication_is_asked_for() {
    let Some(lab) = lab_or_skip() else { return };
    let terms = Terms { keytoll: "auth_lifetime_s=3600", ..Terms::psk(GCM, "aes128gcm16") };
    let (ue, _gw) = ping(&lab, &terms, &terms).unwrap_or_else(|why| panic!("{why}"));
    assert!(ue.log().contains("received AUTH_LIFETIME of 3600s"), "{}", ue.log());
}

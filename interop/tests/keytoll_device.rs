//! keytoll as the device, strongSwan as the gateway. Read RFC 7296 §1.2, §2.23 and RFC 3948 first.

use keytoll_interop::{Charon, Lab, Node, Peer, Pki, Terms, Trouble, lab_or_skip, suite_tests};

const PROGRAM: &str = env!("CARGO_BIN_EXE_keytoll-live-peer");
const GCM: &str = "aes128gcm16-prfsha256-x25519";

/// Sets up the SAs by an echo, and takes them down again from the device's side.
fn echo_and_delete(lab: &Lab, terms: &Terms, pki: Option<&Pki>) -> Result<(), Trouble> {
    let gw = Charon::start(lab, Node::Gw, terms, pki)?;
    let mut ue = Peer::start(lab, Node::Ue, PROGRAM, terms, pki)?;
    ue.say("echo")?;
    let established = ue.expect("established")?;
    assert!(established.contains("with gw.lab"), "{established}");
    ue.expect("usable")?;
    ue.expect("echo-reply")?;
    let sas = gw.list_sas()?;
    assert_eq!(sas.len(), 1, "{sas:?}");
    assert_eq!(sas[0].state, "ESTABLISHED");
    assert_eq!(sas[0].children.len(), 1, "{sas:?}");
    let child = &sas[0].children[0];
    assert_eq!((child.state.as_str(), child.bytes_in, child.bytes_out), ("INSTALLED", 84, 84));
    ue.say("delete")?;
    ue.expect("closed")?;
    gw.await_sas("the delete", <[_]>::is_empty)?;
    Ok(())
}

suite_tests!(echo_and_delete);

#[test]
fn both_sides_rekey() {
    let Some(lab) = lab_or_skip() else { return };
    rekey(&lab).unwrap_or_else(|why| panic!("{why}"));
}

fn rekey(lab: &Lab) -> Result<(), Trouble> {
    let terms = Terms::psk("aes128-sha256-x25519", "aes128-sha256-modp2048");
    let gw = Charon::start(lab, Node::Gw, &terms, None)?;
    let mut ue = Peer::start(lab, Node::Ue, PROGRAM, &terms, None)?;
    ue.say("echo")?;
    ue.expect("echo-reply")?;
    gw.rekey(false)?;
    gw.await_sas("one new child", |sas| sas[0].children.len() == 1 && sas[0].children[0].bytes_in == 0)?;
    ue.say("echo")?;
    ue.expect("echo-reply")?;
    gw.rekey(true)?;
    ue.expect("rekeyed")?;
    ue.say("rekey-ike")?;
    ue.expect("rekeyed")?;
    gw.await_sas("one IKE SA", |sas| sas.len() == 1 && sas[0].state == "ESTABLISHED")?;
    ue.say("echo")?;
    ue.expect("echo-reply")?;
    Ok(())
}

#[test]
fn a_wrong_secret_is_named() {
    let Some(lab) = lab_or_skip() else { return };
    let failed = refused(&lab, Terms { secret: "another", ..Terms::psk(GCM, "aes128gcm16") });
    assert_eq!(failed.unwrap_or_else(|why| panic!("{why}")), "failed AUTHENTICATION_FAILED");
}

#[test]
fn no_common_suite_is_named() {
    let Some(lab) = lab_or_skip() else { return };
    let failed = refused(&lab, Terms::psk("aes256-sha512-modp2048", "aes128gcm16"));
    assert_eq!(failed.unwrap_or_else(|why| panic!("{why}")), "failed NO_PROPOSAL_CHOSEN");
}

/// How a gateway with these terms refuses a device with the usual ones; gives what the device tells.
fn refused(lab: &Lab, terms: Terms) -> Result<String, Trouble> {
    let gw = Charon::start(lab, Node::Gw, &terms, None)?;
    let mut ue = Peer::start(lab, Node::Ue, PROGRAM, &Terms::psk(GCM, "aes128gcm16"), None)?;
    ue.say("echo")?;
    let failed = ue.expect("failed")?;
    assert_eq!(gw.list_sas()?, []);
    Ok(failed)
}

#[test]
fn a_refused_child_leaves_the_ike_sa() {
    let Some(lab) = lab_or_skip() else { return };
    refused_child(&lab).unwrap_or_else(|why| panic!("{why}"));
}

fn refused_child(lab: &Lab) -> Result<(), Trouble> {
    let gw = Charon::start(lab, Node::Gw, &Terms::psk(GCM, "aes256-sha512"), None)?;
    let mut ue = Peer::start(lab, Node::Ue, PROGRAM, &Terms::psk(GCM, "aes128gcm16"), None)?;
    ue.say("echo")?;
    ue.expect("established")?;
    assert_eq!(ue.expect("failed")?, "failed NO_PROPOSAL_CHOSEN");
    let sas = gw.list_sas()?;
    assert!(sas.len() == 1 && sas[0].state == "ESTABLISHED" && sas[0].children.is_empty(), "{sas:?}");
    ue.say("delete")?;
    ue.expect("closed")?;
    gw.await_sas("the delete", <[_]>::is_empty).map(drop)
}

#[test]
fn the_group_is_guessed_again() {
    let Some(lab) = lab_or_skip() else { return };
    let ike = "aes128-sha256-x25519,aes128-sha256-modp2048";
    let offers_two = Terms::psk(ike, "aes128gcm16");
    let takes_the_second = Terms::psk("aes128-sha256-modp2048", "aes128gcm16");
    let ue = echo(&lab, &offers_two, &takes_the_second).unwrap_or_else(|why| panic!("{why}"));
    assert_eq!(ue.traced("kind: 34"), 2, "IKE_SA_INIT twice");
}

/// A device and a gateway with terms of their own; one echo.
fn echo(lab: &Lab, ue: &Terms, gw: &Terms) -> Result<Peer, Trouble> {
    let _gw = Charon::start(lab, Node::Gw, gw, None)?;
    let mut ue = Peer::start(lab, Node::Ue, PROGRAM, ue, None)?;
    ue.say("echo")?;
    ue.expect("echo-reply")?;
    Ok(ue)
}

#[test]
fn childless() {
    let Some(lab) = lab_or_skip() else { return };
    childless_and_probe(&lab).unwrap_or_else(|why| panic!("{why}"));
}

fn childless_and_probe(lab: &Lab) -> Result<(), Trouble> {
    let terms = Terms { keytoll: "child=none", ..Terms::psk(GCM, "aes128gcm16") };
    let gw = Charon::start(lab, Node::Gw, &terms, None)?;
    let mut ue = Peer::start(lab, Node::Ue, PROGRAM, &terms, None)?;
    ue.say("echo")?;
    ue.expect("usable")?;
    let sas = gw.list_sas()?;
    assert!(sas.len() == 1 && sas[0].state == "ESTABLISHED" && sas[0].children.is_empty(), "{sas:?}");
    ue.say("probe")?;
    ue.say("delete")?;
    ue.expect("closed")?;
    gw.await_sas("the delete", <[_]>::is_empty)?;
    let informational = gw.log().lines().filter(|line| line.contains("parsed INFORMATIONAL request")).count();
    assert_eq!(informational, 2, "the probe and the delete");
    Ok(())
}

#[test]
fn a_gateway_under_load_gets_its_cookie_back() {
    let Some(lab) = lab_or_skip() else { return };
    cookie(&lab).unwrap_or_else(|why| panic!("{why}"));
}

/// Three initiators that never go on make strongSwan demand a cookie from the fourth at the same address.
fn cookie(lab: &Lab) -> Result<(), Trouble> {
    let terms = Terms::psk(GCM, "aes128gcm16");
    let gw = Charon::start(lab, Node::Gw, &terms, None)?;
    for half_open in 1..=3 {
        // Without a socket for port 4500 its IKE_AUTH never leaves.
        let mut ue = Peer::start(lab, Node::Ue, PROGRAM, &Terms { keytoll: "ports=500", ..terms }, None)?;
        ue.say("echo")?;
        gw.await_sas("another half-open SA", |sas| sas.len() == half_open)?;
    }
    let mut ue = Peer::start(lab, Node::Ue, PROGRAM, &terms, None)?;
    ue.say("echo")?;
    ue.expect("echo-reply")?;
    assert_eq!(ue.traced("kind: 34"), 2, "IKE_SA_INIT twice");
    assert!(gw.log().contains("N(COOKIE)"), "no cookie was asked for");
    Ok(())
}

#[test]
fn rekeys_that_cross_leave_one_ike_sa() {
    let Some(lab) = lab_or_skip() else { return };
    crossing_rekeys(&lab).unwrap_or_else(|why| panic!("{why}"));
}

fn crossing_rekeys(lab: &Lab) -> Result<(), Trouble> {
    let terms = Terms::psk(GCM, "aes128gcm16");
    let gw = Charon::start(lab, Node::Gw, &terms, None)?;
    let mut ue = Peer::start(lab, Node::Ue, PROGRAM, &terms, None)?;
    ue.say("echo")?;
    ue.expect("echo-reply")?;
    let crossed = |gw: &Charon| gw.log().contains("detected IKE_REKEY collision with IKE_REKEY");
    for _ in 0..30 {
        if crossed(&gw) {
            break;
        }
        gw.rekey_ike_after(|| ue.say("rekey-ike"))?;
        ue.expect("rekeyed")?;
        gw.await_sas("one IKE SA", |sas| sas.len() == 1 && sas[0].state == "ESTABLISHED")?;
        ue.say("echo")?;
        ue.expect("echo-reply")?;
    }
    assert!(crossed(&gw), "no two of thirty crossed");
    ue.say("delete")?;
    ue.expect("closed")?;
    gw.await_sas("the delete", <[_]>::is_empty)?;
    Ok(())
}

#[test]
fn the_lifetime_that_strongswan_names_is_kept() {
    let Some(lab) = lab_or_skip() else { return };
    lifetime(&lab).unwrap_or_else(|why| panic!("{why}"));
}

/// strongSwan says when it wants to see the device authenticate again; the next packet after that makes it so.
fn lifetime(lab: &Lab) -> Result<(), Trouble> {
    let reauthenticate = "reauth_time = 3s\n  over_time = 20s\n  rand_time = 0s";
    let terms = Terms { charon: reauthenticate, ..Terms::psk(GCM, "aes128gcm16") };
    let gw = Charon::start(lab, Node::Gw, &terms, None)?;
    let mut ue = Peer::start(lab, Node::Ue, PROGRAM, &terms, None)?;
    ue.say("echo")?;
    ue.expect("echo-reply")?;
    ue.expect("closed lifetime")?;
    gw.await_sas("the delete", <[_]>::is_empty)?;
    ue.say("echo")?;
    ue.expect("established")?;
    ue.expect("echo-reply").map(drop)
}

//! keytoll as the device, strongSwan as the gateway: what is tried this way round only; the rest is in `ikev2.rs`. Read
//! RFC 7296 §1.2, §2.8.1, §2.21 and RFC 4478 first.

use keytoll_interop::{Charon, Lab, Node, Peer, Terms, Trouble, lab_or_skip};

const PROGRAM: &str = env!("CARGO_BIN_EXE_keytoll-under-test");
const GCM: &str = "aes128gcm16-prfsha256-x25519";

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
    assert_eq!(ue.expect("failed")?, "failed child NO_PROPOSAL_CHOSEN");
    let sas = gw.list_sas()?;
    assert!(sas.len() == 1 && sas[0].state == "ESTABLISHED" && sas[0].children.is_empty(), "{sas:?}");
    ue.say("delete")?;
    ue.expect("closed")?;
    gw.await_sas("the delete", <[_]>::is_empty).map(drop)
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

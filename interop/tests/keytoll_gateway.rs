//! strongSwan as the device, keytoll as the gateway: what is tried this way round only; the rest is in `ikev2.rs`. Read
//! RFC 7296 §1.3.1, §2.21 and RFC 4478 first.

use keytoll_interop::{Charon, Lab, Node, Peer, Terms, Trouble, lab_or_skip};

const PROGRAM: &str = env!("CARGO_BIN_EXE_keytoll-under-test");
const GCM: &str = "aes128gcm16-prfsha256-x25519";

/// A device and a gateway with terms of their own; strongSwan pings through.
fn ping(lab: &Lab, ue: &Terms, gw: &Terms) -> Result<(Charon, Peer), Trouble> {
    let gw = Peer::start(lab, Node::Gw, PROGRAM, gw, None)?;
    let ue = Charon::start(lab, Node::Ue, ue, None)?;
    ue.initiate()?;
    lab.ping(Node::Ue, None, Node::Gw.inner(), 1)?;
    Ok((ue, gw))
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
    let terms = Terms { keytoll: "connection.auth_lifetime = \"3600 s\"", ..Terms::psk(GCM, "aes128gcm16") };
    let (ue, _gw) = ping(&lab, &terms, &terms).unwrap_or_else(|why| panic!("{why}"));
    assert!(ue.log().contains("received AUTH_LIFETIME of 3600s"), "{}", ue.log());
}

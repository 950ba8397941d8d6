//! keytoll as the device, strongSwan as the gateway. Read RFC 7296 §1.2, §2.23 and RFC 3948 first.

use keytoll_interop::{Charon, KeyKind, Lab, Node, Peer, Pki, Terms, Trouble, lab_or_skip};

const PROGRAM: &str = env!("CARGO_BIN_EXE_keytoll-live-peer");

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

fn psk(ike: &'static str, esp: &'static str) {
    let Some(lab) = lab_or_skip() else { return };
    let terms = Terms::psk(ike, esp);
    echo_and_delete(&lab, &terms, None).unwrap_or_else(|why| panic!("{why}"));
}

fn certificate(kind: KeyKind, ike: &'static str) {
    let Some(lab) = lab_or_skip() else { return };
    let pki = Pki::make(lab.shared_dir(), kind).unwrap_or_else(|why| panic!("{why}"));
    let terms = Terms::certificate(ike, "aes128gcm16");
    echo_and_delete(&lab, &terms, Some(&pki)).unwrap_or_else(|why| panic!("{why}"));
}

#[test]
fn psk_with_an_aead() {
    psk("aes128gcm16-prfsha256-x25519", "aes128gcm16");
}

#[test]
fn psk_with_encrypt_then_mac() {
    psk("aes128-sha256-modp2048", "aes128-sha256");
}

#[test]
fn psk_with_aes_xcbc_and_ecp() {
    psk("aes256ctr-aesxcbc-prfaesxcbc-ecp384", "aes256-sha384");
}

#[test]
fn psk_with_chacha() {
    psk("chacha20poly1305-prfsha512-ecp256", "chacha20poly1305");
}

#[test]
fn rsa_2048() {
    certificate(KeyKind::Rsa2048, "aes128-sha256-modp2048");
}

#[test]
fn ecdsa_p256() {
    certificate(KeyKind::EcdsaP256, "aes128gcm16-prfsha256-ecp256");
}

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
    wrong_secret(&lab).unwrap_or_else(|why| panic!("{why}"));
}

fn wrong_secret(lab: &Lab) -> Result<(), Trouble> {
    let terms = Terms::psk("aes128gcm16-prfsha256-x25519", "aes128gcm16");
    let gw = Charon::start(lab, Node::Gw, &Terms { secret: "another", ..terms }, None)?;
    let mut ue = Peer::start(lab, Node::Ue, PROGRAM, &terms, None)?;
    ue.say("echo")?;
    assert_eq!(ue.expect("failed")?, "failed AUTHENTICATION_FAILED");
    assert_eq!(gw.list_sas()?, []);
    Ok(())
}

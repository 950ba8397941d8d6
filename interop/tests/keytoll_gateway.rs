//! strongSwan as the device, keytoll as the gateway. Read RFC 7296 §1.2, §2.19, §2.23 and RFC 3948 first.

use keytoll_interop::{Charon, KeyKind, Lab, Node, Peer, Pki, Terms, Trouble, lab_or_skip};

const PROGRAM: &str = env!("CARGO_BIN_EXE_keytoll-live-peer");

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

fn psk(ike: &'static str, esp: &'static str) {
    let Some(lab) = lab_or_skip() else { return };
    let terms = Terms::psk(ike, esp);
    ping_and_delete(&lab, &terms, None).unwrap_or_else(|why| panic!("{why}"));
}

fn certificate(kind: KeyKind, ike: &'static str) {
    let Some(lab) = lab_or_skip() else { return };
    let pki = Pki::make(lab.shared_dir(), kind).unwrap_or_else(|why| panic!("{why}"));
    let terms = Terms::certificate(ike, "aes128gcm16");
    ping_and_delete(&lab, &terms, Some(&pki)).unwrap_or_else(|why| panic!("{why}"));
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
    let terms = Terms::psk("aes128gcm16-prfsha256-x25519", "aes128gcm16");
    let mut gw = Peer::start(lab, Node::Gw, PROGRAM, &terms, None)?;
    let ue = Charon::start(lab, Node::Ue, &terms, None)?;
    ue.initiate()?;
    gw.expect("established")?;
    gw.say("delete")?;
    gw.expect("closed")?;
    ue.await_sas("the delete", <[_]>::is_empty)?;
    Ok(())
}

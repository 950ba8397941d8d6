//! strongSwan against strongSwan. Nothing of keytoll's own is under test here: when this fails, the environment is to
//! blame, and the failures of the other files need no looking at.

use keytoll_interop::{Charon, Inner, KeyKind, Lab, Node, Pki, Terms, Trouble, lab_or_skip};

const IKE: &str = "aes128-sha256-modp2048";
const ESP: &str = "aes128gcm16";

fn established(lab: &Lab, terms: &Terms, pki: Option<&Pki>) -> Result<(), Trouble> {
    let gw = Charon::start(lab, Node::Gw, terms, pki)?;
    let ue = Charon::start(lab, Node::Ue, terms, pki)?;
    ue.initiate()?;
    for side in [&ue, &gw] {
        let sas = side.list_sas()?;
        assert_eq!(sas.len(), 1, "{sas:?}");
        assert_eq!(sas[0].state, "ESTABLISHED");
        assert_eq!(sas[0].children.len(), 1, "{sas:?}");
        assert_eq!(sas[0].children[0].state, "INSTALLED");
    }
    lab.ping(Node::Ue, None, Node::Gw.inner(), 3)?;
    let child = &gw.list_sas()?[0].children[0];
    assert_eq!((child.bytes_in, child.bytes_out), (3 * 84, 3 * 84), "three echoes of 84 bytes each way");
    ue.terminate()?;
    assert_eq!(ue.list_sas()?, []);
    gw.await_sas("the delete", <[_]>::is_empty)?;
    Ok(())
}

#[test]
fn with_a_shared_key_and_a_virtual_address() {
    let Some(lab) = lab_or_skip() else { return };
    established(&lab, &Terms::psk(IKE, ESP), None).unwrap();
}

#[test]
fn with_rsa_certificates_between_networks() {
    let Some(lab) = lab_or_skip() else { return };
    let pki = Pki::make(lab.shared_dir(), KeyKind::Rsa2048).unwrap();
    established(&lab, &Terms { inner: Inner::Subnet, ..Terms::certificate(IKE, ESP) }, Some(&pki)).unwrap();
}

#[test]
fn a_lab_leaves_nothing_behind() {
    let Some(lab) = lab_or_skip() else { return };
    let (namespace, dir) = (lab.namespace(Node::Ue), lab.shared_dir().to_owned());
    let there = || std::path::Path::new("/run/netns").join(&namespace).exists();
    assert!(there() && dir.exists());
    drop(lab);
    assert!(!there() && !dir.exists());
}

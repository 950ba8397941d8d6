//! strongSwan against strongSwan. Nothing of keytoll's own is under test here: when this fails, the environment is to
//! blame, and the failures of the other files need no looking at.

use std::collections::BTreeMap;

use keytoll_daemons::charon::IkeVersion;
use keytoll_interop::{Auth, Charon, Inner, KeyKind, Lab, Node, Pki, Terms, Trouble, lab_or_skip};

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

/// How many messages of IKEv1, and octets of them, an authentication takes, phase 2 included and the two deletes left out.
fn messages_of_version_1(lab: &Lab, version: IkeVersion, auth: Auth) -> Result<(usize, usize), Trouble> {
    let pki = Pki::make(lab.shared_dir(), KeyKind::Rsa2048)?;
    let terms = Terms { charon: "fragmentation = no", ..Terms::v1(version, auth, IKE, ESP) };
    established(lab, &terms, Some(&pki))?;
    let sizes = [Node::Ue, Node::Gw].map(|node| sizes(&lab.log(node))).concat();
    Ok((sizes.len(), sizes.iter().sum()))
}

/// The octets of every message that a daemon made and sent, but those of INFORMATIONAL. What it sends again it does not
/// generate again, and its threads mix their lines: `05[ENC] <c|1> generating …`, `05[NET] <c|1> sending packet: …`.
fn sizes(log: &str) -> Vec<usize> {
    let mut made = BTreeMap::new();
    let mut sizes = Vec::new();
    for line in log.lines() {
        let thread = line.split_once('[').map_or("", |(before, _)| before);
        if let Some((_, exchange)) = line.split_once(" generating ").filter(|_| line.ends_with(" ]")) {
            made.insert(thread, exchange);
        }
        let Some(size) = sent_octets(line) else { continue };
        if made.remove(thread).is_some_and(|exchange| !exchange.starts_with("INFORMATIONAL")) {
            sizes.push(size);
        }
    }
    sizes
}

/// What `… sending packet: from 10.0.0.1[500] to 10.0.0.2[500] (372 bytes)` tells.
fn sent_octets(line: &str) -> Option<usize> {
    let (_, size) = line.split_once(" sending packet: ")?.1.split_once(" (")?;
    Some(size.trim_end_matches(" bytes)").parse().expect("strongSwan logs the size"))
}

#[test]
fn what_is_sent_again_is_not_counted_again() {
    let log = "05[ENC] <c|1> generating AGGRESSIVE request 0 [ SA KE No ID ]\n\
               06[ENC] <c|2> generating INFORMATIONAL_V1 request 7 [ HASH D ]\n\
               05[NET] <c|1> sending packet: from 10.0.0.1[500] to 10.0.0.2[500] (372 bytes)\n\
               06[NET] <c|2> sending packet: from 10.0.0.1[500] to 10.0.0.2[500] (84 bytes)\n\
               05[IKE] <c|1> sending retransmit 1 of request message ID 0, seq 1\n\
               05[NET] <c|1> sending packet: from 10.0.0.1[500] to 10.0.0.2[500] (372 bytes)\n";
    assert_eq!(sizes(log), [372]);
}

/// What keytoll is held against: `(messages, octets of IKE)`; those with certificates vary with their serial numbers.
#[test]
fn version_1_takes_nine_messages_in_main_mode_and_six_in_aggressive_mode() {
    use Auth::{Certificate, Psk, RawKey};
    use IkeVersion::{V1Aggressive, V1Main};
    for (version, auth, messages, octets) in [
        (V1Main, Psk, 9, Some(1720)),
        (V1Main, RawKey, 9, Some(2168)),
        (V1Main, Certificate, 9, None),
        (V1Aggressive, Psk, 6, Some(1612)),
        (V1Aggressive, RawKey, 6, Some(2060)),
        (V1Aggressive, Certificate, 6, None),
    ] {
        let count = || Some(messages_of_version_1(&lab_or_skip()?, version, auth).unwrap());
        let Some(mut seen) = count() else { return };
        // On a machine without time a daemon may answer twice what was sent twice: that is generated twice.
        for _ in 0..2 {
            seen = if seen.0 == messages { seen } else { count().unwrap_or(seen) };
        }
        assert_eq!(seen.0, messages, "{version:?} {auth:?}");
        assert!(octets.is_none_or(|octets| octets == seen.1), "{version:?} {auth:?}: {seen:?}");
    }
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

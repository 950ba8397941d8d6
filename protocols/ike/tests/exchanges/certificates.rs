//! IKE_AUTH with certificates: every kind of key, chains, old and new signature methods, fragments.

use std::sync::Arc;

use keytoll_crypto_api::algorithm::{Hash, KeyKind, SignatureScheme};
use keytoll_ike::Config;
use keytoll_ike::config::{Believe, Prove, Weakest};
use keytoll_ike::number::AuthMethod;
use keytoll_ike::v2::schemes;
use keytoll_ike::wire::Identity;

use crate::support::lab::{Pki, both, only};
use crate::support::{Bench, Side, check};

fn established(configs: (Config, Config)) -> Bench {
    let bench = Bench::new(configs).established();
    bench.assert_agreement();
    bench
}

#[test]
fn rsa_signatures_of_rfc_7427() {
    let mut configs = Pki::new(KeyKind::Rsa2048, 2).configs();
    configs.0.fragmentation = None;
    check(
        &established(configs),
        "
        i -> r  IKE_SA_INIT request  SA KE Nonce N N N
        r -> i  IKE_SA_INIT response  SA KE Nonce N N CERTREQ N
        i -> r  IKE_AUTH request  SK IDi CERT CERTREQ IDr AUTH SA TSi TSr
        r -> i  IKE_AUTH response  SK IDr CERT AUTH SA TSi TSr
        r  established with device.example.org
        r  child up: aes128gcm16
        i  established with gw.example.org
        i  child up: aes128gcm16
    ",
    );
}

#[test]
fn every_kind_of_key_and_every_length_of_chain() {
    let kinds =
        [KeyKind::Rsa1024, KeyKind::EcdsaP256, KeyKind::EcdsaP384, KeyKind::EcdsaP521, KeyKind::Ed25519];
    for kind in kinds {
        for chain_length in 1..=4 {
            let bench = Bench::new(Pki::new(kind, chain_length).configs()).established();
            assert_eq!(bench.i.endpoint.sa_count(), 1, "{kind} {chain_length}\n{}", bench.ladder);
            bench.assert_agreement();
        }
    }
}

/// A peer that does not announce SIGNATURE_HASH_ALGORITHMS gets, and sends, signatures with the old methods.
#[test]
fn old_methods_for_peers_that_support_no_other() {
    for kind in [KeyKind::Rsa2048, KeyKind::EcdsaP256, KeyKind::EcdsaP384, KeyKind::EcdsaP521] {
        for old in Side::BOTH {
            let (mut i, mut r) = naming(Pki::new(kind, 2).configs(), &old_schemes(kind));
            i.signature_hashes = old != Side::I;
            r.signature_hashes = old != Side::R;
            established((i, r));
        }
    }
}

/// Both sides sign with these.
fn naming(configs: (Config, Config), schemes: &[SignatureScheme]) -> (Config, Config) {
    both(configs, |connection| connection.signatures = schemes.to_vec())
}

/// The schemes of a key for peers that announce a hash, and for those that do not.
fn old_schemes(kind: KeyKind) -> Vec<SignatureScheme> {
    let of_key = SignatureScheme::NEGOTIABLE.into_iter().filter(|scheme| scheme.fits(kind));
    of_key.filter(|scheme| schemes::method(*scheme).is_some()).collect()
}

/// RFC 7427 with every scheme that each key supports.
#[test]
fn every_scheme_of_every_key() {
    let mut tried = 0;
    for kind in
        [KeyKind::Rsa1024, KeyKind::EcdsaP256, KeyKind::EcdsaP384, KeyKind::EcdsaP521, KeyKind::Ed25519]
    {
        let pki = Pki::new(kind, 1);
        for scheme in SignatureScheme::NEGOTIABLE.into_iter().filter(|scheme| scheme.fits(kind)) {
            let (mut i, mut r) = naming(pki.configs(), &[scheme]);
            let is_old = schemes::method(scheme) != Some(AuthMethod::DIGITAL_SIGNATURE);
            (i.signature_hashes, r.signature_hashes) = (!is_old, !is_old);
            established((i, r));
            tried += 1;
        }
    }
    assert_eq!(tried, 6 + 3 * 4 + 1, "of RSA-1024 all but PSS with SHA-512, and SHA-1");
}

/// A peer that announces no hash gets no RSA signature, unless SHA-1 is configured; the failure lists what both support.
#[test]
fn a_scheme_that_nobody_shares() {
    for silent in Side::BOTH {
        let (mut i, mut r) = Pki::new(KeyKind::Rsa1024, 1).configs();
        i.signature_hashes = silent != Side::I;
        r.signature_hashes = silent != Side::R;
        let mut bench = Bench::new((i, r)).established();
        let speaker = if silent == Side::I { Side::R } else { Side::I };
        assert_eq!(bench.failures(speaker), ["no common signature scheme"], "{}", bench.ladder);
    }
}

/// A connection may want longer keys than the peer's certificate has, and stronger hashes than the peer signs with.
#[test]
fn a_weak_signature_is_refused() {
    let refused = |kind, weakest: Weakest| {
        let (i, mut r) = Pki::new(kind, 1).configs();
        only(&mut r).weakest = weakest;
        let mut bench = Bench::new((i, r)).established();
        bench.failures(Side::R)
    };
    let long = Weakest { rsa_bits: 2048, ..Weakest::default() };
    assert_eq!(refused(KeyKind::Rsa1024, long), ["signature too weak"]);
    assert_eq!(refused(KeyKind::Rsa2048, long), [""; 0]);
    let strong = Weakest { hash: Hash::Sha384, ..Weakest::default() };
    assert_eq!(refused(KeyKind::EcdsaP256, strong), ["signature too weak"]);
    assert_eq!(refused(KeyKind::EcdsaP384, strong), [""; 0]);
}

/// Ed25519 has no old method, so its owner cannot authenticate.
#[test]
fn ed25519_needs_rfc_7427() {
    let (mut i, r) = Pki::new(KeyKind::Ed25519, 2).configs();
    i.signature_hashes = false;
    let mut bench = Bench::new((i, r)).established();
    check(
        &bench,
        "
        i -> r  IKE_SA_INIT request  SA KE Nonce N N N
        r -> i  IKE_SA_INIT response  SA KE Nonce N N CERTREQ N N
        i -> r  IKE_AUTH request  SK IDi CERT CERTREQ IDr AUTH SA TSi TSr
        r  failed: no common signature scheme (we sign with ed25519; the peer announces no hash of RFC 7427)
        r -> i  IKE_AUTH response  SK N
        i  failed: AUTHENTICATION_FAILED
    ",
    );
    assert_eq!(bench.failures(Side::R), ["no common signature scheme"]);
    bench.assert_nothing_remains();
}

#[test]
fn a_distinguished_name_as_identity() {
    let pki = Pki::new(KeyKind::EcdsaP256, 2);
    let (mut i, mut r) = pki.configs();
    let subject = keytoll_pki::describe(&pki.device.chain[0]).unwrap().subject;
    only(&mut i).local_id = Identity::distinguished_name(&subject);
    only(&mut r).remote_id = Some(Identity::distinguished_name(&subject));
    established((i, r));
}

/// One side with a certificate, the other with a shared key.
#[test]
fn each_side_may_authenticate_in_its_own_way() {
    let pki = Pki::new(KeyKind::EcdsaP256, 2);
    let ((mut i, mut r), (with_i, with_r)) = (crate::support::lab::psk(), pki.configs());
    only(&mut i).remote = with_i.connections[0].remote.clone();
    only(&mut r).local = with_r.connections[0].local.clone();
    let bench = established((i, r));
    check(
        &bench,
        "
        i -> r  IKE_SA_INIT request  SA KE Nonce N N N N
        r -> i  IKE_SA_INIT response  SA KE Nonce N N N N
        i -> r  IKE_AUTH request  SK IDi CERTREQ IDr AUTH SA TSi TSr
        r -> i  IKE_AUTH response  SK IDr CERT AUTH SA TSi TSr
        r  established with device.example.org
        r  child up: aes128gcm16
        i  established with gw.example.org
        i  child up: aes128gcm16
    ",
    );
}

/// A gateway that accepts certificates from some peers and shared keys from others, whatever their identity.
#[test]
fn one_gateway_for_both_kinds_of_proof() {
    let pki = Pki::new(KeyKind::EcdsaP256, 2);
    let ((with_key, mut r), (with_certificate, other)) = (crate::support::lab::psk(), pki.configs());
    only(&mut r).remote_id = None;
    r.connections.push(other.connections[0].clone());
    for i in [with_key, with_certificate] {
        established((i.clone(), r.clone()));
        r.connections.reverse();
        established((i, r.clone()));
    }
}

/// A chain of four RSA-4096 certificates far exceeds packets of 1280 bytes.
#[test]
fn long_chains_travel_in_fragments() {
    let bench = established(Pki::new(KeyKind::Rsa4096, 4).configs());
    check(
        &bench,
        "
        i -> r  IKE_SA_INIT request  SA KE Nonce N N N N
        r -> i  IKE_SA_INIT response  SA KE Nonce N N CERTREQ N N
        i -> r  IKE_AUTH request  SK IDi CERT CERT CERT CERTREQ IDr AUTH SA TSi TSr  #1
        i -> r  IKE_AUTH request  SK IDi CERT CERT CERT CERTREQ IDr AUTH SA TSi TSr  #2
        i -> r  IKE_AUTH request  SK IDi CERT CERT CERT CERTREQ IDr AUTH SA TSi TSr  #3
        i -> r  IKE_AUTH request  SK IDi CERT CERT CERT CERTREQ IDr AUTH SA TSi TSr  #4
        i -> r  IKE_AUTH request  SK IDi CERT CERT CERT CERTREQ IDr AUTH SA TSi TSr  #5
        r -> i  IKE_AUTH response  SK IDr CERT CERT CERT AUTH SA TSi TSr  #1
        r -> i  IKE_AUTH response  SK IDr CERT CERT CERT AUTH SA TSi TSr  #2
        r -> i  IKE_AUTH response  SK IDr CERT CERT CERT AUTH SA TSi TSr  #3
        r -> i  IKE_AUTH response  SK IDr CERT CERT CERT AUTH SA TSi TSr  #4
        r -> i  IKE_AUTH response  SK IDr CERT CERT CERT AUTH SA TSi TSr  #5
        r  established with device.example.org
        r  child up: aes128gcm16
        i  established with gw.example.org
        i  child up: aes128gcm16
    ",
    );
    let longest = bench.sent.iter().map(|(_, datagram)| datagram.bytes.len()).max().unwrap();
    assert_eq!(longest, 1280 - 20 - 8, "packets are as long as they may be, and no longer");
}

/// A lost fragment causes a retransmission of the whole message, of which all other fragments are known.
#[test]
fn a_lost_fragment() {
    let mut bench = Bench::new(Pki::new(KeyKind::Rsa2048, 3).configs()).lose(4).lose(8);
    bench.initiate();
    bench.run_for(std::time::Duration::from_secs(20));
    check(
        &bench,
        "
        i -> r  IKE_SA_INIT request  SA KE Nonce N N N N
        r -> i  IKE_SA_INIT response  SA KE Nonce N N CERTREQ N N
        i -> r  IKE_AUTH request  SK IDi CERT CERT CERTREQ IDr AUTH SA TSi TSr  #1
        i x> r  IKE_AUTH request  SK IDi CERT CERT CERTREQ IDr AUTH SA TSi TSr  #2  lost
        i -> r  IKE_AUTH request  SK IDi CERT CERT CERTREQ IDr AUTH SA TSi TSr  #1  again
        i -> r  IKE_AUTH request  SK IDi CERT CERT CERTREQ IDr AUTH SA TSi TSr  #2  again
        r  discards: repeated fragment
        r -> i  IKE_AUTH response  SK IDr CERT CERT AUTH SA TSi TSr  #1
        r x> i  IKE_AUTH response  SK IDr CERT CERT AUTH SA TSi TSr  #2  lost
        r  established with device.example.org
        r  child up: aes128gcm16
        i -> r  IKE_AUTH request  SK IDi CERT CERT CERTREQ IDr AUTH SA TSi TSr  #1  again
        i -> r  IKE_AUTH request  SK IDi CERT CERT CERTREQ IDr AUTH SA TSi TSr  #2  again
        r -> i  IKE_AUTH response  SK IDr CERT CERT AUTH SA TSi TSr  #1  again
        r -> i  IKE_AUTH response  SK IDr CERT CERT AUTH SA TSi TSr  #2  again
        i  discards: repeated fragment
        i  established with gw.example.org
        i  child up: aes128gcm16
    ",
    );
    bench.assert_agreement();
}

#[test]
fn no_fragments_if_one_side_does_not_support_them() {
    for side in Side::BOTH {
        let (mut i, mut r) = Pki::new(KeyKind::Rsa2048, 3).configs();
        if side == Side::I {
            i.fragmentation = None;
        } else {
            r.fragmentation = None;
        }
        let bench = established((i, r));
        assert_eq!(bench.sent.len(), 4, "{}", bench.ladder);
    }
}

#[test]
fn configured_raw_keys_need_no_certificate() {
    let pki = Pki::new(KeyKind::EcdsaP256, 1);
    let configs = |believed: &Pki| {
        let (mut i, mut r) = pki.configs();
        only(&mut i).local = Prove::RawKey(pki.device.key.clone());
        only(&mut i).remote = Believe::RawKey(Arc::clone(&pki.gateway.key.spki));
        only(&mut r).local = Prove::RawKey(pki.gateway.key.clone());
        only(&mut r).remote = Believe::RawKey(Arc::clone(&believed.device.key.spki));
        (i, r)
    };
    let bench = Bench::new(configs(&pki)).established();
    bench.assert_agreement();
    let mut bench = Bench::new(configs(&Pki::seeded(KeyKind::EcdsaP256, 1, 9))).established();
    assert_eq!(bench.failures(Side::R), ["AUTHENTICATION_FAILED"], "another key is not it");
    let (i, mut r) = configs(&pki);
    only(&mut r).remote_id = None;
    let mut bench = Bench::new((i, r)).established();
    assert_eq!(bench.failures(Side::R), ["AUTHENTICATION_FAILED"], "whose key it is must be known");
}

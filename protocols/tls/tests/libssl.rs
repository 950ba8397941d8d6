//! Against the system's OpenSSL, in memory: handshakes succeed both ways and both sides export the same keys.

#![allow(clippy::unwrap_used, reason = "helpers of tests may panic like tests")]

use crate::common;

use std::io::{ErrorKind, Read, Result, Write};

use common::{End, NOW_UNIX_SECONDS, World, real};
use keytoll_crypto::keys;
use keytoll_crypto_api::algorithm::KeyKind;
use keytoll_crypto_api::credentials::Credential;
use keytoll_tls::{Failure, Version};
use openssl::pkey::PKey;
use openssl::ssl::{ErrorCode, Ssl, SslContext, SslMethod, SslOptions, SslStream, SslVerifyMode, SslVersion};
use openssl::x509::X509;

/// The input and output of libssl.
#[derive(Default)]
struct Wire {
    input: Vec<u8>,
    output: Vec<u8>,
}

impl Read for Wire {
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize> {
        if self.input.is_empty() {
            return Err(ErrorKind::WouldBlock.into());
        }
        let len = buffer.len().min(self.input.len());
        buffer[..len].copy_from_slice(&self.input[..len]);
        self.input.drain(..len);
        Ok(len)
    }
}

impl Write for Wire {
    fn write(&mut self, bytes: &[u8]) -> Result<usize> {
        self.output.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> Result<()> {
        Ok(())
    }
}

/// libssl as one of the two ends.
struct Foreign {
    stream: SslStream<Wire>,
    is_server: bool,
    error: Option<String>,
}

impl Foreign {
    fn new(credential: &Credential, anchor: &[u8], version: Version, is_server: bool) -> Self {
        let mut context = SslContext::builder(SslMethod::tls()).unwrap();
        let number = if version == Version::Tls12 { SslVersion::TLS1_2 } else { SslVersion::TLS1_3 };
        context.set_min_proto_version(Some(number)).unwrap();
        context.set_max_proto_version(Some(number)).unwrap();
        context.set_options(SslOptions::NO_TICKET);
        context.set_certificate(&X509::from_der(&credential.chain[0]).unwrap()).unwrap();
        for certificate in &credential.chain[1..] {
            context.add_extra_chain_cert(X509::from_der(certificate).unwrap()).unwrap();
        }
        let key = PKey::private_key_from_pkcs8(&keys::to_pkcs8(&credential.key).unwrap()).unwrap();
        context.set_private_key(&key).unwrap();
        context.cert_store_mut().add_cert(X509::from_der(anchor).unwrap()).unwrap();
        context.set_verify(SslVerifyMode::PEER | SslVerifyMode::FAIL_IF_NO_PEER_CERT);
        let ssl = Ssl::new(&context.build()).unwrap();
        let stream = SslStream::new(ssl, Wire::default()).unwrap();
        Self { stream, is_server, error: None }
    }

    /// Passes bytes and continues as far as possible.
    fn step(&mut self, bytes: &[u8]) -> Vec<u8> {
        self.stream.get_mut().input.extend_from_slice(bytes);
        if self.error.is_none() && !self.stream.ssl().is_init_finished() {
            let result = if self.is_server { self.stream.accept() } else { self.stream.connect() };
            if let Err(error) = result
                && error.code() != ErrorCode::WANT_READ
            {
                self.error = Some(error.to_string());
            }
        }
        std::mem::take(&mut self.stream.get_mut().output)
    }

    fn export(&self, label: &str, context: Option<&[u8]>) -> Vec<u8> {
        let mut keys = vec![0; 128];
        self.stream.ssl().export_keying_material(&mut keys, label, context).unwrap();
        keys
    }
}

fn world(kind: KeyKind, chain_length: usize) -> World {
    // libssl uses the real clock: valid for ten years around now.
    let years = 5 * 365 * 86_400;
    World::valid(kind, chain_length, NOW_UNIX_SECONDS - years, NOW_UNIX_SECONDS + years)
}

fn ours(world: &World, version: Version, is_server: bool) -> End {
    let end = End::new(real(), "ours", 1);
    if is_server { end.server(&world.server(version)) } else { end.client(&world.client(version)) }
}

fn shake(ours: &mut End, foreign: &mut Foreign) -> std::result::Result<(), Failure> {
    let mut result = Ok(());
    for _ in 0..5 {
        let answer = foreign.step(&ours.session().take_output());
        result = result.and(ours.feed(&answer));
    }
    result
}

fn check(kind: KeyKind, chain_length: usize, version: Version, is_server: bool) {
    let case = format!("{kind}, {chain_length} certificates, {version:?}, server: {is_server}");
    let world = world(kind, chain_length);
    let credential = if is_server { &world.client } else { &world.server };
    let mut foreign = Foreign::new(credential, &world.anchor, version, !is_server);
    let mut ours = ours(&world, version, is_server);
    let result = shake(&mut ours, &mut foreign);
    assert_eq!((result, &foreign.error), (Ok(()), &None), "{case}");
    assert!(!ours.session().is_handshaking() && foreign.stream.ssl().is_init_finished(), "{case}");
    check_exports(&mut ours, &foreign, &case);
    check_data(&mut ours, &mut foreign, &case);
    check_hellos(&mut ours, &foreign, &case);
}

fn check_exports(ours: &mut End, foreign: &Foreign, case: &str) {
    // RFC 5216 §2.3: no context.
    // RFC 9190 §2.3: the type of the method as context.
    let labels = [
        ("client EAP encryption", None),
        ("ttls keying material", None),
        ("EXPORTER_EAP_TLS_Key_Material", Some(&[13][..])),
        ("EXPORTER_EAP_TLS_Method-Id", Some(&[13][..])),
    ];
    for (label, context) in labels {
        assert_eq!(ours.export(label, context, 128), foreign.export(label, context), "{case}: {label}");
    }
}

fn check_data(ours: &mut End, foreign: &mut Foreign, case: &str) {
    foreign.stream.write_all(&[0]).unwrap();
    let record = std::mem::take(&mut foreign.stream.get_mut().output);
    ours.feed(&record).unwrap();
    assert!(ours.session().take_success_indication(), "{case}");
    ours.with(|session, cx, rng| session.send(b"inner", cx, rng)).unwrap();
    let records = ours.session().take_output();
    foreign.stream.get_mut().input.extend_from_slice(&records);
    let mut inner = [0; 5];
    foreign.stream.read_exact(&mut inner).unwrap();
    assert_eq!(&inner, b"inner", "{case}");
}

fn check_hellos(ours: &mut End, foreign: &Foreign, case: &str) {
    let (mut client, mut server) = ([0; 32], [0; 32]);
    foreign.stream.ssl().client_random(&mut client);
    foreign.stream.ssl().server_random(&mut server);
    let hellos = ours.session().hellos().unwrap();
    assert_eq!((hellos.client_random, hellos.server_random), (client, server), "{case}");
}

#[test]
fn libssl_agrees_on_keys_in_every_combination() {
    for kind in [KeyKind::Rsa2048, KeyKind::EcdsaP256] {
        for chain_length in [2, 4] {
            for version in [Version::Tls12, Version::Tls13] {
                check(kind, chain_length, version, false);
                check(kind, chain_length, version, true);
            }
        }
    }
}

#[test]
fn libssl_agrees_with_other_keys() {
    for kind in [KeyKind::EcdsaP384, KeyKind::EcdsaP521, KeyKind::Ed25519] {
        for version in [Version::Tls12, Version::Tls13] {
            check(kind, 2, version, false);
            check(kind, 2, version, true);
        }
    }
}

#[test]
fn libssl_agrees_with_every_suite() {
    let suites = [
        ("ECDHE-RSA-AES128-GCM-SHA256", 0xc02f),
        ("ECDHE-RSA-AES256-GCM-SHA384", 0xc030),
        ("ECDHE-RSA-CHACHA20-POLY1305", 0xcca8),
        ("TLS_AES_128_GCM_SHA256", 0x1301),
        ("TLS_AES_256_GCM_SHA384", 0x1302),
        ("TLS_CHACHA20_POLY1305_SHA256", 0x1303),
    ];
    let world = world(KeyKind::Rsa2048, 2);
    for (name, number) in suites {
        let version = if number < 0x2000 { Version::Tls13 } else { Version::Tls12 };
        let mut foreign = Foreign::new(&world.client, &world.anchor, version, false);
        let mut context = SslContext::builder(SslMethod::tls()).unwrap();
        let set = if version == Version::Tls13 {
            context.set_ciphersuites(name)
        } else {
            context.set_cipher_list(name)
        };
        set.unwrap();
        context.set_verify(SslVerifyMode::NONE);
        foreign.stream = SslStream::new(Ssl::new(&context.build()).unwrap(), Wire::default()).unwrap();
        let server = keytoll_tls::Config { trust: None, ..world.server(version) };
        let mut ours = End::new(real(), "ours", 1).server(&server);
        assert_eq!(shake(&mut ours, &mut foreign), Ok(()), "{name}");
        assert_eq!(ours.session().suite(), Some(number));
        check_exports(&mut ours, &foreign, name);
        check_data(&mut ours, &mut foreign, name);
    }
}

#[test]
fn libssl_hears_why() {
    let world = world(KeyKind::EcdsaP256, 2);
    let strange = World::below_an_unknown_authority(KeyKind::EcdsaP256);
    for version in [Version::Tls12, Version::Tls13] {
        let mut foreign = Foreign::new(&strange.server, &world.anchor, version, true);
        let mut ours = ours(&world, version, false);
        assert_eq!(shake(&mut ours, &mut foreign), Err(Failure::UnknownAuthority));
        let error = foreign.error.unwrap();
        assert!(error.contains("unknown ca"), "{error}");
    }
}

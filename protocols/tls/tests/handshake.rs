//! The engine against itself: versions, chains, keys, groups, exporters, resumption, and all kinds of failure.

#![allow(clippy::unwrap_used, reason = "helpers of tests may panic like tests")]

use crate::common;

use std::sync::Arc;
use std::time::Duration;

use common::{End, NOW_UNIX_SECONDS, World, established, pair, real, shake};
use keytoll_crypto_api::algorithm::{Group, KeyKind};
use keytoll_engine::Time;
use keytoll_engine::trace::Revealed;
use keytoll_tls::{Alert, Client, Config, ConfigError, Failure, Server, Session, Version};

const VERSIONS: [Version; 2] = [Version::Tls12, Version::Tls13];

fn check_mutual(kind: KeyKind, chain_length: usize) {
    let world = World::new(kind, chain_length);
    for version in VERSIONS {
        let (mut client, mut server) = established(&world.client(version), &world.server(version));
        assert_eq!(client.session().version(), Some(version));
        let names = [client.session().peer().unwrap(), server.session().peer().unwrap()];
        assert_eq!(
            names.map(|peer| peer.spki.clone()),
            [&world.server, &world.client].map(|c| c.key.spki.to_vec())
        );
        for (label, context) in
            [("client EAP encryption", None), ("EXPORTER_EAP_TLS_Key_Material", Some(&[13][..]))]
        {
            let keys = client.export(label, context, 128);
            assert_eq!(keys, server.export(label, context, 128));
            assert_ne!(keys, [0; 128]);
        }
        assert_eq!(client.session().hellos(), server.session().hellos());
        assert!(client.session().hellos().is_some());
    }
}

#[test]
fn both_sides_authenticate_with_every_kind_of_key_and_length_of_chain() {
    for kind in [KeyKind::Rsa2048, KeyKind::EcdsaP256] {
        check_mutual(kind, 2);
        check_mutual(kind, 4);
    }
    for kind in [KeyKind::EcdsaP384, KeyKind::EcdsaP521, KeyKind::Ed25519] {
        check_mutual(kind, 2);
    }
}

#[test]
fn every_group_works_in_both_versions() {
    let world = World::new(KeyKind::EcdsaP256, 2);
    for group in [Group::X25519, Group::Ecp256, Group::Ecp384, Group::Ecp521] {
        for version in VERSIONS {
            let client = Config { groups: vec![group], ..world.client(version) };
            let (mut client, mut server) = established(&client, &world.server(version));
            assert_eq!(client.export("x", None, 32), server.export("x", None, 32), "{group} {version:?}");
        }
    }
}

#[test]
fn a_client_without_certificate_is_accepted_if_none_is_requested() {
    let world = World::new(KeyKind::EcdsaP256, 2);
    for version in VERSIONS {
        let client = Config { credential: None, ..world.client(version) };
        let server = Config { trust: None, ..world.server(version) };
        let (mut client, mut server) = established(&client, &server);
        assert!(server.session().peer().is_none() && client.session().peer().is_some());
        client.with(|session, cx, rng| session.send(b"inner", cx, rng)).unwrap();
        let records = client.session().take_output();
        server.feed(&records).unwrap();
        assert!(!format!("{:?}", server.session()).contains("110"), "application data are not shown");
        assert_eq!(server.session().take_received(), b"inner");
    }
}

#[test]
fn the_success_indication_of_rfc_9190_arrives() {
    let world = World::new(KeyKind::EcdsaP256, 2);
    let (mut client, mut server) = established(&world.client(Version::Tls13), &world.server(Version::Tls13));
    assert!(!client.session().take_success_indication());
    server.with(Session::indicate_success).unwrap();
    let record = server.session().take_output();
    // Header(5) Data(1) ContentType(1) Tag(16).
    assert_eq!(record.len(), 23);
    client.feed(&record).unwrap();
    assert!(client.session().take_success_indication());
    assert!(client.session().take_received().is_empty());
}

#[test]
fn close_notify_closes() {
    let world = World::new(KeyKind::EcdsaP256, 2);
    for version in VERSIONS {
        let (mut client, mut server) = established(&world.client(version), &world.server(version));
        server.with(Session::close);
        let record = server.session().take_output();
        assert!(!client.session().is_closed());
        client.feed(&record).unwrap();
        assert!(client.session().is_closed());
        // RFC 8446 §6.1: further data are ignored.
        assert_eq!(client.feed(&[0xff; 100]), Ok(()));
    }
}

#[test]
fn calls_that_are_too_early_are_refused() {
    let world = World::new(KeyKind::EcdsaP256, 2);
    let (mut client, mut server) = pair(&world.client(Version::Tls13), &world.server(Version::Tls13));
    let export = client.with(|session, cx, _| session.export(b"x", None, 32, cx));
    assert_eq!(export, Err(Failure::NotNow));
    assert_eq!(server.with(|session, cx, rng| session.send(b"x", cx, rng)), Err(Failure::NotNow));
    assert_eq!(server.session().version(), None);
    assert_eq!(client.session().hellos(), None);
}

fn at(hours: u64) -> Time {
    Time::ZERO + Duration::from_secs(hours * 3600)
}

/// Three conversations of the same two ends, the second and third some hours after the first; whether each was resumed, and the
/// client's identity at the server.
fn resumed(world: &World, version: Version, vouches: bool, hours: [u64; 2]) -> [(bool, Option<Vec<u8>>); 3] {
    let client = Client::new(&Config { resumption: true, ..world.client(version) }).unwrap();
    let server = Server::new(&Config { resumption: true, ..world.server(version) }).unwrap();
    [(1, 0), (2, hours[0]), (3, hours[1])].map(|(seed, hours)| {
        let (mut a, mut b) = (End::new(real(), "client", seed), End::new(real(), "server", seed));
        (a.now, b.now) = (at(hours), at(hours));
        a.session = Some(a.lend(|cx, rng| Session::client(&client, cx, rng)).unwrap());
        b.session = Some(b.lend(|cx, rng| Session::server(&server, cx, rng)).unwrap());
        let outcome = shake(&mut a, &mut b);
        assert_eq!((outcome.client, outcome.server), (Ok(()), Ok(())));
        assert_eq!(a.export("x", None, 32), b.export("x", None, 32));
        assert_eq!(a.session().is_resumed(), b.session().is_resumed());
        assert_eq!(a.session().is_resumed(), a.session().peer().is_none());
        if vouches {
            a.session.as_mut().unwrap().vouch(b"server");
            b.session.as_mut().unwrap().vouch(format!("client {seed}").as_bytes());
        }
        (b.session().is_resumed(), b.session().vouched().map(<[u8]>::to_vec))
    })
}

#[test]
fn a_session_resumes_an_earlier_authenticated_one() {
    let world = World::new(KeyKind::EcdsaP256, 2);
    for version in VERSIONS {
        let [first, second, third] = resumed(&world, version, true, [0, 0]);
        assert_eq!(first, (false, None), "{version:?}");
        assert_eq!(second, (true, Some(b"client 1".to_vec())), "{version:?}");
        // TLS 1.2 resumes the first again, TLS 1.3 has a new ticket each time.
        let earlier = if version == Version::Tls12 { "client 1" } else { "client 2" };
        assert_eq!(third, (true, Some(earlier.into())), "{version:?}");
    }
}

#[test]
fn an_unauthenticated_session_is_not_resumed() {
    let world = World::new(KeyKind::EcdsaP256, 2);
    for version in VERSIONS {
        assert_eq!(resumed(&world, version, false, [0, 0]), [const { (false, None) }; 3], "{version:?}");
    }
}

/// Two conversations of the same two ends, after the first of which something happens; the result of the second, and whether it
/// was resumed at the client and at the server.
fn resumed_after(
    configs: [Config; 2],
    hours: u64,
    happens: impl FnOnce(),
) -> (Result<(), Failure>, Result<(), Failure>, [bool; 2]) {
    let [client, server] = configs.map(|config| Config { resumption: true, ..config });
    let (client, server) = (Client::new(&client).unwrap(), Server::new(&server).unwrap());
    let meet = |seed, hours| {
        let (mut a, mut b) = (End::new(real(), "client", seed), End::new(real(), "server", seed));
        (a.now, b.now) = (at(hours), at(hours));
        a.session = Some(a.lend(|cx, rng| Session::client(&client, cx, rng)).unwrap());
        b.session = Some(b.lend(|cx, rng| Session::server(&server, cx, rng)).unwrap());
        let outcome = shake(&mut a, &mut b);
        [&mut a, &mut b].into_iter().for_each(|end| end.session().vouch(b"the other"));
        (outcome.client, outcome.server, [a.session().is_resumed(), b.session().is_resumed()])
    };
    assert_eq!(meet(1, 0), (Ok(()), Ok(()), [false; 2]));
    happens();
    meet(2, hours)
}

/// RFC 5216 §2.1.2, RFC 9190 §5.7: a session is not resumed when its certificate has expired.
#[test]
fn a_session_does_not_outlive_the_certificates_that_were_shown() {
    let (hour, from) = (3600, NOW_UNIX_SECONDS - 1000);
    let long = World::valid(KeyKind::EcdsaP256, 2, from, NOW_UNIX_SECONDS + 100 * hour);
    let short = World::valid(KeyKind::EcdsaP256, 2, from, NOW_UNIX_SECONDS + 3 * hour);
    for version in VERSIONS {
        // One side's certificate is from the authority with the short validity.
        let of = |own: &World, other: &World| Config { trust: Some(other.trust()), ..own.client(version) };
        let at = |own: &World, other: &World| Config { trust: Some(other.trust()), ..own.server(version) };
        let client_expires = || [of(&short, &long), at(&long, &short)];
        let server_expires = || [of(&long, &short), at(&short, &long)];
        for configs in [&client_expires as &dyn Fn() -> [Config; 2], &server_expires] {
            assert_eq!(resumed_after(configs(), 2, || ()), (Ok(()), Ok(()), [true; 2]), "{version:?}");
        }
        let (_, server, resumed) = resumed_after(client_expires(), 4, || ());
        assert_eq!((server, resumed), (Err(Failure::Expired), [false; 2]), "{version:?}");
        let (client, _, resumed) = resumed_after(server_expires(), 4, || ());
        assert_eq!((client, resumed), (Err(Failure::Expired), [false; 2]), "{version:?}");
    }
}

/// A certificate on a renewed list is no longer valid; others are.
#[test]
fn a_session_does_not_outlive_a_revocation() {
    let world = World::new(KeyKind::EcdsaP256, 2);
    for version in VERSIONS {
        for (revoked, is_resumed) in [(&world.client, false), (&world.server, true)] {
            let anchors = world.anchors();
            let server = Config { trust: Some(anchors.clone()), ..world.server(version) };
            let (_, at_server, resumed) = resumed_after([world.client(version), server], 0, || {
                anchors.renew_lists(world.revocation_lists(&revoked.chain[0]));
            });
            let expected = if is_resumed { Ok(()) } else { Err(Failure::Revoked) };
            assert_eq!((at_server, resumed), (expected, [is_resumed; 2]), "{version:?}");
        }
    }
}

#[test]
fn after_a_day_the_certificates_are_presented_again() {
    let days = 3 * 86_400;
    let world = World::valid(KeyKind::EcdsaP256, 2, NOW_UNIX_SECONDS - days, NOW_UNIX_SECONDS + days);
    for version in VERSIONS {
        // RFC 8446 §4.6.1: a ticket of the second conversation lives no longer than the first one's.
        let [_, second, third] = resumed(&world, version, true, [23, 24]);
        assert_eq!((second.0, third.0), (true, false), "{version:?}");
        let [_, second, third] = resumed(&world, version, true, [24, 47]);
        assert_eq!((second.0, third.0), (false, true), "{version:?}");
    }
}

#[test]
fn one_seed_gives_one_handshake() {
    // RSA PKCS #1 and Ed25519 signatures are deterministic.
    let world = World::new(KeyKind::Ed25519, 2);
    for version in VERSIONS {
        let bytes = |seed| {
            let mut client = End::new(real(), "client", seed).client(&world.client(version));
            let mut server = End::new(real(), "server", seed).server(&world.server(version));
            let hello = client.session().take_output();
            server.feed(&hello).unwrap();
            (hello, server.session().take_output())
        };
        assert_eq!(bytes(1), bytes(1));
        assert_ne!(bytes(1), bytes(2));
    }
}

/// The keys that both sides revealed, if they were asked to.
fn told(version: Version, wanted: bool) -> [Vec<Revealed>; 2] {
    let world = World::new(KeyKind::EcdsaP256, 2);
    let (client, server) = (world.client(version), world.server(version));
    let (mut client, mut server) = pair(&client, &server);
    (client.keys.wanted, server.keys.wanted) = (wanted, wanted);
    shake(&mut client, &mut server);
    [client, server].map(|end| end.keys.revealed)
}

fn label(revealed: &Revealed) -> &str {
    match revealed {
        Revealed::TlsSecret { label, .. } => label,
        other => panic!("{other:?}"),
    }
}

fn labels(revealed: &[Revealed]) -> Vec<&str> {
    let mut labels: Vec<&str> = revealed.iter().map(label).collect();
    labels.sort_unstable();
    labels
}

#[test]
fn both_sides_reveal_the_same_keys_on_request() {
    let tls13 = [
        "CLIENT_HANDSHAKE_TRAFFIC_SECRET",
        "CLIENT_TRAFFIC_SECRET_0",
        "EXPORTER_SECRET",
        "SERVER_HANDSHAKE_TRAFFIC_SECRET",
        "SERVER_TRAFFIC_SECRET_0",
    ];
    for (version, expected) in [(Version::Tls12, &["CLIENT_RANDOM"][..]), (Version::Tls13, &tls13)] {
        let [client, server] = told(version, true);
        assert_eq!((labels(&client), labels(&server)), (expected.to_vec(), expected.to_vec()));
        assert!(client.iter().all(|secret| server.contains(secret)), "{version:?}");
    }
}

#[test]
fn without_request_no_key_is_revealed() {
    for version in [Version::Tls12, Version::Tls13] {
        assert_eq!(told(version, false), [vec![], vec![]]);
    }
}

fn check_failure(client: &Config, server: &Config, at_client: Option<Failure>, at_server: Option<Failure>) {
    let (mut a, mut b) = pair(client, server);
    let outcome = shake(&mut a, &mut b);
    assert_eq!((outcome.client.err(), outcome.server.err()), (at_client, at_server));
    for (end, failure) in [(&mut a, at_client), (&mut b, at_server)] {
        if let Some(failure) = failure {
            assert_eq!(end.feed(b"more"), Err(failure), "a failed session stays failed");
            assert!(failure.name().starts_with("TLS "));
        }
    }
}

fn alert(number: u8) -> Option<Failure> {
    Some(Failure::Alert(Alert::from(number)))
}

#[test]
fn the_server_of_an_unknown_authority_is_refused() {
    let world = World::new(KeyKind::EcdsaP256, 2);
    let strange = World::below_an_unknown_authority(KeyKind::EcdsaP256);
    for version in VERSIONS {
        let server = world.config(&strange.server, version);
        check_failure(&world.client(version), &server, Some(Failure::UnknownAuthority), alert(48));
    }
    let client = world.config(&strange.client, Version::Tls13);
    check_failure(&client, &world.server(Version::Tls13), alert(48), Some(Failure::UnknownAuthority));
}

#[test]
fn dates_matter() {
    let now = NOW_UNIX_SECONDS;
    let old = World::valid(KeyKind::EcdsaP256, 2, now - 20, now - 10);
    let young = World::valid(KeyKind::EcdsaP256, 2, now + 10, now + 20);
    for version in VERSIONS {
        check_failure(&old.client(version), &old.server(version), Some(Failure::Expired), alert(45));
        check_failure(&young.client(version), &young.server(version), Some(Failure::NotYetValid), alert(45));
    }
}

/// A long session's certificate is verified at the current date.
#[test]
fn a_certificate_is_verified_again() {
    let now = NOW_UNIX_SECONDS;
    let world = World::valid(KeyKind::EcdsaP256, 2, now - 10, now + 10);
    for version in VERSIONS {
        let (mut client, mut server) = established(&world.client(version), &world.server(version));
        for end in [&mut client, &mut server] {
            let mut judge = |after| {
                end.now = Time::ZERO + Duration::from_secs(after);
                end.with(|session, cx, _| session.judge(cx))
            };
            assert_eq!((judge(5), judge(15)), (Ok(()), Err(Failure::Expired)), "{version:?}");
        }
        // A side that did not request a certificate cannot verify one.
        let anonymous = Config { trust: None, ..world.server(version) };
        let (_, mut server) = established(&world.client(version), &anonymous);
        assert_eq!(server.with(|session, cx, _| session.judge(cx)), Err(Failure::NoCertificate));
    }
}

#[test]
fn a_wrong_key_under_a_good_certificate_is_a_bad_signature() {
    let world = World::new(KeyKind::EcdsaP256, 2);
    let mut thief = world.server.clone();
    thief.key = world.client.key.clone();
    for version in VERSIONS {
        let server = world.config(&thief, version);
        check_failure(&world.client(version), &server, Some(Failure::BadSignature), alert(51));
    }
}

#[test]
fn a_certificate_of_a_false_authority_is_a_bad_certificate() {
    let world = World::new(KeyKind::EcdsaP256, 2);
    let false_world = World::of_a_false_authority(KeyKind::EcdsaP256);
    for version in VERSIONS {
        let server = world.config(&false_world.server, version);
        check_failure(&world.client(version), &server, Some(Failure::BadCertificate), alert(42));
        let client = world.config(&false_world.client, version);
        check_failure(&client, &world.server(version), alert(42), Some(Failure::BadCertificate));
    }
}

#[test]
fn the_name_check_is_called() {
    let world = World::new(KeyKind::EcdsaP256, 2);
    for version in VERSIONS {
        let spki = world.client.key.spki.to_vec();
        let client = Config { name: Some(Arc::new(move |peer| peer.spki == spki)), ..world.client(version) };
        check_failure(&client, &world.server(version), Some(Failure::WrongName), alert(42));
        let spki = world.server.key.spki.to_vec();
        let client = Config { name: Some(Arc::new(move |peer| peer.spki == spki)), ..world.client(version) };
        check_failure(&client, &world.server(version), None, None);
    }
}

#[test]
fn a_server_that_requests_a_certificate_requires_one() {
    let world = World::new(KeyKind::EcdsaP256, 2);
    for version in VERSIONS {
        let client = Config { credential: None, ..world.client(version) };
        check_failure(&client, &world.server(version), alert(116), Some(Failure::NoCertificate));
    }
}

#[test]
fn versions_and_groups_must_overlap() {
    let world = World::new(KeyKind::EcdsaP256, 2);
    let (old, new) = (Version::Tls12, Version::Tls13);
    check_failure(&world.client(old), &world.server(new), alert(70), Some(Failure::Version));
    check_failure(&world.client(new), &world.server(old), alert(70), Some(Failure::Version));
    let client = Config { groups: vec![Group::X25519], ..world.client(new) };
    let server = Config { groups: vec![Group::Ecp384], ..world.server(new) };
    check_failure(&client, &server, alert(40), Some(Failure::Parameters));
}

#[test]
fn a_change_in_any_byte_of_a_flight_is_detected_or_harmless_but_never_a_panic() {
    let world = World::new(KeyKind::EcdsaP256, 2);
    for version in VERSIONS {
        let (mut client, mut server) = pair(&world.client(version), &world.server(version));
        let hello = client.session().take_output();
        server.feed(&hello).unwrap();
        let flight = server.session().take_output();
        for at in 0..flight.len() {
            let mut changed = flight.clone();
            changed[at] ^= 0x55;
            let mut client = End::new(real(), "client", 1).client(&world.client(version));
            let first = client.feed(&changed);
            let is_over = first.is_err() || client.session().is_handshaking();
            let answer = client.session().take_output();
            // If this side accepts it, the transcripts differ and the other side does not.
            let mut server = End::new(real(), "server", 1).server(&world.server(version));
            server.feed(&hello).unwrap();
            let refused = server.feed(&answer).is_err() || server.session().is_handshaking();
            assert!(is_over || refused, "{version:?} byte {at}");
        }
    }
}

#[test]
fn a_flight_may_come_byte_by_byte() {
    let world = World::new(KeyKind::EcdsaP256, 4);
    for version in VERSIONS {
        let (mut client, mut server) = pair(&world.client(version), &world.server(version));
        for _ in 0..3 {
            let out = client.session().take_output();
            out.chunks(1).for_each(|byte| server.feed(byte).unwrap());
            let out = server.session().take_output();
            out.chunks(1).for_each(|byte| client.feed(byte).unwrap());
        }
        assert_eq!(client.export("x", None, 32), server.export("x", None, 32));
    }
}

#[test]
fn too_much_unread_application_data_ends_the_session() {
    let world = World::new(KeyKind::EcdsaP256, 2);
    let (mut client, mut server) = established(&world.client(Version::Tls13), &world.server(Version::Tls13));
    let mut last = Ok(());
    for _ in 0..5 {
        client.with(|session, cx, rng| session.send(&[7; 16 << 10], cx, rng)).unwrap();
        let records = client.session().take_output();
        last = server.feed(&records);
    }
    assert_eq!(last, Err(Failure::TooLong));
    let huge = client.with(|session, cx, rng| session.send(&[7; 33 << 10], cx, rng));
    assert_eq!(huge, Err(Failure::TooLong));
}

/// The limits hold exactly to the octet.
#[test]
fn the_limits_of_application_data_are_exact() {
    let world = World::new(KeyKind::EcdsaP256, 2);
    for (pieces, expected) in [
        (&[32 << 10, 32 << 10][..], Ok(())),
        (&[32 << 10, 32 << 10, 1], Err(Failure::TooLong)),
        (&[1, 32 << 10, 32 << 10], Err(Failure::TooLong)),
    ] {
        let (mut client, mut server) =
            established(&world.client(Version::Tls13), &world.server(Version::Tls13));
        let mut last = Ok(());
        for &length in pieces {
            client.with(|session, cx, rng| session.send(&vec![7; length], cx, rng)).unwrap();
            let records = client.session().take_output();
            last = server.feed(&records);
        }
        assert_eq!(last, expected, "{pieces:?}");
        if expected.is_ok() {
            assert_eq!(server.session().take_received(), [7; 64 << 10]);
        }
        let refused = client.with(|session, cx, rng| session.send(&[7; (32 << 10) + 1], cx, rng));
        assert_eq!(refused, Err(Failure::TooLong));
        assert!(client.session().take_output().is_empty());
    }
}

/// A failed session sends nothing more, though its handshake was complete.
#[test]
fn a_session_that_failed_sends_nothing() {
    let world = World::new(KeyKind::EcdsaP256, 2);
    let (mut client, mut server) = established(&world.client(Version::Tls13), &world.server(Version::Tls13));
    client.with(|session, cx, rng| session.send(b"inner", cx, rng)).unwrap();
    let mut record = client.session().take_output();
    *record.last_mut().unwrap() ^= 1;
    assert_eq!(server.feed(&record), Err(Failure::BadRecord));
    server.session().take_output();
    assert_eq!(server.with(|session, cx, rng| session.send(b"x", cx, rng)), Err(Failure::NotNow));
    assert_eq!(server.with(Session::indicate_success), Err(Failure::NotNow));
    let shown = format!("{:?}", server.session());
    assert!(shown.contains("Tls13") && shown.contains("BadRecord"), "{shown}");
}

/// RFC 9190 §2.5: the promise is one octet of zero and nothing else.
#[test]
fn other_application_data_are_no_success_indication() {
    let world = World::new(KeyKind::EcdsaP256, 2);
    for data in [&[1][..], &[0, 0]] {
        let (mut client, mut server) =
            established(&world.client(Version::Tls13), &world.server(Version::Tls13));
        server.with(|session, cx, rng| session.send(data, cx, rng)).unwrap();
        let record = server.session().take_output();
        client.feed(&record).unwrap();
        assert!(!client.session().take_success_indication());
        assert_eq!(client.session().take_received(), data, "it is left where it was");
    }
}

#[test]
fn contradictory_settings_are_refused() {
    let world = World::new(KeyKind::EcdsaP256, 2);
    let good = world.client(Version::Tls13);
    let reversed = Config { newest: Version::Tls12, ..good.clone() };
    assert_eq!(Client::new(&reversed).unwrap_err(), ConfigError::NoVersion);
    let groups = Config { groups: vec![Group::Modp2048], ..good.clone() };
    assert_eq!(Server::new(&groups).unwrap_err(), ConfigError::NoGroup);
    assert_eq!(Client::new(&Config { trust: None, ..good.clone() }).unwrap_err(), ConfigError::NoTrust);
    assert_eq!(Server::new(&Config { credential: None, ..good }).unwrap_err(), ConfigError::NoCredential);
}

proptest::proptest! {
    #![proptest_config(proptest::test_runner::Config::with_cases(64))]

    #[test]
    fn any_bytes_are_taken_or_refused(bytes in proptest::collection::vec(proptest::prelude::any::<u8>(), 0..600)) {
        let records: Vec<u8> = [&[22, 3, 3, 2, 0][..], &bytes].concat();
        let world = World::new(KeyKind::Ed25519, 2);
        for input in [&bytes, &records] {
            let (mut client, mut server) = pair(&world.client(Version::Tls13), &world.server(Version::Tls13));
            let results = [client.feed(input), server.feed(input)];
            proptest::prop_assert!(client.session().is_handshaking() && server.session().is_handshaking());
            // A failed side stays failed.
            proptest::prop_assert_eq!(results[0].is_err(), client.feed(&[]).is_err());
            proptest::prop_assert_eq!(results[1].is_err(), server.feed(&[]).is_err());
        }
    }
}

/// Removes extended_master_secret from the hello at the beginning of a flight.
fn without_extended_master_secret(flight: &[u8]) -> Vec<u8> {
    const EXTENSION: [u8; 4] = [0, 23, 0, 0];
    let mut flight = flight.to_vec();
    // Record(5) Type(1) Length(3) Version(2) Random(32) Session-Id(1 + n), and in a ServerHello a suite and no compression.
    let after_session = 5 + 4 + 34 + 1 + usize::from(flight[43]);
    let is_client = flight[5] == 1;
    let suites = usize::from(u16::from_be_bytes([flight[after_session], flight[after_session + 1]]));
    let extensions = after_session + if is_client { 2 + suites + 2 } else { 3 };
    let at = extensions + flight[extensions..].windows(4).position(|found| found == EXTENSION).unwrap();
    flight.drain(at..at + 4);
    for length in [3, 7, extensions] {
        let less = u16::from_be_bytes([flight[length], flight[length + 1]]) - 4;
        flight[length..length + 2].copy_from_slice(&less.to_be_bytes());
    }
    flight
}

/// RFC 9427 §2.1, RFC 7627 §1: without it a man in the middle has the same keys with both sides, and a proof inside one tunnel
/// counts in the other. Our devices do not continue.
#[test]
fn a_tls_1_2_client_requires_keys_bound_to_the_handshake() {
    let world = World::new(KeyKind::EcdsaP256, 2);
    let (of_client, of_server) = (world.client(Version::Tls12), world.server(Version::Tls12));
    let (mut client, mut server) = pair(&of_client, &of_server);
    let hello = client.session().take_output();
    // RFC 7627 §5.2: legacy clients are accepted, strongSwan among them.
    assert_eq!(server.feed(&without_extended_master_secret(&hello)), Ok(()));
    let (mut client, mut server) = pair(&of_client, &of_server);
    let hello = client.session().take_output();
    server.feed(&hello).unwrap();
    let flight = server.session().take_output();
    assert_eq!(client.feed(&without_extended_master_secret(&flight)), Err(Failure::MasterSecret));
}

//! Messages in words, hostile bytes, and keys that open what they are for.

use keytoll_crypto::Real;
use keytoll_crypto_api::Rng;
use keytoll_crypto_api::suite::Suite;
use keytoll_diameter::DIAMETER;
use keytoll_engine::Datagram;
use keytoll_engine::trace::Revealed;
use keytoll_engine::trace::revealed::{Algorithms, Sealing};
use keytoll_ike::IKE;
use keytoll_ike::number::{ExchangeType, NotifyType};
use keytoll_ike::v2::fragment;
use keytoll_ike::v2::keys::{IkeKeys, Nonces, Role};
use keytoll_ike::v2::protect::Protection;
use keytoll_ike::wire::{Flags, Header, MessageBuilder, Nonce, Notify, Payload, VendorId};
use keytoll_net::Addr;
use keytoll_radius::RADIUS;
use proptest::prelude::*;

use keytoll_capture::KeyTables;
use keytoll_family::{LinkSeal, Part};
use keytoll_rigs::FAMILIES;

use super::*;

fn passed(protocol: Protocol, bytes: Vec<u8>) -> Passed {
    let at = if protocol == DIAMETER { Addr::tcp } else { Addr::udp };
    let addr = |last| at([10, 0, 0, last].into(), 500);
    Passed {
        first_ns: 0,
        at_ns: 0,
        frame: 1,
        packets: 1,
        wire_bytes: 100,
        datagram: Datagram { protocol, from: addr(1), to: addr(2), bytes },
        is_receiver_known: true,
        seal: LinkSeal::None,
        cut: None,
        fate: None,
    }
}

const SPIS: (u64, u64) = (0x1111_2222_3333_4444, 0x5555_6666_7777_8888);

fn ike_keys(suite: &Suite) -> IkeKeys {
    let nonces = Nonces { initiator: &[1; 32], responder: &[2; 32] };
    IkeKeys::first(&mut Real::default(), suite, &[9; 32], nonces, SPIS)
}

/// An IKE_AUTH request with a refusal inside, whole or in fragments.
fn sealed(keys: &IkeKeys, bytes_max: usize) -> Vec<Vec<u8>> {
    let mut protection = Protection::new(keys.clone(), Role::Initiator);
    let header = Header::new(SPIS, ExchangeType::IKE_AUTH, Flags::INITIATOR, 1);
    let mut message = protection.begin(&header);
    message.push(&Payload::Notify(Notify::new(NotifyType::AUTHENTICATION_FAILED, &[])));
    message.push(&Payload::VendorId(VendorId { data: &[7; 600] }));
    fragment::seal(&mut protection, message, bytes_max, &mut Rng::named(1, "test"), &mut Real::default())
}

/// The table of one IKE SA as [`KeyTables`] writes it, read again.
fn tables(name: &str, suite: &Suite, keys: &IkeKeys) -> Keys {
    let directory = std::env::temp_dir().join(format!("keytoll-tables-{}-{name}", std::process::id()));
    let mut tables = KeyTables::create(FAMILIES, &directory).unwrap();
    let of = |role| Sealing {
        encryption_key: keys.encryption(role).into(),
        integrity_key: keys.integrity(role).into(),
    };
    let algorithms = Algorithms {
        encryption: suite.encryption.name(),
        integrity: suite.integrity.map(keytoll_crypto_api::algorithm::Integrity::name),
    };
    let (initiator, responder) = (of(Role::Initiator), of(Role::Responder));
    let revealed = Revealed::IkeSa { spi_i: SPIS.0, spi_r: SPIS.1, algorithms, initiator, responder };
    tables.reveal(&revealed).unwrap();
    let keys = Keys::read(FAMILIES, &directory).unwrap();
    std::fs::remove_dir_all(&directory).unwrap();
    keys
}

fn shown(dissected: &Dissected) -> String {
    let parts: Vec<String> = dissected.parts.iter().map(Part::to_string).collect();
    format!("{}: {}", dissected.name, parts.join(", "))
}

#[test]
fn our_tables_open_messages_and_fragments_of_every_construction() {
    for name in [
        "aes128gcm16-prfsha256-x25519",
        "aes256ccm8-prfsha256-x25519",
        "aes256-sha256-x25519",
        "3des-md5-modp1024",
        "aes128ctr-sha1-x25519",
        "null-sha512-x25519",
    ] {
        let suite = Suite::ike(name).unwrap();
        let keys = ike_keys(&suite);
        let tables = tables(name, &suite, &keys);
        assert_eq!(tables.unusable(), 0, "{name}");
        let mut dissector = Dissector::new(tables);
        let whole = dissector.dissect(&passed(IKE, sealed(&keys, 5000).remove(0))).unwrap();
        assert_eq!(
            shown(&whole),
            "IKE_AUTH request 1: N(AUTHENTICATION_FAILED), V(0707070707070707..)",
            "{name}"
        );
        assert_eq!(whole.failure.as_deref(), Some("AUTHENTICATION_FAILED"));
        let fragments = sealed(&keys, 400);
        let last = fragments.len() - 1;
        for (index, bytes) in fragments.into_iter().enumerate() {
            let dissected = dissector.dissect(&passed(IKE, bytes)).unwrap();
            assert_eq!(dissected.failure.is_some(), index == last, "{name} fragment {index}");
        }
    }
}

/// The last message of main mode, then a deletion in an exchange of its own, each as it was sent.
fn isakmp() -> (Vec<u8>, Vec<Vec<u8>>) {
    use keytoll_ike::v1::keys::Keys;
    use keytoll_ike::v1::number;
    use keytoll_ike::v1::number::{AuthenticationMethod, IDENTITY_PROTECTION, INFORMATIONAL};
    use keytoll_ike::v1::protect::{Iv, seal};
    use keytoll_ike::v1::wire::message::push;
    use keytoll_ike::v1::wire::{Delete, Payload};
    let suite = Suite::ike("aes128-sha256-modp2048").unwrap();
    let key = vec![5; 16];
    let keys = Keys::only_encryption(&suite, &key).unwrap();
    let (method, lifetime) = (AuthenticationMethod::PRE_SHARED_KEY, std::time::Duration::from_secs(60));
    let mut sa = keytoll_net::wire::Writer::default();
    keytoll_ike::v1::proposal::propose(&[suite], method, lifetime).write_sa(&mut sa);
    let message = |exchange, encrypted, id, payload: &Payload<'_>| {
        let flags = Flags(u8::from(encrypted));
        let mut message =
            MessageBuilder::plain(&Header { version: 0x10, ..Header::new(SPIS, exchange, flags, id) });
        push(&mut message, payload);
        message
    };
    let clear = [
        Payload::Unknown(number::payload::SA, sa.as_slice()),
        Payload::KeyExchange(&[1; 256]),
        Payload::KeyExchange(&[2; 256]),
    ];
    let mut all: Vec<_> =
        clear.iter().map(|payload| message(IDENTITY_PROTECTION, false, 0, payload).finish()).collect();
    let mut real = Real::default();
    let mut iv = Iv::first(&mut real, &keys, &[1; 256], &[2; 256]);
    all.push(seal(
        message(IDENTITY_PROTECTION, true, 0, &Payload::Hash(&[3; 32])),
        &keys,
        &mut iv,
        &mut real,
    ));
    let mut iv = iv.of_exchange(&mut real, &keys, 77);
    let delete = Payload::Delete(Delete::child(&[0, 0, 1, 2]));
    all.push(seal(message(INFORMATIONAL, true, 77, &delete), &keys, &mut iv, &mut real));
    (key, all)
}

#[test]
fn ikev1_opens_along_its_chain_of_ivs_also_when_messages_come_again() {
    let (key, all) = isakmp();
    let directory = std::env::temp_dir().join(format!("keytoll-tables-{}-ikev1", std::process::id()));
    let mut tables = KeyTables::create(FAMILIES, &directory).unwrap();
    let revealed = Revealed::IsakmpSa {
        cookie_i: SPIS.0,
        cookie_r: SPIS.1,
        encryption: "aes128",
        key: key.as_slice().into(),
    };
    tables.reveal(&revealed).unwrap();
    let mut dissector = Dissector::new(Keys::read(FAMILIES, &directory).unwrap());
    std::fs::remove_dir_all(&directory).unwrap();
    let mut told = |bytes: &[u8]| shown(&dissector.dissect(&passed(IKE, bytes.to_vec())).unwrap());
    let lines: Vec<String> = all.iter().map(|bytes| told(bytes)).collect();
    assert_eq!(lines[0], "Main Mode: SA(aes128-prfsha256-modp2048)");
    assert_eq!(lines[3..], ["Main Mode: HASH", "Informational (IKEv1): D(ESP 0x00000102)"]);
    let again: Vec<String> = all.iter().map(|bytes| told(bytes)).collect();
    assert_eq!(again, lines);
    let mut blind = Dissector::new(Keys::none(FAMILIES));
    let sealed = blind.dissect(&passed(IKE, all[3].clone())).unwrap();
    assert_eq!(shown(&sealed), "Main Mode: encrypted");
}

#[test]
fn without_keys_the_type_of_the_first_payload_is_all_there_is() {
    let suite = Suite::ike("aes256-sha256-x25519").unwrap();
    let mut dissector = Dissector::new(Keys::none(FAMILIES));
    let dissected = dissector.dissect(&passed(IKE, sealed(&ike_keys(&suite), 5000).remove(0))).unwrap();
    assert_eq!(shown(&dissected), "IKE_AUTH request 1: SK(encrypted, first N)");
    assert_eq!(dissected.failure, None);
}

#[test]
fn the_wrong_keys_are_said_to_be_wrong() {
    let suite = Suite::ike("aes256-sha256-x25519").unwrap();
    let nonces = Nonces { initiator: &[3; 32], responder: &[2; 32] };
    let other = IkeKeys::first(&mut Real::default(), &suite, &[9; 32], nonces, SPIS);
    let mut dissector = Dissector::new(tables("wrong", &suite, &other));
    let dissected = dissector.dissect(&passed(IKE, sealed(&ike_keys(&suite), 5000).remove(0))).unwrap();
    assert_eq!(dissected.remarks, ["NOT AUTHENTIC under the keys given: damaged, forged, or other keys"]);
}

#[test]
fn a_plain_message_says_what_was_negotiated() {
    use keytoll_ike::v2::proposal;
    use keytoll_ike::wire::Spi;
    let suites = ["aes128gcm16-prfsha256-x25519", "aes256-sha256-modp2048"].map(|it| Suite::ike(it).unwrap());
    let mut message =
        MessageBuilder::plain(&Header::new((SPIS.0, 0), ExchangeType::IKE_SA_INIT, Flags::INITIATOR, 0));
    message.security_association(&proposal::propose(
        keytoll_ike::number::ProtocolId::IKE,
        Spi::None,
        &suites,
    ));
    message.push(&Payload::Nonce(Nonce { data: &[6; 16] }));
    message.push(&Payload::Notify(Notify::new(NotifyType::INVALID_KE_PAYLOAD, &[0, 31])));
    message.push(&Payload::Notify(Notify::new(NotifyType::NAT_DETECTION_SOURCE_IP, &[0; 20])));
    let dissected = Dissector::new(Keys::none(FAMILIES)).dissect(&passed(IKE, message.finish())).unwrap();
    assert_eq!(
        shown(&dissected),
        "IKE_SA_INIT request 0: SA(aes128gcm16-prfsha256-x25519 or aes256-sha256-prfsha256-modp2048), Nonce, \
         N(INVALID_KE_PAYLOAD: wants x25519), N(NAT_DETECTION_SOURCE_IP: not 10.0.0.1:500, so NAT)"
    );
    assert_eq!(dissected.failure, None, "another group is asked for, nothing has failed");
}

#[test]
fn tables_that_are_damaged_are_counted_and_never_shown() {
    let directory = std::env::temp_dir().join(format!("keytoll-damaged-{}", std::process::id()));
    assert!(Keys::read(FAMILIES, &directory).is_err());
    std::fs::create_dir_all(&directory).unwrap();
    let lines =
        "# comment\n\n1,2,3\nxx,yy,00,00,\"AES-CBC-128 [RFC3602]\",,,\"NONE [RFC4306]\"\n\u{feff}\n\"\",,,\n";
    std::fs::write(directory.join("ikev2_decryption_table"), lines).unwrap();
    std::fs::write(directory.join("esp_sa"), "\"IPv4\",\"*\",\"*\",\"*\",\"NULL\",\"\",\"NULL\",\"\"\n")
        .unwrap();
    let keys = Keys::read(FAMILIES, &directory).unwrap();
    std::fs::remove_dir_all(&directory).unwrap();
    assert_eq!((keys.unusable(), keys.count()), (5, 0));
}

proptest! {
    #[test]
    fn any_bytes_of_any_protocol_are_put_into_words(which in 0_usize..5, bytes: Vec<u8>, four in prop::option::of(0_u8..64)) {
        let protocols = [IKE, RADIUS, DIAMETER, Protocol::ESP, Protocol::ICMP];
        let mut bytes = bytes;
        if let Some(kind) = four {
            // Something that gets past the first checks more often.
            bytes.splice(0..0, [kind, 1, 0, 0]);
            let len = (bytes.len() as u16).to_be_bytes();
            bytes[2..4].copy_from_slice(&len);
        }
        let passed = passed(protocols[which], bytes);
        if let Some(dissected) = Dissector::new(Keys::none(FAMILIES)).dissect(&passed) {
            prop_assert!(!shown(&dissected).chars().any(char::is_control));
        }
    }
}

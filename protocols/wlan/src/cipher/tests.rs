//! Published vectors, what is refused, and properties of all ciphers.

use keytoll_crypto::{Metered, Null, Provider, Real};
use proptest::prelude::*;

use super::*;
use crate::keys::tests::hex;

const DATA: [Cipher; 7] = [
    Cipher::Wep40,
    Cipher::Wep104,
    Cipher::Tkip,
    Cipher::Ccmp128,
    Cipher::Ccmp256,
    Cipher::Gcmp128,
    Cipher::Gcmp256,
];
const MANAGEMENT: [Cipher; 4] =
    [Cipher::BipCmac128, Cipher::BipCmac256, Cipher::BipGmac128, Cipher::BipGmac256];

fn key(octets: &str) -> Secret {
    Secret::new(hex(octets))
}

fn some_key(cipher: Cipher) -> Secret {
    Secret::new((0..cipher.key_len() as u8).collect())
}

fn pair(cipher: Cipher, key: &Secret, key_id: u8) -> (Sender, Receiver) {
    let side = Side::Authenticator;
    (
        Sender::new(cipher, key, key_id, side, wep::Iv([1, 2, 3])).unwrap(),
        Receiver::new(cipher, key, key_id, side, 0).unwrap(),
    )
}

/// One MPDU, sealed as published and opened again.
fn check(cipher: Cipher, temporal: &str, key_id: u8, number: u64, [header, plain, sealed]: [&str; 3]) {
    let (mut sender, mut receiver) = pair(cipher, &key(temporal), key_id);
    if let Sender::Aead(aead) = &mut sender {
        aead.skip_to(number - 1);
    }
    let (crypto, header, mut body) = (&mut Real::default(), hex(header), hex(plain));
    sender.seal(&header, &mut body, crypto).unwrap();
    assert_eq!(body, hex(sealed), "{cipher:?}");
    assert_eq!(receiver.open(&header, &mut body, crypto), Ok(()));
    assert_eq!(body, hex(plain), "{cipher:?}");
}

const TK: &str = "c97c1f67ce371185514a8a19f2bdd52f";
const LONG_TK: &str = "c97c1f67ce371185514a8a19f2bdd52f000102030405060708090a0b0c0d0e0f";
const HEADER: &str = "0848c32c0fd2e128a57c5030f1844408abaea5b8fcba8033";
const PLAIN: &str = "f8ba1a55d02f85ae967bb62fb6cda8eb7e78a050";
const PN: u64 = 0xb503_9776_e70c;

/// 802.11-2020 J.6.4 (CCMP-128, CCMP-256), J.9.2 (a management frame); hostap's wlantest/test_vectors.c has the inputs.
#[test]
fn ccmp_of_the_annex() {
    let sealed = "0ce70020769703b5 f3d0a2fe9a3dbf2342a643e43246e80c3c04d019 7845ce0b16f97623";
    check(Cipher::Ccmp128, TK, 0, PN, [HEADER, PLAIN, sealed]);
    let sealed = "0ce70020769703b5 6d155d8832668256d6a92b78e11d8e54495dd174 80aa56c9492e882b97642f80d50fe97b";
    check(Cipher::Ccmp256, LONG_TK, 0, PN, [HEADER, PLAIN, sealed]);
    let (header, sealed) =
        ("c00000000200000001000200000000000200000000006000", "0100002000000000 1d07 cafd0409bb8bafef");
    check(Cipher::Ccmp128, "66ed21042f9f26d7115706e40414cf2e", 0, 1, [header, "0200", sealed]);
}

/// 802.11-2020 J.11.1, MPDU 2, and GCMP-256, as in hostap's wlantest/test_vectors.c. MPDU 1 there has Protected Frame 0 in its AAD,
/// contrary to §12.5.3.3.3.
#[test]
fn gcmp_of_the_annex() {
    let header = "88480b000fd2e128a57c5030f18444085030f184440880330300";
    let plain: String = (0..40).map(|octet| format!("{octet:02x}")).collect();
    let sealed = "082b00205f5f8900 60e9700cc4d40ac6d288b201c38f5bf08b807442640a1596e5dbdad41d1f3623f45d7a12db7afb23 \
                  def619c2a374b6df66ffa53b6c69d79e";
    check(Cipher::Gcmp128, TK, 0, 0x0089_5f5f_2b08, [header, &plain, sealed]);
    let sealed = "082b00205f5f8900 65834 3c8b1444 7d9211defd46ad89c710c6fc33333236e3997b9176a5a8be779b21266555e70 \
                  ad7911431685909 5473d5b1bd596b3dea3bf";
    check(Cipher::Gcmp256, LONG_TK, 0, 0x0089_5f5f_2b08, [header, &plain, sealed]);
}

/// Retried, with more data, four addresses, QoS Control with TID 5 and the end of a service period; with HT Control. Computed
/// independently of this crate, in Python with the library of pyca/cryptography.
#[test]
fn what_the_annex_does_not_show() {
    let four = "887bc32c0fd2e128a57c5030f1844408abaea5b8fcba8533020406080a0cb500";
    let sealed = "0ce70060769703b52a9fcd87ea9d63ab12f683107947fe820ff7500821393c2678687732";
    check(Cipher::Ccmp128, TK, 1, PN, [four, PLAIN, sealed]);
    let sealed = "0ce70060769703b5c594945c1b95f512addaa2cefb00b09f708e841b0e2f1dddb17c8d11e77404702fd266ee";
    check(Cipher::Gcmp128, TK, 1, PN, [four, PLAIN, sealed]);
    let ht_control = "88c9c32c0fd2e128a57c5030f1844408abaea5b8fcba8033030001020304";
    let sealed = "0ce70020769703b5805558a8d5726a51a05610204e0a61a66e7e382795eeecb3fed9cf86";
    check(Cipher::Ccmp128, TK, 0, PN, [ht_control, PLAIN, sealed]);
}

/// 802.11-2020 J.6.3, as in FreeBSD's test_tkip.c.
#[test]
fn tkip_of_the_annex() {
    let plain = "aaaa03000000080045000054000040004001a555c0a80a02c0a80a0108003ab000000000cd4c05000000000008090a0b\
                 0c0d0e0f101112131415161718191a1b1c1d1e1f202122232425262728292a2b2c2d2e2f3031323334353637";
    let sealed = "0020012000000000c00e14fce7cfabc77547e666e57c0dac704a1e358a88c11c8e2e282e3801027a4656055ee93e9c25\
                  4702e9735805ddb5769ba73f1ebb56e844ef912285d3dd6e541e823873558adba079068abd7f7f50959675acc4b4de9a\
                  a99c05f289a7c52fee5bfc14f6f8e5f8";
    let header = "08422c00020304050608020304050607020304050607d002";
    let key = "1234567890123456789012345678901234567890123456789012345678901234";
    check(Cipher::Tkip, key, 0, 1, [header, plain, sealed]);
}

/// P802.11i/D7.0 I.7.2, later 802.11-2012 M.6.2, as in FreeBSD's test_wep.c.
#[test]
fn wep_of_the_annex() {
    let plain = hex(
        "aaaa0300000008004500004e661a00008011be640a0001220affffff00890089003a000080a601100001000000000000\
         204543454a4548454346434550464545494546464343414341434143414341414100002000 01",
    );
    let sealed = hex(
        "fb029e80f69c5806bd6ce84626bcbefb9474650aad1f7909b0f64d5f58a503a258b7ed22eb0ea64930d3a056a55742fc\
         ce141d485f8aa836dea18df42c5380805ad0c61a5d6f58f41040b24b7d1a693856ed0d4398e7aee3bf0e2a2ca8f7",
    );
    let (key, mut body, crypto) = (key("3031323334"), plain.clone(), &mut Real::default());
    let mut sender =
        Sender::new(Cipher::Wep40, &key, 2, Side::Supplicant, wep::Iv([0xfb, 0x02, 0x9e])).unwrap();
    sender.seal(&[], &mut body, crypto).unwrap();
    assert_eq!(body, sealed);
    let mut receiver = Receiver::new(Cipher::Wep40, &key, 2, Side::Supplicant, 0).unwrap();
    assert_eq!((receiver.open(&[], &mut body, crypto), body), (Ok(()), plain));
}

/// 802.11-2020 J.9.1 and what hostap's wlantest/test_vectors.c has of GMAC; BIP-CMAC in Python with pyca/cryptography.
#[test]
fn bip_of_the_annex() {
    let igtk = "4ea9543e09cf2b1eca66ffc58bdecbcf";
    let long = format!("{igtk}000102030405060708090a0b0c0d0e0f");
    for (cipher, igtk, element) in [
        (Cipher::BipCmac128, igtk, "4c10040004000000000048dfbfa7b8278872"),
        (Cipher::BipCmac256, &long, "4c18040004000000000 04b6fe836c8a3ad6a8abd7f61a63a11d2"),
        (Cipher::BipGmac128, igtk, "4c1804000400000000003ed862fb0f3338dd3386c897e2ed053d"),
        (Cipher::BipGmac256, &long, "4c18040004000000000023be59dcc7022ee383627ebb1017ddfc"),
    ] {
        let header = hex("c0000000ffffffffffff0200000000000200000000000900");
        let (crypto, mut body) = (&mut Real::default(), hex("0200"));
        let mut sender = bip::Sender::new(cipher, &key(igtk), 4).unwrap();
        sender.skip_to(3);
        sender.seal(&header, &mut body, crypto).unwrap();
        assert_eq!(body, [hex("0200"), hex(element)].concat(), "{cipher:?}");
        let sealed = body.clone();
        let mut receiver = bip::Receiver::new(cipher, &key(igtk), 4, 3).unwrap();
        for at in 0..sealed.len() {
            let mut wrong = sealed.clone();
            wrong[at] ^= 0x40;
            assert!(receiver.open(&header, &mut wrong, crypto).is_err(), "{cipher:?} octet {at}");
        }
        assert_eq!((receiver.open(&header, &mut body, crypto), body), (Ok(()), hex("0200")));
        assert_eq!(receiver.open(&header, &mut sealed.clone(), crypto), Err(Refused::Replayed));
        let mut other = bip::Receiver::new(cipher, &key(igtk), 5, 0).unwrap();
        assert_eq!(other.open(&header, &mut sealed.clone(), crypto), Err(Refused::KeyId));
        assert_eq!(receiver.open(&header, &mut hex("0200"), crypto), Err(Refused::NoManagementMic));
        assert_eq!(receiver.open(&hex(HEADER), &mut sealed.clone(), crypto), Err(Refused::Header));
    }
}

fn sealed(sender: &mut Sender, header: &[u8], crypto: &mut dyn Crypto) -> Vec<u8> {
    let mut body = b"some data".to_vec();
    sender.seal(header, &mut body, crypto).unwrap();
    body
}

#[test]
fn every_cut_and_every_changed_octet_is_refused_without_a_trace() {
    let (crypto, header) = (&mut Real::default(), hex(HEADER));
    for cipher in DATA {
        let (mut sender, mut receiver) = pair(cipher, &some_key(cipher), 1);
        let body = sealed(&mut sender, &header, crypto);
        for len in 0..body.len() {
            assert!(receiver.open(&header, &mut body[..len].to_vec(), crypto).is_err(), "{cipher:?} {len}");
        }
        for at in 0..body.len() {
            let mut wrong = body.clone();
            wrong[at] ^= 0x80;
            // The third octet is unused with CCMP and GCMP, and the second one a function of the first with TKIP.
            let unused = matches!((cipher, at), (Cipher::Tkip, 1))
                || at == 2 && matches!(&receiver, Receiver::Aead(_));
            if !unused {
                assert!(receiver.open(&header, &mut wrong, crypto).is_err(), "{cipher:?} octet {at}");
            }
        }
        assert_eq!(receiver.open(&header, &mut body.clone(), crypto), Ok(()), "{cipher:?}");
    }
}

#[test]
fn refusals_are_named() {
    let (crypto, header) = (&mut Real::default(), hex(HEADER));
    let changed = |cipher, at: usize| {
        let crypto = &mut Real::default();
        let (mut sender, mut receiver) = pair(cipher, &some_key(cipher), 1);
        let mut body = sealed(&mut sender, &hex(HEADER), crypto);
        body[at] ^= 0x40;
        receiver.open(&hex(HEADER), &mut body, crypto)
    };
    assert_eq!(changed(Cipher::Wep104, 3), Err(Refused::KeyId));
    assert_eq!(changed(Cipher::Wep104, 4), Err(Refused::Icv));
    assert_eq!(changed(Cipher::Tkip, 8), Err(Refused::Icv));
    assert_eq!(changed(Cipher::Ccmp128, 3), Err(Refused::KeyId));
    assert_eq!(changed(Cipher::Gcmp256, 20), Err(Refused::Mic));
    for cipher in DATA {
        let (mut sender, mut receiver) = pair(cipher, &some_key(cipher), 0);
        assert_eq!(receiver.open(&header, &mut vec![0, 0, 0], crypto), Err(Refused::TooShort));
        let mut other = vec![0; 40];
        other[3] = if matches!(receiver, Receiver::Wep(_)) { 0x20 } else { 0 };
        assert_eq!(receiver.open(&header, &mut other, crypto), Err(Refused::ExtendedIv), "{cipher:?}");
        if !matches!(receiver, Receiver::Wep(_)) {
            let body = sealed(&mut sender, &header, crypto);
            assert_eq!(receiver.open(&header[..23], &mut body.clone(), crypto), Err(Refused::Header));
            assert_eq!(receiver.open(&header, &mut body.clone(), crypto), Ok(()));
            assert_eq!(receiver.open(&header, &mut body.clone(), crypto), Err(Refused::Replayed));
            assert_eq!(sender.seal(&hex("b400"), &mut Vec::new(), crypto), Err(CannotSeal::Header));
        }
    }
}

/// A forger who knows the key stream can correct the ICV, but not Michael.
#[test]
fn tkip_has_a_mic_of_its_own_in_each_direction() {
    let (crypto, header, key) = (&mut Real::default(), hex(HEADER), some_key(Cipher::Tkip));
    let (mut sender, _) = pair(Cipher::Tkip, &key, 0);
    let mut reflected = Receiver::new(Cipher::Tkip, &key, 0, Side::Supplicant, 0).unwrap();
    let mut body = sealed(&mut sender, &header, crypto);
    assert_eq!(reflected.open(&header, &mut body.clone(), crypto), Err(Refused::Mic));
    let mut to_another = header.clone();
    to_another[4] ^= 2;
    let mut receiver = Receiver::new(Cipher::Tkip, &key, 0, Side::Authenticator, 0).unwrap();
    let to_another = receiver.open(&to_another, &mut body.clone(), crypto);
    assert!(to_another == Err(Refused::Mic) || hex(HEADER)[1] & 1 == 1, "{to_another:?}");
    assert_eq!(receiver.open(&header, &mut body, crypto), Ok(()), "a wrong MIC does not use the number up");
    let mut fragment = header;
    fragment[22] |= 1;
    assert_eq!(sender.seal(&fragment, &mut Vec::new(), crypto), Err(CannotSeal::Header));
}

#[test]
fn replay_counters_are_of_one_tid_each_and_of_management_frames() {
    let crypto = &mut Real::default();
    let header = |tid: u8| [hex("8841c32c0fd2e128a57c5030f1844408abaea5b8fcba8033"), vec![tid, 0]].concat();
    let management = hex("c00000000200000001000200000000000200000000006000");
    for cipher in [Cipher::Ccmp128, Cipher::Gcmp128] {
        let (mut sender, mut receiver) = pair(cipher, &some_key(cipher), 0);
        let old = sealed(&mut sender, &header(1), crypto);
        let of_management = sealed(&mut sender, &management, crypto);
        let young = sealed(&mut sender, &header(2), crypto);
        let mut open = |header: &[u8], body: &[u8]| receiver.open(header, &mut body.to_vec(), crypto);
        assert_eq!(open(&header(2), &young), Ok(()));
        assert_eq!(open(&header(1), &old), Ok(()), "of another TID");
        assert_eq!(open(&management, &of_management), Ok(()));
        for (header, body) in [(header(2), &young), (header(1), &old), (management.clone(), &of_management)] {
            assert_eq!(open(&header, body), Err(Refused::Replayed));
        }
        assert_eq!(open(&header(3), &old), Err(Refused::Mic), "the TID is authenticated");
    }
}

#[test]
fn the_last_packet_number_is_the_last() {
    let (crypto, header) = (&mut Real::default(), hex(HEADER));
    let (mut sender, _) = pair(Cipher::Ccmp128, &some_key(Cipher::Ccmp128), 0);
    let Sender::Aead(aead) = &mut sender else { unreachable!("CCMP is an AEAD") };
    aead.skip_to(packet_number::MAX - 1);
    assert_eq!(sender.seal(&header, &mut Vec::new(), crypto), Ok(()));
    assert_eq!(sender.seal(&header, &mut Vec::new(), crypto), Err(CannotSeal::Exhausted));
}

#[test]
fn keys_of_other_lengths_and_uses_are_refused() {
    for &cipher in Cipher::ALL {
        let key = some_key(cipher);
        let data = Receiver::new(cipher, &key, 0, Side::Supplicant, 0).is_ok();
        let management = bip::Receiver::new(cipher, &key, 4, 0).is_ok();
        assert_eq!((data, management), (!cipher.protects_management(), cipher.protects_management()));
        let short = Secret::from(&key[1..]);
        assert!(Sender::new(cipher, &short, 0, Side::Supplicant, wep::Iv([0; 3])).is_err());
        assert!(bip::Sender::new(cipher, &short, 4).is_err());
    }
}

#[test]
fn operations_are_counted_by_name() {
    let counted = |cipher| {
        let crypto = &mut Metered::count_only(Provider::Null(Null));
        let (mut sender, mut receiver) = pair(cipher, &some_key(cipher), 0);
        let mut body = sealed(&mut sender, &hex(HEADER), crypto);
        receiver.open(&hex(HEADER), &mut body, crypto).unwrap();
        assert_eq!(body, b"some data", "null cryptography, too");
        crypto
            .snapshot()
            .iter()
            .map(|row| format!("{} {} {}", row.operation, row.algorithm, row.count))
            .collect()
    };
    let counted = |cipher| -> Vec<String> { counted(cipher) };
    assert_eq!(counted(Cipher::Wep40), ["stream rc4 2"]);
    assert_eq!(counted(Cipher::Tkip), ["stream rc4 2"]);
    assert_eq!(counted(Cipher::Ccmp128), ["encrypt aes128ccm8 1", "decrypt aes128ccm8 1"]);
    assert_eq!(counted(Cipher::Gcmp256), ["encrypt aes256gcm16 1", "decrypt aes256gcm16 1"]);
}

proptest! {
    #[test]
    fn what_is_sealed_opens(
        cipher in proptest::sample::select(&DATA[..]), bodies in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..200), 1..6),
        tid in 0_u8..16, flags: u8, key_id in 0_u8..4,
    ) {
        let crypto = &mut Real::default();
        let mut header = [hex("8800c32c0fd2e128a57c5030f1844408abaea5b8fcba8033"), vec![tid, 0]].concat();
        header[1] = flags & 0x79 | 0x40;
        let (mut sender, mut receiver) = pair(cipher, &some_key(cipher), key_id);
        for plain in bodies {
            let mut body = plain.clone();
            sender.seal(&header, &mut body, crypto).unwrap();
            prop_assert_eq!(super::key_id(&body), Some(key_id));
            // What a retransmission may change is not authenticated.
            header[1] ^= 0x38;
            prop_assert_eq!(receiver.open(&header, &mut body, crypto), Ok(()));
            prop_assert_eq!(body, plain);
        }
    }

    #[test]
    fn no_octets_from_the_air_panic(
        cipher in proptest::sample::select(&DATA[..]), header in prop::collection::vec(any::<u8>(), 0..40),
        body in prop::collection::vec(any::<u8>(), 0..60),
    ) {
        let (crypto, (_, mut receiver)) = (&mut Real::default(), pair(cipher, &some_key(cipher), 0));
        for header in [&header[..], &hex(HEADER)] {
            prop_assert!(receiver.open(header, &mut body.clone(), crypto).is_err());
        }
        for cipher in MANAGEMENT {
            let mut receiver = bip::Receiver::new(cipher, &some_key(cipher), 4, 0).unwrap();
            prop_assert!(receiver.open(&header, &mut body.clone(), crypto).is_err());
        }
    }
}

/// As it is in captures: the same frame twice, and one of a sender that begins at 0.
#[test]
fn who_overhears_takes_every_packet_number() {
    let (crypto, header) = (&mut Real::default(), hex(HEADER));
    for cipher in DATA {
        let (mut sender, _) = pair(cipher, &some_key(cipher), 1);
        let mut body = b"data".to_vec();
        sender.seal(&header, &mut body, crypto).unwrap();
        let mut overhearing =
            Receiver::overhearing(cipher, &some_key(cipher), 1, Side::Authenticator).unwrap();
        for _ in 0..2 {
            let mut opened = body.clone();
            overhearing.open(&header, &mut opened, crypto).unwrap();
            assert_eq!(opened, b"data", "{cipher:?}");
        }
    }
    let mut zero = hex("0000002000000000");
    zero.extend([0; 16]);
    let (mut receiver, key) = (pair(Cipher::Ccmp128, &key(TK), 0).1, key(TK));
    assert_eq!(receiver.open(&header, &mut zero.clone(), crypto), Err(Refused::Replayed));
    let mut overhearing = Receiver::overhearing(Cipher::Ccmp128, &key, 0, Side::Authenticator).unwrap();
    assert_eq!(overhearing.open(&header, &mut zero, crypto), Err(Refused::Mic));
}

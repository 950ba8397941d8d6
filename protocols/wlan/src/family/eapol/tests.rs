//! PDUs whole, cut short and made up.

use proptest::prelude::*;

use super::*;

fn pdu(kind: u8, body: &[u8]) -> Vec<u8> {
    let length = u16::try_from(body.len()).unwrap().to_be_bytes();
    [&[2, kind], &length[..], body].concat()
}

/// An EAPOL-Key frame with the RSN descriptor.
fn rsn_key(information: u16, mic_len: usize, data_len: u16) -> Vec<u8> {
    let fixed =
        [&[DescriptorType::RSN.0], &information.to_be_bytes()[..], &[0, 16], &[0, 0, 0, 0, 0, 0, 0, 7]]
            .concat();
    let data = [&data_len.to_be_bytes()[..], &vec![5; data_len.into()]].concat();
    pdu(3, &[fixed, vec![9; 32 + 16 + 8 + 8 + mic_len], data].concat())
}

fn handshake_of(bytes: &[u8]) -> Option<Handshake> {
    match &read(bytes, LinkSeal::None).unwrap().content.of::<Eapol>().unwrap().body {
        Body::Key(key) => key.handshake,
        other => panic!("{other:?}"),
    }
}

fn error(bytes: &[u8]) -> String {
    read(bytes, LinkSeal::None).unwrap_err().to_string()
}

#[test]
fn each_message_of_the_handshakes_is_told() {
    use Handshake::{FourWay, Group};
    // What hostapd and wpa_supplicant 2.10 put into Key Information under WPA2, when keys are new and when they are renewed,
    // with a MIC of 24 bytes, with WPA's first version, and under an AEAD cipher.
    for (information, mic_len, data_len, wanted) in [
        (0x008a, 16, 22, Some(FourWay(1))),
        (0x010a, 16, 22, Some(FourWay(2))),
        (0x13ca, 16, 56, Some(FourWay(3))),
        (0x030a, 16, 0, Some(FourWay(4))),
        (0x030a, 16, 22, Some(FourWay(2))),
        (0x0088, 24, 0, Some(FourWay(1))),
        (0x0108, 24, 40, Some(FourWay(2))),
        (0x13c8, 24, 88, Some(FourWay(3))),
        (0x0308, 24, 0, Some(FourWay(4))),
        (0x0109, 16, 0, Some(FourWay(4))),
        (0x1088, 0, 38, Some(FourWay(3))),
        (0x1208, 0, 16, Some(FourWay(4))),
        (0x1382, 16, 40, Some(Group(1))),
        (0x0302, 16, 0, Some(Group(2))),
        (0x0f00, 16, 0, None),
    ] {
        let told = handshake_of(&rsn_key(information, mic_len, data_len));
        assert_eq!(told, wanted, "{information:#06x} {mic_len} {data_len}");
    }
}

#[test]
fn a_key_tells_its_descriptor_and_message_and_nothing_secret() {
    let dissected = read(&rsn_key(0x13ca, 16, 56), LinkSeal::None).unwrap();
    let told = dissected.parts.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    let wanted = "EAPOL(version 2), descriptor(RSN), 4-way handshake(message 3 of 4), replay counter(7), \
                  key data(56 bytes, encrypted)";
    assert_eq!((&dissected.name[..], &told[..]), ("EAPOL-Key", wanted));
}

#[test]
fn what_is_cut_short_names_its_field_and_offset() {
    let key = rsn_key(0x008a, 16, 22);
    assert_eq!(error(&[]), "EAPOL protocol version at offset 0: needs 1 bytes, 0 are left");
    assert_eq!(error(&key[..1]), "EAPOL packet type at offset 1: needs 1 bytes, 0 are left");
    assert_eq!(error(&key[..3]), "EAPOL packet body length at offset 2: needs 2 bytes, 1 are left");
    assert_eq!(error(&key[..9]), "EAPOL packet body at offset 4: needs 117 bytes, 5 are left");
    assert_eq!(error(&pdu(9, &[])), "EAPOL packet type at offset 1: value 9 is not allowed");
    for (len, field, offset) in [
        (0, "descriptor type", 4),
        (2, "key information", 5),
        (4, "key length", 7),
        (12, "replay counter", 9),
        (44, "nonce", 17),
        (60, "IV", 49),
        (68, "RSC", 65),
        (76, "reserved", 73),
        (92, "MIC", 81),
        (94, "key data length", 97),
    ] {
        let told = error(&pdu(3, &key[4..4 + len]));
        assert!(told.starts_with(&format!("EAPOL-Key {field} at offset {offset}: needs")), "{told}");
    }
    let told = error(&pdu(3, &key[4..4 + 96]));
    assert_eq!(told, "EAPOL-Key key data length at offset 97: length 22 does not fit");
}

#[test]
fn padding_behind_the_body_is_no_part_of_it() {
    let padded = [&pdu(0, &[3, 7, 0, 4])[..], &[0; 40]].concat();
    let content = read(&padded, LinkSeal::None).unwrap().content;
    assert_eq!(content.of::<Eapol>().unwrap().body, Body::Eap(vec![3, 7, 0, 4]));
}

#[test]
fn the_key_of_802_1x_2004_is_known() {
    let body = [&[DescriptorType::RC4.0, 0, 13][..], &[0, 0, 0, 0, 0, 0, 0, 3], &[4; 16], &[0x81], &[6; 16]]
        .concat();
    let dissected = read(&pdu(3, &body), LinkSeal::None).unwrap();
    let told = dissected.parts.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    assert_eq!(told, "EAPOL(version 2), descriptor(RC4), pairwise key(1), replay counter(3)");
    for len in 1..body.len() {
        assert!(error(&pdu(3, &body[..len])).contains("needs"), "{len}");
    }
}

proptest! {
    #[test]
    fn any_bytes_are_read_or_refused_with_an_offset_inside(bytes: Vec<u8>, kind in 0_u8..5) {
        for bytes in [pdu(kind, &bytes), bytes] {
            match read(&bytes, LinkSeal::None) {
                Ok(dissected) => prop_assert!(dissected.sent.is_some()),
                Err(error) => prop_assert!(error.offset <= bytes.len()),
            }
        }
    }

    #[test]
    fn a_body_longer_than_the_frame_is_never_read(bytes in prop::collection::vec(any::<u8>(), 0..300), more in 1_usize..500) {
        let mut pdu = pdu(0, &bytes);
        let length = u16::try_from(bytes.len() + more).unwrap().to_be_bytes();
        pdu[2..4].copy_from_slice(&length);
        let error = read(&pdu, LinkSeal::None).unwrap_err();
        prop_assert_eq!((error.field, error.offset), ("EAPOL packet body", 4));
    }
}

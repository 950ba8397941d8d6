//! EAP and TLS in words.

use proptest::prelude::*;

use super::words::Flow;
use crate::packet::{MethodType, failure, request, response, success};

fn eap(packets: &[&[u8]]) -> Vec<String> {
    let mut flow = Flow::default();
    packets.iter().map(|packet| flow.take(packet).line()).collect()
}

#[test]
fn eap_in_words() {
    let lines = eap(&[
        &request(1, MethodType::IDENTITY, b""),
        &response(1, MethodType::IDENTITY, b"ue@lab\x1b[31m"),
        &request(2, MethodType::MD5, &[16; 17]),
        &response(2, MethodType::NAK, &[21, 50]),
        &request(3, MethodType::TTLS, &[0x20]),
        &request(4, MethodType::AKA, &[5, 0, 0, 13, 1, 0, 0]),
        &request(5, MethodType::MSCHAPV2, &[4, 1, 0, 9, b'E', b'=', b'6', b'9', b'1']),
        &success(6),
        &failure(7),
        &[],
        &[9, 9, 9],
    ]);
    let expected = [
        "EAP-Request/Identity",
        "EAP-Response/Identity: \"ue@lab?[31m\"",
        "EAP-Request/MD5-Challenge",
        "EAP-Response/Nak: wants(TTLS AKA')",
        "EAP-Request/TTLS: Start",
        "EAP-Request/AKA: AKA-Identity, AT_ANY_ID_REQ",
        "EAP-Request/MSCHAPv2: Failure(E=691)",
        "EAP-Success",
        "EAP-Failure",
        "EAP-Start",
    ];
    assert_eq!(lines[..10], expected);
    assert!(lines[10].starts_with("EAP: MALFORMED"), "{}", lines[10]);
}

#[test]
fn tls_flights_are_read_across_fragments() {
    let done = [14, 0, 0, 0];
    let certificate = [11, 0, 0, 10, 0, 0, 7, 0, 0, 4, 1, 2, 3, 4];
    let handshake = [&certificate[..], &done].concat();
    let record = |kind: u8, body: &[u8]| [&[kind, 3, 3, 0, body.len() as u8][..], body].concat();
    // The certificate spans two records, and both span two fragments.
    let flight =
        [record(22, &handshake[..6]), record(22, &handshake[6..]), record(20, &[1]), record(22, &[9; 8])]
            .concat();
    let first = [&[0xc0, 0, 0, 0, flight.len() as u8][..], &flight[..9]].concat();
    let second = [&[0x00][..], &flight[9..]].concat();
    let lines = eap(&[&request(1, MethodType::TLS, &first), &request(2, MethodType::TLS, &second)]);
    assert_eq!(lines[0], format!("EAP-Request/TLS: fragment(9 bytes of {}, more follow)", flight.len()));
    assert_eq!(
        lines[1],
        "EAP-Request/TLS: Certificate(1 of 4 bytes), ServerHelloDone, ChangeCipherSpec, Handshake(encrypted)"
    );
    let alert = eap(&[&request(3, MethodType::TLS, &[&[0][..], &record(21, &[2, 48])].concat())]);
    assert_eq!(alert, ["EAP-Request/TLS: Alert(unknown_ca)"]);
}

proptest! {
    #[test]
    fn any_eap_and_tls_are_put_into_words(kind in 0_u8..60, packets in prop::collection::vec((1_u8..3, prop::collection::vec(any::<u8>(), 0..80)), 0..6)) {
        let mut flow = Flow::default();
        for (code, data) in packets {
            let mut packet = vec![code, 1, 0, (data.len() + 5) as u8, kind];
            packet.extend(data);
            let line = flow.take(&packet).line();
            prop_assert!(!line.chars().any(char::is_control), "{}", line);
        }
    }
}

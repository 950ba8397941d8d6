//! Published packets: RFC 2865 §7 (secret "xyzzy5461"), the captures in FreeRADIUS's unit tests (secret "testing123",
//! packet_wireshark01.txt and eapol_msg.txt), and the key of OpenBSD's libradius regression test 25.
#![allow(clippy::unwrap_used, reason = "helpers of tests are tests")]

use keytoll_crypto::Real;
use keytoll_crypto_api::Secret;
use keytoll_net::wire::Reader;
use keytoll_radius::number::{AttributeType, Code, MICROSOFT, MS_MPPE_RECV_KEY, MS_MPPE_SEND_KEY};
use keytoll_radius::protect::mppe::{self, Under};
use keytoll_radius::protect::{Forged, password};
use keytoll_radius::wire::{
    Attribute, Authenticator, Packet, PacketBuilder, Sealed, VendorSpecific, eap_message,
};

fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text.bytes().filter(u8::is_ascii_hexdigit).collect();
    let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap();
    digits.chunks(2).map(byte).collect()
}

fn secret(text: &str) -> Secret {
    Secret::from(text.as_bytes())
}

/// A new packet with the same code, identifier and attributes.
fn builder(packet: &Packet<'_>) -> PacketBuilder {
    let mut builder = PacketBuilder::new(packet.code, packet.identifier);
    for attribute in packet.attributes.iter() {
        match attribute.kind() {
            AttributeType::MESSAGE_AUTHENTICATOR => builder.message_authenticator(),
            _ => builder.attribute(&attribute),
        }
    }
    builder
}

fn sealed_again(packet: &Packet<'_>, request: &Authenticator, secret: &Secret) -> Sealed {
    let crypto = &mut Real::default();
    let builder = builder(packet);
    if packet.code.is_response() {
        builder.seal_response(request, secret, crypto).unwrap()
    } else {
        builder.seal_request(request, secret, crypto).unwrap()
    }
}

fn password_of(packet: &Packet<'_>, secret: &Secret) -> Secret {
    let hidden = packet.attributes.exactly_one(AttributeType::USER_PASSWORD).unwrap();
    password::reveal(hidden, &packet.authenticator, secret, &mut Real::default()).unwrap()
}

/// One exchange of RFC 2865 §7, which is older than the Message-Authenticator.
fn check_rfc2865(request: &str, word: Option<&str>, response: &str) {
    let (request, response, secret) = (hex(request), hex(response), secret("xyzzy5461"));
    let (request, response) = (Packet::read(&request).unwrap(), Packet::read(&response).unwrap());
    assert_eq!(sealed_again(&request, &request.authenticator, &secret).bytes, request.bytes());
    assert_eq!(sealed_again(&response, &request.authenticator, &secret).bytes, response.bytes());
    let crypto = &mut Real::default();
    assert_eq!(response.verify_response(&request.authenticator, &secret, crypto), Err(Forged::Missing));
    assert_eq!(response.verify_response(&[0; 16], &secret, crypto), Err(Forged::Authenticator));
    if let Some(word) = word {
        assert_eq!(password_of(&request, &secret), self::secret(word));
        let hidden = password::hide(&self::secret(word), &request.authenticator, &secret, crypto).unwrap();
        let value = request.attributes.exactly_one(AttributeType::USER_PASSWORD).unwrap().rest();
        assert_eq!(hidden, value);
    }
}

#[test]
fn rfc2865_7_1_user_telnet_to_specified_host() {
    check_rfc2865(
        "01 00 00 38 0f 40 3f 94 73 97 80 57 bd 83 d5 cb 98 f4 22 7a 01 06 6e 65 6d 6f 02 12 0d be 70 8d
         93 d4 13 ce 31 96 e4 3f 78 2a 0a ee 04 06 c0 a8 01 10 05 06 00 00 00 03",
        Some("arctangent"),
        "02 00 00 26 86 fe 22 0e 76 24 ba 2a 10 05 f6 bf 9b 55 e0 b2 06 06 00 00 00 01 0f 06 00 00 00 00
         0e 06 c0 a8 01 03",
    );
}

#[test]
fn rfc2865_7_2_framed_user_authenticating_with_chap() {
    check_rfc2865(
        "01 01 00 47 2a ee 86 f0 8d 0d 55 96 9c a5 97 8e 0d 33 67 a2 01 08 66 6c 6f 70 73 79 03 13 16 e9
         75 57 c3 16 18 58 95 f2 93 ff 63 44 07 72 75 04 06 c0 a8 01 10 05 06 00 00 00 14 06 06 00 00 00
         02 07 06 00 00 00 01",
        None,
        "02 01 00 38 15 ef bc 7d ab 26 cf a3 dc 34 d9 c0 3c 86 01 a4 06 06 00 00 00 02 07 06 00 00 00 01
         08 06 ff ff ff fe 0a 06 00 00 00 02 0d 06 00 00 00 01 0c 06 00 00 05 dc",
    );
}

#[test]
fn rfc2865_7_3_user_with_challenge_response_card() {
    check_rfc2865(
        "01 02 00 39 f3 a4 7a 1f 6a 6d 76 71 0b 94 7a b9 30 41 a0 39 01 07 6d 6f 70 73 79 02 12 33 65 75
         73 77 82 89 b5 70 88 5e 15 08 48 25 c5 04 06 c0 a8 01 10 05 06 00 00 00 07",
        Some("challenge"),
        "0b 02 00 4e 36 f3 c8 76 4a e8 c7 11 57 40 3c 0c 71 ff 9c 45 12 30 43 68 61 6c 6c 65 6e 67 65 20
         33 32 37 36 39 34 33 30 2e 20 20 45 6e 74 65 72 20 72 65 73 70 6f 6e 73 65 20 61 74 20 70 72 6f
         6d 70 74 2e 18 0a 33 32 37 36 39 34 33 30",
    );
    // The RFC prints the length of the State, 10, in decimal ("18 10"), which would reach beyond the packet.
    check_rfc2865(
        "01 03 00 43 b1 22 55 6d 42 8a 13 d0 d6 25 38 07 c4 57 ec f0 01 07 6d 6f 70 73 79 02 12 69 2c 1f
         20 5f c0 81 b9 19 b9 51 95 f5 61 a5 81 04 06 c0 a8 01 10 05 06 00 00 00 07 18 0a 33 32 37 36 39
         34 33 30",
        Some("99101462"),
        "03 03 00 14 a4 2f 4f ca 45 91 6c 4e 09 c8 34 0f 9e 74 6a a0",
    );
}

/// A request and its response, captured between a NAS and FreeRADIUS, with the EAP packets inside.
fn check_capture(request: &str, word: &str, response: &str, eap: [&str; 2]) {
    let (request, response, secret) = (hex(request), hex(response), secret("testing123"));
    let (request, response) = (Packet::read(&request).unwrap(), Packet::read(&response).unwrap());
    let crypto = &mut Real::default();
    assert_eq!(request.verify_request(&secret, crypto), Ok(()));
    assert_eq!(response.verify_response(&request.authenticator, &secret, crypto), Ok(()));
    let other = self::secret("testing124");
    assert_eq!(request.verify_request(&other, crypto), Err(Forged::MessageAuthenticator));
    assert_eq!(response.verify_response(&request.authenticator, &other, crypto), Err(Forged::Authenticator));
    assert_eq!(sealed_again(&request, &request.authenticator, &secret).bytes, request.bytes());
    assert_eq!(sealed_again(&response, &request.authenticator, &secret).bytes, response.bytes());
    assert_eq!(password_of(&request, &secret), self::secret(word));
    let inside = [request, response].map(|packet| eap_message::join(&packet.attributes).unwrap().unwrap());
    assert_eq!(inside, eap.map(hex));
}

#[test]
fn freeradius_rejects_an_eap_md5_user() {
    check_capture(
        "01 67 00 57 40 b6 64 db f5 d6 81 b2 ad bd 17 69 51 51 18 c8 01 07 73 74 65 76 65 02 12 db c6 c4 b7 58 be 14 f0
         05 b3 87 7c 9e 2f b6 01 04 06 c0 a8 00 1c 05 06 00 00 00 7b 50 12 5f 0f 86 47 e8 c8 9b d8 81 36 42 68 fc d0 45
         32 4f 0c 02 66 00 0a 01 73 74 65 76 65",
        "bad",
        "0b 67 00 83 83 ec e7 07 a2 f3 1b b6 5b ad fb 22 a6 40 23 d9 06 06 00 00 00 02 07 06 00 00 00 01 08 06 ac 10 03
         21 09 06 ff ff ff 00 0a 06 00 00 00 03 0b 09 73 74 64 2e 70 70 70 0c 06 00 00 05 dc 0d 06 00 00 00 01 4f 18 01
         67 00 16 04 10 ff 0b f1 d6 e4 01 a9 cb e5 b4 6e b9 43 e5 54 9a 50 12 6e 79 4a 02 0c 45 c6 6f 42 47 ba 8c 5f f0
         4e d1 18 12 73 6f 86 85 73 08 82 77 41 4a e3 f3 1e ac 34 e9",
        ["0266000a017374657665", "016700160410ff0bf1d6e401a9cbe5b46eb943e5549a"],
    );
    check_capture(
        "01 68 00 75 b3 e2 2f f8 55 a6 90 28 0e 6c 34 44 c4 6e 66 3b 01 07 73 74 65 76 65 02 12 fb 92 fb 79 8e d9 d6 30
         27 50 18 e4 5c 6c 8b a2 04 06 c0 a8 00 1c 05 06 00 00 00 7b 50 12 8f 34 af d1 19 60 af 92 25 82 ab ea 64 ff c2
         f3 18 12 73 6f 86 85 73 08 82 77 41 4a e3 f3 1e ac 34 e9 4f 18 02 67 00 16 04 10 c7 6e 1d 28 72 6f d1 c0 cb 67
         1a 54 24 16 8d 26",
        "bad",
        "03 68 00 2c 71 62 4d a2 5c 0b 58 97 f7 05 39 e0 19 a8 1e ae 4f 06 04 67 00 04 50 12 ce 70 fe 87 a9 97 b4 4d e5
         83 cd 19 be a2 93 21",
        ["026700160410c76e1d28726fd1c0cb671a5424168d26", "04670004"],
    );
}

#[test]
fn freeradius_accepts_an_eap_md5_user() {
    check_capture(
        "01 72 00 75 8a b0 86 d6 0a e5 7c a0 46 52 a6 87 10 e6 30 de 01 07 73 74 65 76 65 02 12 c0 23 8d af 7e a4 99 d4
         8b e3 25 12 a0 ae 5b c7 04 06 c0 a8 00 1c 05 06 00 00 00 7b 50 12 c5 0b 17 d5 46 cd f7 c0 a0 bf ff bd d3 5a 72
         80 18 12 db e0 f4 9f db 91 f0 d0 23 71 8f e6 6f 2d e0 07 4f 18 02 71 00 16 04 10 36 d9 3b 94 f1 42 71 4e 95 06
         16 13 64 0e d3 6d",
        "testing",
        "02 72 00 66 e6 c4 59 f6 07 63 14 87 65 35 51 64 ac 59 94 14 06 06 00 00 00 02 07 06 00 00 00 01 08 06 ac 10 03
         21 09 06 ff ff ff 00 0a 06 00 00 00 03 0b 09 73 74 64 2e 70 70 70 0c 06 00 00 05 dc 0d 06 00 00 00 01 4f 06 03
         71 00 04 50 12 69 ff 0a ab 72 16 68 cd 28 25 6d e5 75 73 b9 bd 01 07 73 74 65 76 65",
        ["02710016041036d93b94f142714e95061613640ed36d", "03710004"],
    );
}

/// OpenBSD, regress/lib/libradius/test25.c, secret "hogehogefugafuga".
#[test]
fn openbsd_hides_a_key_of_16_bytes() {
    let request = hex("678ae6ed696e1bd10ae2fea105d46a56").try_into().unwrap();
    let hidden = hex("8036 f4abbe2117fb3e4a7874dce91c5b0449 8ec7720f168688562dbc88e21cab6271");
    let key = Secret::new(hex("fc6ea418373d8e90c136fae3735e37d1"));
    let under = Under { request: &request, secret: &secret("hogehogefugafuga") };
    let crypto = &mut Real::default();
    assert_eq!(mppe::reveal(Reader::new(&hidden), under, crypto), Ok(key.clone()));
    assert_eq!(mppe::hide(&key, 0x8036, under, crypto), hidden);
}

/// FreeRADIUS, src/tests/unit/protocols/radius/eapol_msg.txt; its secret is not published.
#[test]
fn an_access_accept_of_freeradius_with_vendors_and_keys_is_read() {
    let bytes = hex(
        "020200eb8b7a26bee11f1ca308233d49733187720506000030391217506f776572656420627920467265655241444955531a0c000004d2
         3806deadbeef1a0c000000141e06cafecafe1a0c000000141e06cadecade1a1200000be1130c6d792070726f66696c651a0c00000be110
         06000000051a0c000001370706000000011a2a0000013711248701b3e481d72fa1333b9838a3cd448837eaed62a843295f1c9dd153c686
         6e499f201a2a0000013710249385f7dc0fd758b02dd0dc43f68266508ec93c678a5fa38525749016edede8eeea0e4f0603fc0004501200
         e9e565eb053138254850edb41fc013",
    );
    let packet = Packet::read(&bytes).unwrap();
    assert_eq!((packet.code, packet.identifier), (Code::ACCESS_ACCEPT, 2));
    let key = |kind| VendorSpecific::find(&packet.attributes, MICROSOFT, kind).unwrap().unwrap().rest();
    assert_eq!(
        key(MS_MPPE_RECV_KEY),
        hex("8701b3e481d72fa1333b9838a3cd448837eaed62a843295f1c9dd153c6866e499f20")
    );
    assert_eq!(
        key(MS_MPPE_SEND_KEY),
        hex("9385f7dc0fd758b02dd0dc43f68266508ec93c678a5fa38525749016edede8eeea0e")
    );
    assert_eq!(eap_message::join(&packet.attributes), Ok(Some(hex("03fc0004"))));
    let reply = Attribute::fixed(AttributeType::REPLY_MESSAGE, b"Powered by FreeRADIUS");
    assert!(packet.attributes.iter().any(|attribute| attribute == reply));
}

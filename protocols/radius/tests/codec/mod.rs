//! Properties that hold for arbitrary bytes: the functions behind `tests/corpus.rs` and the fuzz targets `radius_codec` and
//! `radius_engines`. RFC 2865 §3.

use std::collections::BTreeMap;
use std::time::Duration;

use keytoll_crypto::{Null, Real};
use keytoll_crypto_api::{Crypto, Rng, Secret};
use keytoll_engine::trace::NoTrace;
use keytoll_engine::{Ctx, Engine, Input, Output, Time};
use keytoll_net::{Addr, Socket};
use keytoll_radius::client::{self, Client};
use keytoll_radius::number::{AttributeType, Code, MICROSOFT, MS_MPPE_RECV_KEY};
use keytoll_radius::protect::mppe::Under;
use keytoll_radius::protect::{MppeKeys, password};
use keytoll_radius::server::{self, Server};
use keytoll_radius::wire::{Attributes, Packet, PacketBuilder, VendorSpecific, eap_message};

/// Decodes a packet and its contents; anything decoded is the same after encoding and decoding again.
pub(crate) fn check(bytes: &[u8]) -> bool {
    let Ok(packet) = Packet::read(bytes) else { return false };
    let secret = Secret::from(b"testing123".as_slice());
    walk(&packet, &secret);
    let mut builder = PacketBuilder::new(packet.code, packet.identifier);
    for attribute in packet.attributes.iter() {
        match attribute.kind() {
            AttributeType::MESSAGE_AUTHENTICATOR => builder.message_authenticator(),
            _ => builder.attribute(&attribute),
        }
    }
    let sealed = builder.seal_request(&packet.authenticator, &secret, &mut Real::default());
    let sealed = sealed.expect("as long as it was");
    let again = Packet::read(&sealed.bytes).expect("what was written can be read");
    let kinds =
        |packet: &Packet<'_>| packet.attributes.iter().map(|attribute| attribute.kind()).collect::<Vec<_>>();
    assert_eq!((again.bytes().len(), kinds(&again)), (packet.bytes().len(), kinds(&packet)));
    let is_authentic = packet.verify_request(&secret, &mut Real::default()).is_ok();
    assert_eq!(is_authentic, packet.bytes() == again.bytes() && has_message_authenticator(&packet));
    true
}

fn has_message_authenticator(packet: &Packet<'_>) -> bool {
    packet.attributes.at_most_one(AttributeType::MESSAGE_AUTHENTICATOR).is_ok_and(|value| value.is_some())
}

/// Decodes hidden values; only termination matters.
fn walk(packet: &Packet<'_>, secret: &Secret) {
    let crypto = &mut Real::default();
    let under = Under { request: &packet.authenticator, secret };
    if let Ok(Some(keys)) = MppeKeys::read(&packet.attributes, under, crypto) {
        assert!(keys.msk().len() >= 64, "an MSK has at least 64 bytes");
    }
    let _ = VendorSpecific::find(&packet.attributes, MICROSOFT, MS_MPPE_RECV_KEY);
    for hidden in packet.attributes.values(AttributeType::USER_PASSWORD) {
        let revealed = password::reveal(hidden, &packet.authenticator, secret, crypto);
        assert!(
            revealed.is_ok_and(|word| word.len() <= 128)
                || hidden.len() % 16 != 0
                || hidden.len() > 128
                || hidden.is_empty()
        );
    }
    if let Ok(Some(eap)) = eap_message::join(&packet.attributes) {
        assert!(eap.len() < Packet::LEN_MAX, "no longer than its packet");
        let split: Attributes = eap_message::split(&eap).collect();
        assert_eq!(eap_message::join(&split.list()), Ok(Some(eap)));
    }
}

/// Bytes as attributes of authenticated packets: with the secret a peer may send anything, and neither engine may panic, keep
/// state for ever, or leave its owner without a result.
pub(crate) fn check_engines(bytes: &[u8]) {
    let Some((&choice, attributes)) = bytes.split_first() else { return };
    as_request(choice, attributes);
    as_response(choice, attributes);
}

/// A packet with these attributes, with a leading Message-Authenticator if required; sealed by null crypto, under which all
/// zeros are valid.
fn packet(code: Code, identifier: u8, authenticator: [u8; 16], attributes: &[u8]) -> Vec<u8> {
    let room = attributes.len().min(Packet::LEN_MAX - 40);
    let length = u16::try_from(40 - 2 + room).expect("at most 4096");
    let mut bytes = vec![code.0, identifier];
    bytes.extend(length.to_be_bytes());
    bytes.extend(authenticator);
    bytes.extend([AttributeType::MESSAGE_AUTHENTICATOR.0, 18]);
    bytes.extend([0; 16]);
    bytes.extend(&attributes[..room]);
    bytes
}

fn drive<E: Engine>(engine: &mut E, input: Input<'_, E::Command>, now: Time) -> Vec<Output<E::Event>> {
    let crypto: &mut dyn Crypto = &mut Null;
    engine.handle(input, &mut Ctx { now, crypto, trace: &mut NoTrace });
    std::iter::from_fn(|| engine.poll()).collect()
}

fn as_request(choice: u8, attributes: &[u8]) {
    let (from, to) = (addr("192.0.2.1:40000"), addr("192.0.2.2:1812"));
    let known = server::Client { secret: Secret::from(b"testing123".as_slice()) };
    let mut server =
        Server::new(server::Config::new(BTreeMap::from([(from.ip, known)])), Rng::named(1, "fuzz"));
    let (code, port) =
        if choice & 1 == 0 { (Code::ACCESS_REQUEST, 1812) } else { (Code::ACCOUNTING_REQUEST, 1813) };
    let bytes = packet(code, 1, [0; 16], attributes);
    let to = to.at_port(port);
    for output in drive(
        &mut server,
        Input::Datagram { from: Addr::Udp(from), to: Addr::Udp(to), bytes: &bytes },
        Time::ZERO,
    ) {
        if let Output::Event(server::Event::Request(request)) = output {
            let answer = verdict(choice, request.conversation);
            assert!(
                !drive(&mut server, Input::Command(answer), Time::ZERO).is_empty(),
                "every verdict is sent"
            );
        }
    }
    drive(&mut server, Input::Tick, Time::ZERO + Duration::from_secs(3600));
    assert_eq!((server.conversations(), server.remembered()), (0, 0));
}

fn verdict(choice: u8, conversation: server::ConversationId) -> server::Command {
    let eap = vec![choice; usize::from(choice) * 16];
    match choice & 6 {
        0 => server::Command::Challenge { conversation, eap },
        2 => server::Command::Reject { conversation, eap: Some(eap) },
        _ => {
            let msk = Some(Secret::new(vec![7; usize::from(choice)]));
            server::Command::Accept { conversation, eap: Some(eap), msk, attributes: Attributes::new() }
        }
    }
}

fn as_response(choice: u8, attributes: &[u8]) {
    let mut client = Client::new(client_config(), Rng::named(1, "fuzz"));
    let authenticate = client::Authenticate {
        conversation: client::ConversationId(1),
        peer: addr("192.0.2.9:0").ip.into(),
        user_name: b"nemo".to_vec(),
        credential: client::Credential::Eap(vec![2, 0, 0, 5, 1]),
        state: None,
        attributes: Attributes::new(),
    };
    drive(&mut client, Input::Command(client::Command::Authenticate(authenticate)), Time::ZERO);
    let code = [Code::ACCESS_ACCEPT, Code::ACCESS_REJECT, Code::ACCESS_CHALLENGE][usize::from(choice % 3)];
    let bytes = packet(code, 0, [0; 16], attributes);
    let (from, to) = (addr("192.0.2.2:1812"), addr("192.0.2.1:40000"));
    let told = drive(
        &mut client,
        Input::Datagram { from: Addr::Udp(from), to: Addr::Udp(to), bytes: &bytes },
        Time::ZERO,
    );
    let later = drive(&mut client, Input::Tick, Time::ZERO + Duration::from_secs(3600));
    assert_eq!((told.len() + later.len(), client.outstanding()), (1, 0), "one end, and nothing left");
}

fn client_config() -> client::Config {
    client::Config {
        local: addr("192.0.2.1:0").ip,
        ports: vec![40_000],
        server: client::Server::new(addr("192.0.2.2:0").ip, Secret::from(b"testing123".as_slice())),
        nas_identifier: "gw".to_owned(),
        retransmission: client::Retransmission::default(),
    }
}

fn addr(text: &str) -> Socket {
    text.parse::<std::net::SocketAddr>().expect("an address in this file").into()
}

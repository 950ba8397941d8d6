//! A conversation of two rounds, client and server together: `cargo bench -p keytoll-radius`.

use std::collections::BTreeMap;

use divan::Bencher;
use keytoll_crypto::{Null, Real};
use keytoll_crypto_api::{Crypto, Rng, Secret};
use keytoll_engine::trace::NoTrace;
use keytoll_engine::{Ctx, Datagram, Engine, Input, Output, Time};
use keytoll_net::Socket;
use keytoll_radius::client::{self, Client};
use keytoll_radius::server::{self, Server};
use keytoll_radius::wire::{Attributes, State};

fn main() {
    divan::main();
}

#[divan::bench]
fn real(bencher: Bencher<'_, '_>) {
    conversations(bencher, &mut Real::default());
}

#[divan::bench]
fn null(bencher: Bencher<'_, '_>) {
    conversations(bencher, &mut Null);
}

fn conversations(bencher: Bencher<'_, '_>, crypto: &mut dyn Crypto) {
    let (from, to) = (address("192.0.2.1"), address("192.0.2.2"));
    let secret = Secret::from(b"testing123".as_slice());
    let known = server::Client { secret: secret.clone() };
    let config = client::Config {
        local: from.ip,
        ports: vec![40_000],
        server: client::Server::new(to.ip, secret),
        nas_identifier: "gw".to_owned(),
        retransmission: client::Retransmission::default(),
    };
    let mut client = Client::new(config, Rng::named(1, "gw/radius"));
    let mut server =
        Server::new(server::Config::new(BTreeMap::from([(from.ip, known)])), Rng::named(1, "aaa/radius"));
    bencher.bench_local(|| {
        let state = round(&mut client, &mut server, None, crypto);
        assert!(state.is_some(), "a challenge");
        assert!(round(&mut client, &mut server, state, crypto).is_none(), "an accept");
    });
}

/// One Access-Request and its answer.
fn round(
    client: &mut Client,
    server: &mut Server,
    state: Option<State>,
    crypto: &mut dyn Crypto,
) -> Option<State> {
    let ask = client::Command::Authenticate(client::Authenticate {
        conversation: client::ConversationId(1),
        peer: address("192.0.2.9").ip.into(),
        user_name: b"nemo".to_vec(),
        credential: client::Credential::Eap(vec![2; 64]),
        state,
        attributes: Attributes::new(),
    });
    let request = only_packet(drive(client, Input::Command(ask), crypto));
    let mut asked = drive(server, packet(&request), crypto);
    let Some(Output::Event(server::Event::Request(request))) = asked.pop() else { panic!("{asked:?}") };
    let response = only_packet(drive(server, Input::Command(verdict(&request)), crypto));
    match drive(client, packet(&response), crypto).pop() {
        Some(Output::Event(client::Event::Challenge { state, .. })) => state,
        Some(Output::Event(client::Event::Accept(_))) => None,
        other => panic!("{other:?}"),
    }
}

fn verdict(request: &server::Request) -> server::Command {
    let conversation = request.conversation;
    if request.first {
        return server::Command::Challenge { conversation, eap: vec![1; 64] };
    }
    let msk = Some(Secret::new(vec![7; 64]));
    server::Command::Accept { conversation, eap: Some(vec![3; 4]), msk, attributes: Attributes::new() }
}

fn drive<E: Engine>(
    engine: &mut E,
    input: Input<'_, E::Command>,
    crypto: &mut dyn Crypto,
) -> Vec<Output<E::Event>> {
    engine.handle(input, &mut Ctx { now: Time::ZERO, crypto, trace: &mut NoTrace });
    std::iter::from_fn(|| engine.poll()).collect()
}

fn only_packet<E: std::fmt::Debug>(mut outputs: Vec<Output<E>>) -> Datagram {
    match outputs.pop() {
        Some(Output::Datagram(datagram)) => datagram,
        other => panic!("{other:?}"),
    }
}

const fn packet<C>(datagram: &Datagram) -> Input<'_, C> {
    Input::Datagram { from: datagram.from, to: datagram.to, bytes: datagram.bytes.as_slice() }
}

fn address(ip: &str) -> Socket {
    Socket::new(ip.parse().expect("an address in this file"), 0)
}

//! The cost of reading, writing and protecting an IKE_AUTH request. RFC 7296 §1.2.

use std::hint::black_box;

use divan::Bencher;
use keytoll_crypto::{Null, Real};
use keytoll_crypto_api::suite::Suite;
use keytoll_crypto_api::{Crypto, Rng};
use keytoll_ike::number::{AuthMethod, ConfigurationType, ExchangeType, NotifyType, PayloadType, ProtocolId};
use keytoll_ike::v2::keys::{IkeKeys, Nonces, Role};
use keytoll_ike::v2::proposal::propose;
use keytoll_ike::v2::protect::Protection;
use keytoll_ike::wire::payload::read_chain;
use keytoll_ike::wire::{
    Authentication, Flags, Header, Identity, MessageBuilder, Notify, Payload, Proposal, Spi, TrafficSelector,
};
use keytoll_net::wire::Reader;

fn main() {
    divan::main();
}

fn header() -> Header {
    Header::new((1, 2), ExchangeType::IKE_AUTH, Flags::INITIATOR, 1)
}

/// The payloads of IKE_AUTH with a shared key: IDi N AUTH CP SA TSi TSr.
struct Inside {
    identity: Identity,
    proposals: Vec<Proposal>,
    selectors: [TrafficSelector; 2],
}

impl Inside {
    fn new() -> Self {
        let esp = ["aes128gcm16", "aes256gcm16-esn"]
            .map(|suite| Suite::esp(suite).unwrap_or_else(|e| panic!("{e}")));
        Self {
            identity: Identity::new(keytoll_ike::number::IdKind::ID_RFC822_ADDR, b"ue@lab"),
            proposals: propose(ProtocolId::ESP, Spi::Child(7), &esp),
            selectors: [TrafficSelector::ANY_IPV4, TrafficSelector::ANY_IPV6],
        }
    }

    fn write(&self, message: &mut MessageBuilder) {
        message.push(&Payload::IdInitiator(self.identity.as_payload()));
        message.push(&Payload::Notify(Notify::new(NotifyType::INITIAL_CONTACT, &[])));
        message.push(&Payload::Authentication(Authentication {
            method: AuthMethod::SHARED_KEY_MIC,
            data: &[7; 32],
        }));
        message.configuration(ConfigurationType::CFG_REQUEST, &[]);
        message.security_association(&self.proposals);
        message.traffic_selectors(&self.selectors, &self.selectors);
    }
}

fn ends(crypto: &mut dyn Crypto, suite: &str) -> (Protection, Protection) {
    let suite = Suite::ike(suite).unwrap_or_else(|e| panic!("{e}"));
    let nonces = Nonces { initiator: &[1; 32], responder: &[2; 32] };
    let keys = IkeKeys::first(crypto, &suite, &[9; 32], nonces, (1, 2));
    (Protection::new(keys.clone(), Role::Initiator), Protection::new(keys, Role::Responder))
}

#[divan::bench]
fn write(bencher: Bencher<'_, '_>) {
    let inside = Inside::new();
    bencher.bench(|| {
        let mut message = MessageBuilder::plain(&header());
        black_box(&inside).write(&mut message);
        message.finish()
    });
}

#[divan::bench]
fn read(bencher: Bencher<'_, '_>) {
    let mut message = MessageBuilder::plain(&header());
    Inside::new().write(&mut message);
    let bytes = message.finish();
    bencher.bench(|| {
        let chain = read_chain(PayloadType::ID_I, &mut Reader::new(black_box(&bytes[Header::LEN..])));
        chain.map(|payloads| payloads.len())
    });
}

/// Writes and seals, then opens and reads.
fn protected(bencher: Bencher<'_, '_>, crypto: &mut dyn Crypto, suite: &str) {
    let inside = Inside::new();
    let (mut initiator, responder) = ends(crypto, suite);
    let mut rng = Rng::named(1, "bench");
    bencher.bench_local(|| {
        let mut message = initiator.begin(&header());
        inside.write(&mut message);
        let mut bytes = initiator.seal(message, &mut rng, crypto);
        let opened = responder.open(&mut bytes, crypto);
        opened.map(|opened| opened.payloads().map(|payloads| payloads.len()))
    });
}

const SUITES: [&str; 2] = ["aes128gcm16-prfsha256-x25519", "aes128-sha256-x25519"];

#[divan::bench(args = SUITES)]
fn there_and_back_real(bencher: Bencher<'_, '_>, suite: &str) {
    protected(bencher, &mut Real::default(), suite);
}

#[divan::bench(args = SUITES)]
fn there_and_back_null(bencher: Bencher<'_, '_>, suite: &str) {
    protected(bencher, &mut Null, suite);
}

/// IKEv1: message 1 of main mode with three transforms, and messages under an ISAKMP SA.
mod v1 {
    use std::time::Duration;

    use keytoll_engine::Ctx;
    use keytoll_engine::trace::NoTrace;
    use keytoll_engine::{Engine, Input, Output, Time};
    use keytoll_ike::config::{Believe, Config, Connection, Phase1, Prove, Reauthenticate, V1, Version};
    use keytoll_ike::event::Command;
    use keytoll_ike::v1::Endpoint;
    use keytoll_ike::v1::number::{AuthenticationMethod, IDENTITY_PROTECTION, payload};
    use keytoll_ike::v1::proposal::propose;
    use keytoll_ike::v1::wire::{Message, Payload, message::push};
    use keytoll_net::Socket;

    use super::*;

    fn suites() -> Vec<Suite> {
        let names = ["aes256-sha256-modp2048", "aes128-sha1-modp1024", "3des-md5-modp1024"];
        names.map(|suite| Suite::ike(suite).unwrap_or_else(|e| panic!("{e}"))).to_vec()
    }

    fn first_message() -> Vec<u8> {
        let header = Header::new((1, 0), IDENTITY_PROTECTION, Flags::NONE, 0);
        let mut m = MessageBuilder::plain(&Header { version: Header::VERSION_1, ..header });
        let hour = Duration::from_secs(3600);
        let proposal = propose(&suites(), AuthenticationMethod::PRE_SHARED_KEY, hour);
        let mut w = keytoll_net::wire::Writer::default();
        proposal.write_sa(&mut w);
        push(&mut m, &Payload::Unknown(payload::SA, w.as_slice()));
        push(&mut m, &Payload::VendorId(&[7; 16]));
        m.finish()
    }

    #[divan::bench]
    fn write(bencher: Bencher<'_, '_>) {
        bencher.bench(first_message);
    }

    #[divan::bench]
    fn read(bencher: Bencher<'_, '_>) {
        let bytes = first_message();
        bencher.bench(|| Message::read(black_box(&bytes)).map(|message| message.payloads.len()));
    }

    fn endpoint(local: &str, remote: &str, phase1: Phase1) -> Endpoint {
        let identity = |text: &str| text.parse::<Identity>().unwrap_or_else(|e| panic!("{e}"));
        let secret = || keytoll_crypto_api::Secret::from(&b"secret"[..]);
        let connection = Connection {
            name: String::new(),
            version: Version::V1(V1::new(phase1)),
            local_id: identity(local),
            remote_id: Some(identity(remote)),
            signatures: Vec::new(),
            local: Prove::Psk(secret()),
            remote: Believe::psk(secret()),
            suites: suites(),
            child: None,
            request_address: false,
            pool: None,
            auth_lifetime: None,
            weakest: keytoll_ike::config::Weakest::default(),
            reauthenticate: Reauthenticate::OnDemand,
            rekey_after: None,
            liveness_after: None,
        };
        Endpoint::new(Config::new(vec![connection]), Rng::named(1, local))
    }

    /// Both ends of phase 1 without cryptography: the cost of the state machines.
    #[divan::bench(args = ["main", "aggressive"])]
    fn phase_1_null(bencher: Bencher<'_, '_>, mode: &str) {
        let phase1 = if mode == "main" { Phase1::Main } else { Phase1::Aggressive };
        let addresses =
            ["192.0.2.1", "192.0.2.2"].map(|ip| Socket::new(ip.parse().expect("an address"), 500));
        bencher.bench_local(|| {
            let mut ends = [endpoint("i.lab", "r.lab", phase1), endpoint("r.lab", "i.lab", phase1)];
            let mut cx = Ctx { now: Time::ZERO, crypto: &mut Null, trace: &mut NoTrace };
            let command =
                Command::Initiate { connection: 0, local: addresses[0].ip, remote: addresses[1].ip };
            ends[0].handle(Input::Command(command), &mut cx);
            let mut messages = 0;
            for turn in (0..2).cycle() {
                let mut packets = Vec::new();
                while let Some(output) = ends[turn].poll() {
                    if let Output::Datagram(packet) = output {
                        packets.push(packet);
                    }
                }
                if packets.is_empty() {
                    break;
                }
                for packet in packets {
                    messages += 1;
                    let input = Input::Datagram { from: packet.from, to: packet.to, bytes: &packet.bytes };
                    ends[1 - turn].handle(input, &mut cx);
                }
            }
            messages
        });
    }
}

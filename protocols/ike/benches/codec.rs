//! What reading, writing and protecting an IKE_AUTH request costs. RFC 7296 §1.2.

use std::hint::black_box;

use divan::Bencher;
use keytoll_crypto::{Null, Real};
use keytoll_engine::suite::Suite;
use keytoll_engine::wire::Reader;
use keytoll_engine::{Crypto, Rng};
use keytoll_ike::number::{AuthMethod, ConfigurationType, ExchangeType, NotifyType, PayloadType, ProtocolId};
use keytoll_ike::v2::keys::{IkeKeys, Nonces, Role};
use keytoll_ike::v2::proposal::propose;
use keytoll_ike::v2::protect::Protection;
use keytoll_ike::wire::payload::read_chain;
use keytoll_ike::wire::{
    Authentication, Flags, Header, Identity, MessageBuilder, Notify, Payload, Proposal, Spi, TrafficSelector,
};

fn main() {
    divan::main();
}

fn header() -> Header {
    Header::new((1, 2), ExchangeType::IKE_AUTH, Flags::INITIATOR, 1)
}

/// What IKE_AUTH with a shared key has inside: IDi N AUTH CP SA TSi TSr.
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

/// Writing and sealing, then opening and reading, one after the other.
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

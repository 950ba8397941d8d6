//! What a handshake costs a gateway on real sockets: `cargo bench -p keytoll-live --bench handshakes`.
//!
//! A gateway on one thread, a crowd of devices on another, loopback between them: IKE_SA_INIT, IKE_AUTH with a shared
//! key and its CHILD SA, then a DELETE so that nothing piles up (RFC 7296 §1.2, §1.4.1). CPU time is the gateway thread's
//! own, system calls included; handshakes a second is what it could do with a core for itself, and beside it what came out
//! on this machine with both threads (and whatever else) on its cores. Beside each suite stands what its key exchange
//! alone takes, measured in the same rounds: other programs on the machine make both slower.
//!
//! Last comes what nonsense costs: datagrams of 200 bytes that are no IKE, as fast as one thread can send them.
//!
//! `KEYTOLL_HANDSHAKES=N` changes how many there are in a round; rounds are five, the one with the least CPU counts,
//! because interruptions only ever add.

#![expect(
    clippy::print_stdout,
    clippy::disallowed_types,
    reason = "a benchmark prints its table; who sends nonsense is no node"
)]

use std::hint::black_box;
use std::net::{IpAddr, Ipv4Addr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread;
use std::time::Duration;

use keytoll_crypto::{Null, Real};
use keytoll_crypto_api::algorithm::Group;
use keytoll_crypto_api::suite::Suite;
use keytoll_crypto_api::{Crypto, Secret, Seed};
use keytoll_engine::trace::NoTrace;
use keytoll_hosts::{Gateway, GatewayConfig};
use keytoll_ike::config::{Believe, ChildConfig, Connection, Prove, Reauthenticate, Version};
use keytoll_ike::v2::Endpoint;
use keytoll_ike::{Command, Config, Event, Mode};
use keytoll_live::{Driver, Seen, Sockets, Tap, Waker};
use keytoll_native::{clock, machine};

const LIMIT: Duration = Duration::from_secs(10);
const GATEWAY: IpAddr = IpAddr::V4(Ipv4Addr::new(127, 0, 0, 18));
const DEVICES: IpAddr = IpAddr::V4(Ipv4Addr::new(127, 0, 0, 19));
/// Handshakes under way at a time: enough that neither side ever waits, too few for cookies.
const WINDOW: u32 = 16;
const ROUNDS: usize = 5;

fn main() {
    // `cargo test --all-targets` only tries whether it runs.
    let usual = if std::env::args().any(|argument| argument == "--bench") { 4000 } else { 50 };
    let count = std::env::var("KEYTOLL_HANDSHAKES").ok().and_then(|text| text.parse().ok()).unwrap_or(usual);
    println!("{}, {}", machine::cpu_model(), machine::kernel());
    println!("{count} handshakes a round, {ROUNDS} rounds, the best; the gateway's thread\n");
    let [cpu, user, system, own, seen, agree] = ["CPU", "user", "system", "a core's", "seen", "key exchange"];
    println!("{:36}{cpu:>12}{user:>10}{system:>10}{own:>14}{seen:>12}{agree:>16}", "");
    let x25519 = "aes128gcm16-prfsha256-x25519";
    show(x25519, &measure(x25519, Group::X25519, Real::default, count));
    let p256 = "aes128gcm16-prfsha256-ecp256";
    show(p256, &measure(p256, Group::Ecp256, Real::default, count));
    show("without cryptography", &measure(x25519, Group::X25519, || Null, count));
    show_nonsense(x25519, count * 50);
}

/// What one handshake cost, in microseconds, and how many there were in a second.
struct Cost {
    cpu_us: f64,
    user_us: f64,
    seen_per_s: f64,
    /// Making a key and agreeing with a peer, by itself.
    agree_us: f64,
}

fn show(name: &str, cost: &Cost) {
    let Cost { cpu_us, user_us, seen_per_s, agree_us } = cost;
    let (system_us, own_per_s) = (cpu_us - user_us, 1e6 / cpu_us);
    println!(
        "{name:36}{cpu_us:>9.1} us{user_us:>10.1}{system_us:>10.1}{own_per_s:>12.0}/s{seen_per_s:>10.0}/s{agree_us:>13.1} us"
    );
}

fn measure<C: Crypto + Send + 'static>(suite: &str, group: Group, crypto: fn() -> C, count: u32) -> Cost {
    let rounds = (0..ROUNDS).map(|_| {
        let agree_us = agree(group, &mut crypto(), count);
        Cost { agree_us, ..round(suite, crypto, count) }
    });
    let least = |a: Cost, b: Cost| Cost {
        agree_us: a.agree_us.min(b.agree_us),
        ..if a.cpu_us <= b.cpu_us { a } else { b }
    };
    rounds.reduce(least).expect("there are rounds")
}

/// A new key and an agreement with it, so often.
fn agree(group: Group, crypto: &mut impl Crypto, count: u32) -> f64 {
    let mut rng = Seed::from(1).stream("agree");
    let peer = crypto.generate(group, &mut rng).public;
    let begin = clock::thread_cpu_ns();
    for _ in 0..count {
        let own = crypto.generate(group, &mut rng);
        black_box(crypto.agree(&own.private, &peer).expect("the peer's key is genuine"));
    }
    (clock::thread_cpu_ns() - begin) as f64 / 1e3 / f64::from(count)
}

fn round<C: Crypto + Send + 'static>(suite: &str, crypto: fn() -> C, count: u32) -> Cost {
    let [devices, gateway] = [DEVICES, GATEWAY].map(|ip| Sockets::bind(&[(ip, 0).into(), (ip, 0).into()]));
    let (devices, gateway) = (devices.expect("loopback is there"), gateway.expect("loopback is there"));
    let [device_ports, gateway_ports] =
        [&devices, &gateway].map(|sockets| [0, 1].map(|n| sockets.locals()[n].port));
    let gateway = Serving::start(gateway_on(gateway, suite, crypto()));
    let config = ike(suite, "ue@lab", "gw.lab", device_ports, gateway_ports);
    let seed = Seed::system().expect("the system has randomness");
    let crowd = Driver::new(Endpoint::new(config, seed.stream("devices")), crypto(), devices);
    let wall_ns = visit(crowd, count);
    let Spent { cpu_ns, user_share } = gateway.stop();
    let cpu_us = cpu_ns as f64 / 1e3 / f64::from(count);
    let seen_per_s = f64::from(count) * 1e9 / wall_ns as f64;
    Cost { cpu_us, user_us: cpu_us * user_share, seen_per_s, agree_us: 0.0 }
}

fn gateway_on<C: Crypto>(sockets: Sockets, suite: &str, crypto: C) -> Driver<Gateway, C> {
    let ports = [0, 1].map(|n| sockets.locals()[n].port);
    let ike = ike(suite, "gw.lab", "ue@lab", ports, ports);
    let config = GatewayConfig { ike, address: GATEWAY, inner: vec![], aaa: None };
    let seed = Seed::system().expect("the system has randomness");
    Driver::new(Gateway::new(config, &seed, "gw"), crypto, sockets)
}

/// A gateway on a thread of its own.
struct Serving {
    waker: Waker,
    stop: Arc<AtomicBool>,
    thread: thread::JoinHandle<Spent>,
}

impl Serving {
    fn start<C: Crypto + Send + 'static>(gateway: Driver<Gateway, C>) -> Self {
        let (waker, stop) = (gateway.waker(), Arc::new(AtomicBool::new(false)));
        let told = Arc::clone(&stop);
        Self { waker, stop, thread: thread::spawn(move || serve(gateway, &told)) }
    }

    fn stop(self) -> Spent {
        self.stop.store(true, Ordering::Release);
        self.waker.wake();
        self.thread.join().expect("the gateway does not panic")
    }
}

/// What a thread has used.
struct Spent {
    cpu_ns: u64,
    user_share: f64,
}

/// Counts what comes in.
struct Counter(Arc<AtomicU32>);

impl Tap for Counter {
    fn received(&mut self, _seen: &Seen<'_>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

/// What a datagram costs that means nothing, and how many came through.
fn show_nonsense(suite: &str, count: u32) {
    let sockets = Sockets::bind(&[(GATEWAY, 0).into(), (GATEWAY, 0).into()]).expect("loopback is there");
    let (to, taken) = (sockets.locals()[0], Arc::new(AtomicU32::new(0)));
    let gateway = gateway_on(sockets, suite, Real::default()).with_tap(Counter(Arc::clone(&taken)));
    let gateway = Serving::start(gateway);
    let sender = UdpSocket::bind((DEVICES, 0)).expect("loopback is there");
    let (begin, mut nonsense) = (clock::monotonic_ns(), [0; 200]);
    let mut rng = Seed::from(1).stream("nonsense");
    for _ in 0..count {
        nonsense.iter_mut().take(32).for_each(|byte| *byte = rng.bytes::<1>()[0]);
        sender.send_to(&nonsense, (to.ip, to.port)).expect("loopback takes it");
    }
    let per_s = f64::from(count) * 1e9 / (clock::monotonic_ns() - begin) as f64;
    let (Spent { cpu_ns, .. }, taken) = (gateway.stop(), taken.load(Ordering::Relaxed));
    let cpu_us = cpu_ns as f64 / 1e3 / f64::from(taken.max(1));
    println!(
        "\n{:36}{cpu_us:>9.1} us   {taken} of {count} taken, sent at {per_s:.0}/s",
        "a datagram of nonsense"
    );
}

fn serve<C: Crypto>(mut gateway: Driver<Gateway, C>, stop: &AtomicBool) -> Spent {
    let begin = clock::thread_cpu_ns();
    while !stop.load(Ordering::Acquire) {
        gateway.next_event(LIMIT, &mut NoTrace);
    }
    Spent { cpu_ns: clock::thread_cpu_ns() - begin, user_share: user_share() }
}

/// How much of this thread's time was its own and not the system's; counted in ticks of 10 ms (proc(5), stat, fields 14
/// and 15), which a round has many of.
fn user_share() -> f64 {
    let stat = std::fs::read_to_string("/proc/thread-self/stat").expect("Linux tells");
    let (_, after_name) = stat.rsplit_once(')').expect("a name in brackets");
    let field = |n: usize| after_name.split_whitespace().nth(n - 3).and_then(|text| text.parse::<f64>().ok());
    let (user, system) = (field(14).expect("a number"), field(15).expect("a number"));
    user / (user + system).max(1.0)
}

/// Sets up and deletes so many SAs; gives how long that took.
fn visit<C: Crypto>(mut crowd: Driver<Endpoint, C>, count: u32) -> u64 {
    let initiate = || Command::Initiate { connection: 0, local: DEVICES, remote: GATEWAY };
    let (begin, mut begun, mut over) = (clock::monotonic_ns(), 0, 0);
    while over < count {
        while begun < count && begun - over < WINDOW {
            crowd.command(initiate(), &mut NoTrace);
            begun += 1;
        }
        match crowd.next_event(LIMIT, &mut NoTrace).expect("the gateway answers") {
            Event::ChildUp(sa, _) => crowd.command(Command::Delete(sa), &mut NoTrace),
            Event::Closed(..) => over += 1,
            Event::Failed(_, why, _) | Event::ChildFailed(_, why) => panic!("failed: {why}"),
            _ => {}
        }
    }
    clock::monotonic_ns() - begin
}

/// One end; ports of its own, and the gateway's.
fn ike(suite: &str, own: &str, peer: &str, own_ports: [u16; 2], gateway_ports: [u16; 2]) -> Config {
    let secret = || Secret::from(&b"a benchmark's key"[..]);
    let child = ChildConfig {
        suites: vec![Suite::esp("aes128gcm16").expect("a suite")],
        mode: Mode::Tunnel,
        local: vec![],
        remote: vec![],
        rekey_after: None,
    };
    let connection = Connection {
        name: "bench".into(),
        version: Version::V2,
        local_id: own.parse().expect("an identity"),
        remote_id: Some(peer.parse().expect("an identity")),
        signatures: Vec::new(),
        local: Prove::Psk(secret()),
        remote: Believe::psk(secret()),
        suites: vec![Suite::ike(suite).expect("a suite")],
        child: Some(child),
        request_address: false,
        pool: None,
        auth_lifetime: None,
        weakest: keytoll_ike::config::Weakest::default(),
        reauthenticate: Reauthenticate::OnDemand,
        rekey_after: None,
        liveness_after: None,
    };
    let [port, nat_port] = own_ports;
    let responder_ports = Some(gateway_ports.into());
    let usual = Config::new(vec![connection]);
    // All devices are one.
    Config { port, nat_port, responder_ports, force_encapsulation: true, ike_sas_max: usize::MAX, ..usual }
}

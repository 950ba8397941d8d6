//! What is measured.

use std::hint::black_box;
use std::time::Duration;

use keytoll_crypto::Null;
use keytoll_crypto_api::algorithm::Encryption;
use keytoll_engine::Time;
use keytoll_engine::trace::NoTrace;
use keytoll_lab::keeper::Files;
use keytoll_lab::{Credentials, Discard, Keeper, Memory, Row, Stop};
use keytoll_native::heap;
use keytoll_scenario::Plan;
use keytoll_sim::Direction;
use keytoll_trace::file::Reader;
use keytoll_trace::{Node, Record};

use crate::echo;
use crate::ends::{self, Ends};
use crate::idle;
use crate::support::{INNER, datagram, key};

/// Prepares, and hands what is to be counted to what counts it.
type Work = fn(&mut dyn FnMut(&mut dyn FnMut()));

/// Every piece of work with its name. The handshakes are of [`SAMPLES`] authentications, through hosts, links, ESP and the
/// echo, from the building of the nodes to the last record.
pub(crate) const ALL: [(&str, Work); 15] = [
    ("ikev2-psk", |count| authenticate("ikev2-psk", "null", count)),
    ("ikev2-rsa2048", |count| authenticate("ikev2-rsa2048", "null", count)),
    ("ikev2-eap-aka", |count| authenticate("ikev2-eap-aka", "null", count)),
    ("ikev2-eap-tls", |count| authenticate("ikev2-eap-tls", "null", count)),
    ("ikev1-main-psk", |count| authenticate("ikev1-main-psk", "null", count)),
    ("ikev1-aggressive-rsa", |count| authenticate("ikev1-aggressive-rsa", "null", count)),
    ("ikev2-psk, real", |count| authenticate("ikev2-psk", "real", count)),
    ("ikev2-rsa2048, real", |count| authenticate("ikev2-rsa2048", "real", count)),
    ("ikev2-eap-aka, real", |count| authenticate("ikev2-eap-aka", "real", count)),
    ("ikev2-eap-tls, real", |count| authenticate("ikev2-eap-tls", "real", count)),
    ("esp 64 B", |count| packets(64, count)),
    ("esp 1400 B", |count| packets(1400, count)),
    ("sim, one datagram under way", |count| events(1, count)),
    ("sim, 1000 datagrams under way", |count| events(1000, count)),
    ("trace, reading", read),
];

/// Authentications of a handshake.
const SAMPLES: u32 = 20;
/// Batches of packets through ESP.
const BATCHES: usize = 100;

/// The piece of work with this name.
///
/// # Panics
/// If there is none.
pub(crate) fn named(name: &str) -> Work {
    ALL.iter().find(|(its, _)| *its == name).unwrap_or_else(|| panic!("there is no work called {name}")).1
}

/// `crypto`: `null` or `real`.
fn plan(method: &str, crypto: &str, samples: u32) -> Plan {
    let text = format!(
        "methods = ['{method}']\nnetworks = ['loopback']\nsamples = {samples}\nseed = 1\ncrypto = '{crypto}'\n"
    );
    keytoll_scenario::parse("yardstick.toml", &text).unwrap_or_else(|error| panic!("{error}"))
}

fn run(plan: &Plan, keeper: &mut dyn Keeper, count: &mut dyn FnMut(&mut dyn FnMut())) {
    let credentials = Credentials::prepare(plan);
    let mut row = Row::new(plan, &plan.rows[0], &credentials, 3e9);
    count(&mut || {
        let end = row.run(keeper, &|| {}, &Stop::new(false));
        assert!(end.is_whole() && end.failed == 0, "nothing fails on a perfect link: {end:?}");
    });
}

fn authenticate(method: &str, crypto: &str, count: &mut dyn FnMut(&mut dyn FnMut())) {
    run(&plan(method, crypto, SAMPLES), &mut Discard, count);
}

/// Sealed and opened.
fn packets(len: usize, count: &mut dyn FnMut(&mut dyn FnMut())) {
    let key = key(Encryption::Aes128Gcm16, None);
    let mut ends = Ends::new(ends::joined(&key), &[datagram(INNER[0], INNER[1], len)], Null);
    count(&mut || (0..BATCHES).for_each(|_| ends.pass()));
}

fn events(in_flight: u32, count: &mut dyn FnMut(&mut dyn FnMut())) {
    let delay = Duration::from_millis(20);
    let mut world = echo::world(Direction { delay, jitter: delay / 10, ..Direction::default() }, in_flight);
    count(&mut || {
        black_box(world.run_until(Time::MAX, &mut NoTrace));
    });
}

/// The trace of a method with many messages.
fn read(count: &mut dyn FnMut(&mut dyn FnMut())) {
    let (mut trace, mut costs) = (Vec::new(), Vec::new());
    let mut files = Files::new(&mut trace, &mut costs).expect("memory takes everything");
    run(&plan("ikev2-eap-tls", "null", SAMPLES), &mut files, &mut |run| run());
    files.finish().expect("memory takes everything");
    count(&mut || {
        let reader = Reader::<Record, _>::new(&trace[..]).expect("it was just written");
        let records = reader.map(|record| black_box(record.expect("it was just written")));
        assert!(records.fold(0, |count, _| count + 1) > 100);
    });
}

/// Blocks allocated for one authentication, and bytes that an idle SA keeps.
pub(crate) fn memory() -> Vec<(String, u64)> {
    ["ikev2-psk", "ikev2-rsa2048", "ikev2-eap-aka", "ikev2-eap-tls"].into_iter().flat_map(memory_of).collect()
}

fn memory_of(method: &str) -> Vec<(String, u64)> {
    let few = blocks(method, SAMPLES, &mut Memory::default());
    let mut memory = Memory::default();
    let many = blocks(method, 2 * SAMPLES, &mut memory);
    let blocks = (many - few) / u64::from(SAMPLES);
    let idle = [Node::Ue, Node::Gw]
        .map(|node| (format!("{method}, idle SA of {}, bytes", node.name()), idle::sa_bytes(&memory, node)));
    [(format!("{method}, blocks allocated"), blocks)].into_iter().chain(idle).collect()
}

/// Blocks that all nodes allocate in a run.
fn blocks(method: &str, samples: u32, keeper: &mut dyn Keeper) -> u64 {
    let allocated = || (1..=4).map(heap::allocations).sum::<u64>();
    let before = allocated();
    run(&plan(method, "null", samples), keeper, &mut |run| run());
    allocated() - before
}

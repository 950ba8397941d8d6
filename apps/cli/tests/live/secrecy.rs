//! Forward secrecy of live nodes: the random numbers of a closed session do not follow from the memory of a node.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read, Write as _};
use std::os::unix::fs::FileExt;
use std::process::{Command, Stdio};

use keytoll_crypto_api::Seed;
use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::{Rng as _, SeedableRng};

use super::support::{Dir, Node, PSK, device, gateway, keytoll};

/// So much of a stream is searched: a first session draws less.
const STREAM_BYTES: usize = 384;
/// 32 random bytes have fewer different values than that once in 10⁵ times; most of what else is in memory has fewer.
const VALUES_MIN: usize = 24;
/// Which generator the process draws from that is scanned.
const GENERATOR: &str = "KEYTOLL_SCANNED_GENERATOR";

/// The heap and the stacks of a process: writable memory without a file.
fn memory(process: u32) -> Vec<Vec<u8>> {
    let maps = fs::read_to_string(format!("/proc/{process}/maps")).unwrap();
    let memory = File::open(format!("/proc/{process}/mem")).expect("a child's memory can be read");
    let read = |line: &str| {
        let (range, more) = line.split_once(' ')?;
        let (begin, end) = range.split_once('-')?;
        let [begin, end] = [begin, end].map(|number| u64::from_str_radix(number, 16).unwrap());
        let mut bytes = vec![0; usize::try_from(end - begin).unwrap()];
        let is_own = more.starts_with("rw") && !more.contains('/');
        (is_own && memory.read_exact_at(&mut bytes, begin).is_ok()).then_some(bytes)
    };
    maps.lines().filter_map(read).collect()
}

fn values(bytes: &[u8]) -> usize {
    let mut seen = [0_u64; 4];
    bytes.iter().for_each(|byte| seen[usize::from(byte >> 6)] |= 1 << (byte & 63));
    seen.iter().map(|word| word.count_ones() as usize).sum()
}

/// Whether these 32 bytes are the key of a ChaCha20 stream that begins with one of these numbers, or almost.
fn draws(key: &[u8], numbers: &[&[u8]]) -> bool {
    let mut stream = [0; STREAM_BYTES];
    ChaCha20Rng::from_seed(key.try_into().unwrap()).fill_bytes(&mut stream);
    let has = |number: &&[u8]| (0..STREAM_BYTES).step_by(4).any(|at| stream[at..].starts_with(number));
    numbers.iter().any(has)
}

/// How many keys in a process's memory draw one of these numbers.
fn keys_of(process: u32, numbers: &[&[u8]]) -> usize {
    let memory = memory(process);
    assert!(memory.iter().map(Vec::len).sum::<usize>() > 100_000, "there is a heap");
    let windows = memory.iter().flat_map(|part| part.windows(32).step_by(4));
    windows.filter(|key| values(key) >= VALUES_MIN && draws(key, numbers)).count()
}

/// The process that is scanned: it draws a key and a nonce, prints the nonce and waits. Without a generator in its environment it ends at once.
#[test]
fn draws_and_waits() {
    let Ok(generator) = std::env::var(GENERATOR) else { return };
    let seed = match generator.as_str() {
        "experiment" => Seed::from_bytes(Seed::system().unwrap().stream("root").bytes()),
        _ => Seed::system().unwrap(),
    };
    let mut rng = seed.stream("gateway/ike");
    let (_, nonce): ([u8; 64], [u8; 32]) = (rng.bytes(), rng.bytes());
    println!("\nnonce {}", nonce.map(|byte| format!("{byte:02x}")).concat());
    let _ = std::io::stdin().read(&mut [0]);
    drop(rng);
}

/// How many keys are in the memory of a process that has drawn from this generator.
fn keys_after_draws(generator: &str) -> usize {
    let mut process = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "live::secrecy::draws_and_waits", "--nocapture"])
        .env(GENERATOR, generator)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(process.stdout.take().unwrap()).lines().map_while(Result::ok);
    let nonce = lines.find_map(|line| Some(line.strip_prefix("nonce ")?.to_owned()));
    let nonce = nonce.expect("it prints the nonce");
    let byte = |at| u8::from_str_radix(&nonce[at..at + 2], 16).unwrap();
    let numbers: Vec<u8> = (0..nonce.len()).step_by(2).map(byte).collect();
    let found = keys_of(process.id(), &[&numbers]);
    process.stdin.take().unwrap().write_all(b"\n").unwrap();
    lines.for_each(drop);
    assert!(process.wait().unwrap().success());
    found
}

/// The positive control: a reader of the memory can run the generator of experiments backwards.
#[test]
fn memory_tells_the_numbers_of_an_experiment_and_none_of_the_system() {
    assert!(keys_after_draws("experiment") > 0, "the scanner finds a key that is there");
    assert_eq!(keys_after_draws("system"), 0);
}

/// The responder's SPI and nonce in a capture.
fn answered(capture: &[u8]) -> [&[u8]; 2] {
    // RFC 7296 §3.1: version 2.0, IKE_SA_INIT, a response, message 0.
    let fixed = [0x20, 34, 0x20, 0, 0, 0, 0];
    let at = capture.windows(fixed.len()).position(|bytes| bytes == fixed).expect("an IKE_SA_INIT response");
    let message = &capture[at - 17..];
    let (mut kind, mut payload) = (message[16], &message[28..]);
    // RFC 7296 §3.9: the nonce has type 40.
    while kind != 40 {
        let length = usize::from(u16::from_be_bytes([payload[2], payload[3]]));
        (kind, payload) = (payload[0], &payload[length..]);
    }
    let length = usize::from(u16::from_be_bytes([payload[2], payload[3]]));
    [&message[8..16], &payload[4..length]]
}

#[test]
fn the_memory_of_a_gateway_does_not_tell_the_numbers_of_a_closed_session() {
    let dir = Dir::new();
    let mut gw = Node::start(&dir, &["gateway", &dir.write("gw.toml", &gateway())]);
    let (file, pcap) = (dir.write("ue.toml", &device(&gw, PSK)), dir.path("ue.pcap"));
    let connected = keytoll(&["connect", &file, "--pcap", pcap.to_str().unwrap()]);
    assert_eq!(connected.status.code(), Some(0));
    gw.expect("closed");
    let capture = fs::read(pcap).unwrap();
    let [spi, nonce] = answered(&capture);
    assert_eq!(gw.told.iter().find(|told| told["event"] == "established").unwrap()["spi"], hex(spi));
    assert_eq!(keys_of(gw.id(), &[spi, nonce]), 0);
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Neither debuggers nor core dumps get the keys of a node, unless it is permitted.
#[test]
fn a_node_makes_no_core_dumps() {
    let dir = Dir::new();
    let gw = Node::start(&dir, &["gateway", &dir.write("gw.toml", &gateway())]);
    let limits = fs::read_to_string(format!("/proc/{}/limits", gw.id())).unwrap();
    let of_core = limits.lines().find(|line| line.starts_with("Max core file size")).unwrap();
    assert_eq!(of_core.split_whitespace().skip(4).take(2).collect::<Vec<_>>(), ["0", "0"]);
}

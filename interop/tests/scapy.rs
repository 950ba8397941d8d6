//! What we seal, scapy opens: every cipher of ESP that scapy has, tunnels and transport mode, on IP and in UDP, extended
//! sequence numbers. The other direction has recorded packets, in `protocols/esp/tests/scapy.rs`.

use std::collections::BTreeMap;
use std::io::Write;
use std::net::IpAddr;
use std::process::{Command, Stdio};

use keytoll_crypto::Real;
use keytoll_crypto_api::algorithm::Integrity;
use keytoll_crypto_api::suite::Suite;
use keytoll_crypto_api::{Rng, Secret, TrafficKey};
use keytoll_esp::lifetime::Lifetime;
use keytoll_esp::sad::{Headers, OuterHeader, Path, Start};
use keytoll_esp::selector::{Addresses, Selectors};
use keytoll_esp::{Frame, HEADROOM, Ipsec, Mode, PairConfig, TAILROOM};
use keytoll_hosts::ip::Packet;
use keytoll_interop::lab_or_skip;
use keytoll_net::{Addr, transport_checksum};

/// Our name of a suite, and scapy's two.
const SUITES: [(&str, &str, &str); 19] = [
    ("null-sha1", "NULL", "HMAC-SHA1-96"),
    ("null-sha256", "NULL", "SHA2-256-128"),
    ("null-sha384", "NULL", "SHA2-384-192"),
    ("null-sha512", "NULL", "SHA2-512-256"),
    ("null-md5", "NULL", "HMAC-MD5-96"),
    ("null-aescmac", "NULL", "AES-CMAC-96"),
    ("3des-md5", "3DES", "HMAC-MD5-96"),
    ("aes128-sha1", "AES-CBC", "HMAC-SHA1-96"),
    ("aes192-sha256", "AES-CBC", "SHA2-256-128"),
    ("aes256-sha512", "AES-CBC", "SHA2-512-256"),
    ("aes128ctr-sha256", "AES-CTR", "SHA2-256-128"),
    ("aes256ctr-sha256", "AES-CTR", "SHA2-256-128"),
    ("aes128gcm16", "AES-GCM", "NULL"),
    ("aes192gcm16", "AES-GCM", "NULL"),
    ("aes256gcm16", "AES-GCM", "NULL"),
    ("aes128ccm16", "AES-CCM", "NULL"),
    ("aes192ccm16", "AES-CCM", "NULL"),
    ("aes256ccm16", "AES-CCM", "NULL"),
    ("chacha20poly1305", "CHACHA20-POLY1305", "NULL"),
];

const INNER: [[&str; 2]; 2] = [["10.0.0.1", "10.0.0.2"], ["fd00::1", "fd00::2"]];
const OUTER: [[&str; 2]; 2] = [["192.0.2.1", "192.0.2.2"], ["2001:db8::1", "2001:db8::2"]];

/// How a packet travels.
#[derive(Debug, Clone, Copy)]
struct Way {
    mode: Mode,
    in_udp: bool,
    inner: [&'static str; 2],
    outer: [&'static str; 2],
}

fn ways() -> Vec<Way> {
    let tunnel = |inner, outer, in_udp| Way { mode: Mode::Tunnel, in_udp, inner, outer };
    let between = |ends, in_udp| Way { mode: Mode::Transport, in_udp, inner: ends, outer: ends };
    let mut ways = vec![between(OUTER[0], false), between(OUTER[1], false), between(OUTER[0], true)];
    for inner in INNER {
        for outer in OUTER {
            ways.extend([false, true].map(|in_udp| tunnel(inner, outer, in_udp)));
        }
    }
    ways
}

fn ip(text: &str) -> IpAddr {
    text.parse().expect("an address")
}

/// A datagram of so many bytes of data, with headers and checksums.
fn datagram([source, destination]: [&str; 2], data: usize) -> Vec<u8> {
    let ends = (ip(source), ip(destination));
    let len = (8 + data) as u16;
    let mut udp = [[0x0f, 0xa0, 0x1f, 0x90].as_slice(), &len.to_be_bytes(), &[0, 0]].concat();
    udp.extend((0..data).map(|n| n as u8));
    let sum = transport_checksum(ends, 17, &udp);
    udp[6..8].copy_from_slice(&sum.to_be_bytes());
    let packet = Packet { source: ends.0, destination: ends.1, protocol: 17, payload: &udp };
    packet.write().expect("addresses of one family")
}

/// Keys of which no two bytes in a row are equal.
fn key(suite: Suite) -> TrafficKey {
    let secret =
        |first: u8, len: usize| Secret::new((0..len).map(|n| first.wrapping_add((n * 7) as u8)).collect());
    let integrity_key = secret(0x40, suite.integrity.map_or(0, Integrity::key_len));
    TrafficKey::new(suite.encryption, suite.integrity, secret(3, suite.encryption.key_len()), integrity_key)
}

/// A packet as we seal it.
fn sealed(way: Way, key: &TrafficKey, esn: bool, packet: &[u8]) -> Vec<u8> {
    let one = |text| Addresses::one(ip(text));
    let at = |text| {
        let ip = ip(text);
        if way.in_udp { Addr::udp(ip, 4500) } else { Addr::Ip { ip, protocol: 50 } }
    };
    let mut ipsec = Ipsec::default();
    ipsec.install(PairConfig {
        inbound_spi: 0x333,
        outbound_spi: 0x222,
        inbound_key: key.clone(),
        outbound_key: key.clone(),
        esn,
        mode: way.mode,
        selectors: Selectors::between(one(way.inner[0]), one(way.inner[1])),
        path: Path {
            local: at(way.outer[0]),
            remote: at(way.outer[1]),
            headers: Headers::Here(OuterHeader::default()),
        },
        follows_peer: false,
        original: None,
        replay_window: 64,
        lifetime: Lifetime::NONE,
        start: Start::Now,
    });
    let mut buffer = [&[0; HEADROOM], packet, &[0; TAILROOM]].concat();
    let mut frame = Frame::new(&mut buffer, HEADROOM..HEADROOM + packet.len());
    let mut rng = Rng::named(7, "scapy");
    ipsec.outbound(&mut frame, &mut rng, &mut Real::default(), &mut ()).expect("there is an SA");
    frame.bytes().to_vec()
}

fn hex(bytes: &[u8]) -> String {
    if bytes.is_empty() {
        return "''".into();
    }
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// What scapy makes of lines, by the name that each begins with.
fn judged(lines: &str) -> BTreeMap<String, String> {
    let mut python = Command::new("/usr/bin/python3")
        .args(["-W", "ignore", "-c", include_str!("scapy/open.py")])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("python3 starts");
    let mut stdin = python.stdin.take().expect("it was asked for");
    // The script answers line by line: whoever wrote all of it first might wait for ever.
    let lines = lines.to_owned();
    let writer = std::thread::spawn(move || stdin.write_all(lines.as_bytes()));
    let output = python.wait_with_output().expect("it ends");
    writer.join().expect("it does not panic").expect("all was read");
    let text = String::from_utf8(output.stdout).expect("text");
    text.lines().filter_map(|line| line.split_once(' ')).map(|(a, b)| (a.into(), b.into())).collect()
}

#[test]
fn scapy_opens_what_we_seal() {
    if lab_or_skip().is_none() {
        return;
    }
    let (mut lines, mut expected) = (String::new(), BTreeMap::new());
    for (suite, encryption, integrity) in SUITES {
        let key = key(Suite::esp(suite).expect("a suite"));
        for (n, way) in ways().into_iter().enumerate() {
            // Scapy 2.5 leaves the high half out of what a separate integrity algorithm covers.
            for esn in [false, true].into_iter().filter(|&esn| !esn || key.integrity.is_none()) {
                // Every length of padding, and a long packet.
                for data in (0..17).chain([1200]) {
                    let name = format!("{suite}/{n}/{esn}/{data}");
                    let packet = datagram(way.inner, data);
                    let fields: [&str; 11] = [
                        &name,
                        encryption,
                        &hex(&key.encryption_key),
                        integrity,
                        &hex(&key.integrity_key),
                        if way.mode == Mode::Tunnel { "tunnel" } else { "transport" },
                        way.outer[0],
                        way.outer[1],
                        if way.in_udp { "udp" } else { "ip" },
                        if esn { "0" } else { "-" },
                        &hex(&sealed(way, &key, esn, &packet)),
                    ];
                    lines += &(fields.join(" ") + "\n");
                    expected.insert(name, hex(&packet));
                }
            }
        }
    }
    let found = judged(&lines);
    assert_eq!(found.len(), expected.len(), "an answer for every packet");
    let wrong: Vec<_> = expected.iter().filter(|(name, packet)| found.get(*name) != Some(packet)).collect();
    for (name, packet) in wrong.iter().take(5) {
        eprintln!("{name}\n  {packet}\n  {}", found[*name]);
    }
    assert!(wrong.is_empty(), "{} of {} packets were not opened", wrong.len(), expected.len());
}

/// That it judges at all: a packet with one bit changed is not opened.
#[test]
fn scapy_opens_nothing_else() {
    if lab_or_skip().is_none() {
        return;
    }
    let (mut lines, way) = (String::new(), ways()[0]);
    for (suite, encryption, integrity) in SUITES {
        let key = key(Suite::esp(suite).expect("a suite"));
        let mut packet = sealed(way, &key, false, &datagram(way.inner, 40));
        packet[20 + 8 + 20] ^= 1;
        let (keys, packet) = ([hex(&key.encryption_key), hex(&key.integrity_key)], hex(&packet));
        let [source, destination] = way.outer;
        lines += &format!(
            "{suite} {encryption} {} {integrity} {} transport {source} {destination} ip - {packet}\n",
            keys[0], keys[1]
        );
    }
    let found = judged(&lines);
    assert_eq!(found.len(), SUITES.len());
    for (suite, said) in found {
        assert!(said.starts_with("! IPSecIntegrityError"), "{suite}: {said}");
    }
}

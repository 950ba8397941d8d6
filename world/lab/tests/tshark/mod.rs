//! tshark judges our captures: of every method, suite and version of TLS, over both versions of IP, whole and in fragments,
//! it finds no malformed field and no wrong checksum, and reads what was encrypted with the tables beside the capture.
//!
//! Wireshark 4.0 is the one of Debian 12. It cannot decrypt ChaCha20-Poly1305 in IKE, ChaCha20-Poly1305 and AES-CCM in ESP,
//! and does not check Message-Authenticator; Response Authenticators it does.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "helpers of tests are tests")]

mod sight;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use keytoll_crypto_api::algorithm::{Encryption, Integrity};
use keytoll_lab::{Captures, Keeper, Keepers, Record, Recorder, RowEnd, RunError, Stop, Taken, run};
use keytoll_scenario::catalogue::{EapMethod, Method};
use keytoll_scenario::families::{hip, ike};
use keytoll_scenario::plan::{Plan, RowPlan};
use keytoll_scenario::{Overrides, Source};
use keytoll_trace::{Cost, Fact};

use self::sight::{Frame, frames, is_installed, joined, sound};

fn plan(scenario: &str, overrides: &[&str]) -> Plan {
    let source = Source::builtin(scenario).unwrap();
    source.plan(&Overrides::parse(overrides).unwrap()).unwrap()
}

/// Counts the packets that the records of each row speak of, by link.
#[derive(Default)]
struct Counters(Mutex<BTreeMap<usize, Packets>>);

#[derive(Debug, Default, Clone, PartialEq, Eq)]
struct Packets(BTreeMap<String, usize>);

impl Recorder for Packets {
    fn record(&mut self, record: Record) {
        if let Fact::Carried { link, packets, .. } = record.fact {
            *self.0.entry(link.name()).or_default() += usize::from(packets);
        }
    }
}

impl Keeper for Packets {
    fn cost(&mut self, _cost: Cost) {}
}

impl Keepers for Counters {
    type Keeper = Packets;

    fn begin(&self, _index: usize, _row: &RowPlan) -> Result<Packets, RunError> {
        Ok(Packets::default())
    }

    fn end(&self, index: usize, packets: Packets, _end: RowEnd) -> Result<(), RunError> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(index, packets);
        Ok(())
    }
}

/// A run that was captured; its files go with it.
struct Captured {
    plan: Plan,
    directory: PathBuf,
    taken: Taken,
    packets: BTreeMap<usize, Packets>,
}

impl Captured {
    fn new(name: &str, plan: Plan) -> Self {
        let directory = std::env::temp_dir().join(format!("keytoll-tshark-{}-{name}", std::process::id()));
        let counters = Counters::default();
        let captures = Captures::new(&counters, &plan, &directory, u32::MAX).unwrap();
        run(&plan, 1, &captures, &|| {}, &Stop::new(false)).unwrap();
        let taken = captures.taken();
        Self { directory, taken, packets: counters.0.into_inner().unwrap(), plan }
    }

    /// What tshark sees of every row, with the row and its name for messages.
    fn rows(&self) -> impl Iterator<Item = (String, &RowPlan, Vec<Frame>)> {
        self.plan.rows.iter().enumerate().map(|(index, row)| {
            let frames = frames(&self.capture(index));
            (self.checked(index, &frames), row, frames)
        })
    }

    fn capture(&self, row: usize) -> PathBuf {
        self.directory.join(format!("capture/{row:03}.pcapng"))
    }

    /// The name of a row of which tshark sees every packet.
    fn checked(&self, index: usize, frames: &[Frame]) -> String {
        let row = &self.plan.rows[index];
        let name = format!("{} {} {}", row.method.name(), row.variant, row.network.name);
        assert_eq!(by_link(frames), self.packets[&index], "{name}: a frame for every packet of the run");
        name
    }
}

impl Drop for Captured {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.directory);
    }
}

/// Starts tshark once for several runs and returns the frames of every row, with its run and its name. Rows must have one link: Wireshark 4.0
/// uses the interface names of the first section in all sections.
fn rows_together(runs: &[Captured]) -> Vec<(&Captured, String, &RowPlan, Vec<Frame>)> {
    let rows = || runs.iter().flat_map(|run| run.plan.rows.iter().enumerate().map(move |row| (run, row)));
    let captures: Vec<PathBuf> = rows().map(|(run, (index, _))| run.capture(index)).collect();
    let together = runs[0].directory.join("together.pcapng");
    joined(&captures, &together);
    let mut frames = frames(&together);
    let rows = rows().map(|(run, (index, row))| {
        let packets = run.packets[&index].0.values().sum();
        let rest = frames.split_off(packets);
        let frames = std::mem::replace(&mut frames, rest);
        (run, run.checked(index, &frames), row, frames)
    });
    let rows = rows.collect();
    assert_eq!(frames.len(), 0, "all frames are of a row");
    rows
}

fn by_link(frames: &[Frame]) -> Packets {
    let mut packets = Packets::default();
    for frame in frames {
        *packets.0.entry(frame.values("frame.interface_name").concat()).or_default() += 1;
    }
    packets
}

/// Frames of IKE with something encrypted, and how many of them tshark could read. Of a message in fragments (RFC 7383)
/// it reads all when the last one is there.
fn ike_read(frames: &[Frame]) -> (usize, usize) {
    const ENCRYPTED_FRAGMENT: &str = "53";
    let encrypted = frames.iter().filter(|frame| frame.is_there("isakmp.enc.data"));
    let whole = encrypted.filter(|frame| !frame.has("isakmp.typepayload", ENCRYPTED_FRAGMENT));
    let (mut all, mut read) = (0, 0);
    for frame in whole {
        all += 1;
        // Of IKEv1 it shows the payloads alone: HASH or SIG, without which nothing is encrypted there.
        let opened = ["8", "9"].iter().any(|kind| frame.has("isakmp.typepayload", kind));
        read += usize::from(frame.is_there("isakmp.enc.decrypted") || opened);
    }
    (all, read)
}

/// Frames of ESP, and how many show an ICMP message of these types.
fn esp_read(frames: &[Frame]) -> (usize, usize) {
    let esp: Vec<&Frame> = frames.iter().filter(|frame| frame.is_there("esp.spi")).collect();
    let read = esp.iter().filter(|frame| frame.is_there("icmp.type") || frame.is_there("icmpv6.type"));
    (esp.len(), read.count())
}

fn all_read(name: &str, frames: &[Frame]) {
    let (ike, esp) = (ike_read(frames), esp_read(frames));
    assert!(ike.0 >= 2 && ike.0 == ike.1, "{name}: of {} IKE messages {} are read", ike.0, ike.1);
    assert!(esp.0 >= 2 && esp.0 == esp.1, "{name}: of {} ESP packets {} are read", esp.0, esp.1);
}

/// The type of a method, and that of the one inside.
fn eap_types(eap: &EapMethod) -> (String, Option<String>) {
    let method = keytoll_eap::methods::named(eap.name).expect("it is made of something");
    (method.kind.0.to_string(), method.inside.map(|inside| inside.kind.0.to_string()))
}

/// Wireshark's opinion of MD5, not of our bytes.
const OPINIONS: &[&str] = &["Vulnerable to MITM attacks", "Vulnerable to dictionary attacks"];

/// The method is seen inside IKE and inside RADIUS, and the responses of RADIUS are authentic.
fn eap_read(name: &str, frames: &[Frame], eap: &EapMethod) {
    let (kind, _) = eap_types(eap);
    let seen = |inside: &'static str| {
        frames.iter().any(|frame| frame.is_there(inside) && frame.has("eap.type", &kind))
    };
    assert!(seen("isakmp.exchangetype") && seen("radius.code"), "{name}: EAP is read in IKE and in RADIUS");
    let responses =
        frames.iter().filter(|frame| !frame.has("radius.code", "1") && frame.is_there("radius.code"));
    let authentic = responses.map(|frame| frame.has("radius.authenticator.valid", "1"));
    let authentic: Vec<bool> = authentic.collect();
    assert!(authentic.len() >= 2 && authentic.iter().all(|valid| *valid), "{name}: {authentic:?}");
}

#[test]
fn every_method_is_read_down_to_the_echo() {
    if !is_installed() {
        return;
    }
    let of_ike = Method::all().filter(|method| method.own::<ike::Exchange>().is_some());
    let methods: Vec<&str> = of_ike.map(Method::name).collect();
    let methods = format!("methods={methods:?}");
    let captured =
        Captured::new("methods", plan("quickstart", &["samples=1", "networks=wifi-11g", &methods]));
    for (name, row, frames) in captured.rows() {
        sound(&name, &frames, OPINIONS);
        all_read(&name, &frames);
        if let Some(eap) = row.method.eap() {
            eap_read(&name, &frames, eap);
        }
        if row.method.has_card() {
            let diameter = frames.iter().filter(|frame| frame.is_there("diameter.cmd.code")).count();
            assert_eq!(diameter, 2, "{name}: the HSS is asked, and answers");
        }
    }
    assert_eq!(captured.taken.unreadable.len(), 0, "{:?}", captured.taken);
}

/// Wireshark 4.0 verifies checksums and the layout of HIP. It does not know identities of ECDSA, and takes those of ECDH and the
/// parameters of the diet exchange for malformed ones. Echoes in BEET mode have the checksum of the HITs, which are not on the way.
#[test]
fn hip_is_read_with_its_checksums() {
    if !is_installed() {
        return;
    }
    for ipv6 in [true, false] {
        let options = format!("options.ipv6={ipv6}");
        let captured = Captured::new(&format!("hip-{ipv6}"), plan("hip", &["samples=1", &options]));
        let rows = captured.rows().filter(|(_, row, _)| row.method.own::<hip::Exchange>().is_some());
        for (name, row, frames) in rows {
            let hip: Vec<&Frame> = frames.iter().filter(|frame| frame.is_there("hip.packet_type")).collect();
            // Six packets with AKA, and two that close it.
            let expected = if row.method.has_card() { 8 } else { 6 };
            assert!(hip.len() >= expected, "{name}: {} packets of HIP", hip.len());
            assert!(hip.iter().all(|frame| frame.has("hip.checksum.status", sight::GOOD)), "{name}: {hip:?}");
            let is_known = row.method.own::<hip::Exchange>() == Some(&hip::Exchange::Base);
            assert!(hip.iter().all(|frame| !is_known || !frame.is_there("_ws.malformed")), "{name}");
            let esp = frames.iter().filter(|frame| frame.is_there("esp.spi")).count();
            assert_eq!(esp, 2, "{name}: an echo and its reply");
        }
    }
}

#[test]
fn methods_are_read_over_ipv4_too() {
    if !is_installed() {
        return;
    }
    let methods = r#"methods=["ikev2-psk", "ikev2-rsa2048", "ikev2-eap-aka", "ikev2-eap-tls"]"#;
    let overrides = ["samples=1", "networks=wifi-11g", methods, "options.ipv6=false"];
    let captured = Captured::new("ipv4", plan("quickstart", &overrides));
    for (name, _, frames) in captured.rows() {
        sound(&name, &frames, OPINIONS);
        all_read(&name, &frames);
        assert!(frames.iter().all(|frame| frame.has("ip.version", "4")), "{name}");
    }
}

/// A suite of IKE around each algorithm; IKE must encrypt.
fn ike_suites() -> Vec<String> {
    let encrypts = |encryption: &&Encryption| **encryption != Encryption::Null && !encryption.is_gmac();
    let encryptions = Encryption::ALL.iter().filter(encrypts);
    let encryptions = encryptions.map(|encryption| {
        let integrity = if encryption.is_aead() { "" } else { "-sha256" };
        format!("{encryption}{integrity}-prfsha256-x25519")
    });
    // It stands beside every encryption already.
    let others = Integrity::ALL.iter().filter(|integrity| integrity.to_string() != "sha256");
    let integrities = others.map(|integrity| format!("aes128-{integrity}-prfsha256-x25519"));
    encryptions.chain(integrities).collect()
}

fn esp_suites() -> Vec<String> {
    let encryptions = Encryption::ALL.iter().map(|encryption| {
        let integrity = if encryption.is_aead() { "" } else { "-sha256" };
        format!("{encryption}{integrity}")
    });
    encryptions.chain(Integrity::ALL.iter().map(|integrity| format!("aes128-{integrity}"))).collect()
}

/// The runs and rows of which tshark does not read what `read` counts.
fn unread(runs: &[Captured], read: fn(&[Frame]) -> (usize, usize)) -> Vec<(&Captured, &RowPlan)> {
    let mut unread = Vec::new();
    for (run, name, row, frames) in rows_together(runs) {
        sound(&name, &frames, &[]);
        let (all, read) = read(&frames);
        assert!(all >= 2 && (read == 0 || read == all), "{name}: {read} of {all}");
        if read == 0 {
            unread.push((run, row));
        }
    }
    unread
}

#[test]
fn every_algorithm_of_ike_is_read_or_said_to_be_unreadable() {
    if !is_installed() {
        return;
    }
    let suites = format!("suites={:?}", ike_suites());
    let captured = [Captured::new("ike", plan("suites", &["samples=1", &suites]))];
    let unread: Vec<&str> = unread(&captured, ike_read).iter().map(|(_, row)| &*row.variant).collect();
    assert_eq!(unread, ["suite=chacha20poly1305-prfsha256-x25519"]);
    assert_eq!(captured[0].taken.unreadable.iter().collect::<Vec<_>>(), ["IKE with chacha20poly1305"]);
}

#[test]
fn every_algorithm_of_esp_is_read_or_said_to_be_unreadable() {
    if !is_installed() {
        return;
    }
    // Every seed has SPIs of its own.
    let captured = (1..).zip(esp_suites()).map(|(seed, suite)| {
        let [seed, suite] = [format!("seed={seed}"), format!("options.esp_suite={suite}")];
        let overrides = ["samples=1", "suites=aes128gcm16-prfsha256-x25519", &seed, &suite];
        Captured::new(&format!("esp-{seed}"), plan("suites", &overrides))
    });
    let captured: Vec<Captured> = captured.collect();
    let unread = unread(&captured, esp_read);
    let is_unread = |run: &Captured| unread.iter().any(|(other, _)| std::ptr::eq(*other, run));
    let unreadable = esp_suites().into_iter().zip(&captured).filter(|(_, run)| is_unread(run));
    let unreadable: Vec<String> = unreadable.map(|(suite, _)| suite).collect();
    let said = captured.iter().flat_map(|run| &run.taken.unreadable);
    let said: Vec<String> = said.map(|name| name.replace("ESP with ", "")).collect();
    assert_eq!(unreadable, said);
    let unknown_there = |suite: &String| {
        let known = |encryption: Encryption| !encryption.is_ccm() && !encryption.is_gmac();
        !Encryption::named(suite).is_some_and(known) || suite == "chacha20poly1305"
    };
    assert!(unreadable.len() == 11 && unreadable.iter().all(unknown_there), "{unreadable:?}");
}

/// Handshake messages that are encrypted in this version: RFC 8446 §4, RFC 5246 §7.4.9.
fn tls_is_read(name: &str, frames: &[Frame], version: &str) {
    const CERTIFICATE: &str = "11";
    const FINISHED: &str = "20";
    let hidden = if version == "1.3" { [CERTIFICATE, FINISHED] } else { [FINISHED, FINISHED] };
    for kind in hidden {
        let frames = frames.iter().filter(|frame| frame.has("tls.handshake.type", kind));
        let (ike, radius): (Vec<&Frame>, Vec<&Frame>) =
            frames.partition(|frame| frame.is_there("isakmp.exchangetype"));
        assert!(
            !ike.is_empty() && !radius.is_empty(),
            "{name}: handshake type {kind} is read in IKE and in RADIUS"
        );
    }
}

#[test]
fn both_versions_of_tls_are_read_inside_eap() {
    if !is_installed() {
        return;
    }
    for version in ["1.2", "1.3"] {
        let tls = format!("options.tls=\"{version}\"");
        let methods = r#"methods=["ikev2-eap-tls", "ikev2-eap-ttls-md5", "ikev2-eap-peap-mschapv2"]"#;
        let overrides = ["samples=1", "networks=wifi-11g", methods, &tls];
        let captured = Captured::new(&format!("tls-{version}"), plan("quickstart", &overrides));
        for (name, row, frames) in captured.rows() {
            sound(&name, &frames, OPINIONS);
            tls_is_read(&name, &frames, version);
            // What is inside the tunnel is no secret either.
            let (outer, inner) = eap_types(row.method.eap().expect("it has TLS"));
            let inner = inner.unwrap_or(outer);
            assert!(frames.iter().any(|frame| frame.has("eap.type", &inner)), "{name}: EAP type {inner}");
        }
    }
}

#[test]
fn losses_copies_and_flipped_bits_are_told_and_not_shown() {
    if !is_installed() {
        return;
    }
    let captured = Captured::new("lossy", plan("lossy", &["samples=6"]));
    let mut told = String::new();
    for (name, _, frames) in captured.rows() {
        // ESP that the link copies has the same number twice.
        sound(&name, &frames, &["Wrong Sequence Number for SPI"]);
        let (all, read) = ike_read(&frames);
        assert!(all > 0 && all == read, "{name}");
        frames.iter().for_each(|frame| told += frame.comment());
    }
    for word in
        ["LOST after", "a copy that the link made", "CORRUPTED on its way", "sent again", "arrives after"]
    {
        assert!(told.contains(word), "{word}");
    }
}

#[test]
fn fragments_of_ip_and_of_ike_are_put_together_and_read() {
    if !is_installed() {
        return;
    }
    let captured = Captured::new("fragments", plan("fragmentation", &["samples=2"]));
    for (name, _, frames) in captured.rows() {
        sound(&name, &frames, &[]);
        all_read(&name, &frames);
        assert!(
            frames.iter().any(
                |frame| frame.comment().contains("packet 2 of") || frame.comment().contains("fragment 2")
            ),
            "{name}: something is in fragments"
        );
    }
}

#[test]
fn keys_of_rekeyed_sas_are_in_the_tables() {
    if !is_installed() {
        return;
    }
    let overrides = [
        "samples=1",
        "networks=loopback",
        "methods=ikev2-psk",
        "options.rekey_ike=\"2 s\"",
        "options.rekey_child=\"1 s\"",
    ];
    let captured = Captured::new("rekeyed", plan("quickstart", &overrides));
    for (name, _, frames) in captured.rows() {
        const CREATE_CHILD_SA: &str = "36";
        sound(&name, &frames, &[]);
        all_read(&name, &frames);
        let rekeyings =
            frames.iter().filter(|frame| frame.has("isakmp.exchangetype", CREATE_CHILD_SA)).count();
        assert!(rekeyings >= 8, "{name}: {rekeyings}");
    }
}

#[test]
fn resumed_sessions_accounting_and_tunnels_are_read() {
    if !is_installed() {
        return;
    }
    const ACCOUNTING_REQUEST: &str = "4";
    let options = ["accounting", "resumption", "virtual_address"].map(|name| format!("options.{name}=true"));
    let fixed = ["samples=2", "networks=wifi-11g", "methods=ikev2-eap-tls", "options.mode=tunnel"];
    let overrides = [&fixed[..], &options.each_ref().map(String::as_str)].concat();
    let captured = Captured::new("resumed", plan("quickstart", &overrides));
    for (name, _, frames) in captured.rows() {
        sound(&name, &frames, OPINIONS);
        all_read(&name, &frames);
        // Both authentications end with a Finished of either side; the second shows no certificate any more.
        let shown = |kind: &str| {
            let ike = frames.iter().filter(|frame| frame.is_there("isakmp.exchangetype"));
            ike.filter(|frame| frame.has("tls.handshake.type", kind)).count()
        };
        assert_eq!((shown("11"), shown("20")), (2, 4), "{name}: certificates and Finished");
        let accounted = frames.iter().filter(|frame| frame.has("radius.code", ACCOUNTING_REQUEST)).count();
        assert_eq!(accounted, 4, "{name}: a start and a stop each");
    }
}

#[test]
fn null_crypto_leaves_the_same_bytes_and_no_keys() {
    let bytes = |name: &str| {
        let captured = Captured::new(name, plan("eap", &["samples=2", "crypto=null", "networks=wifi-11g"]));
        assert!(!captured.directory.join("capture/000.keys").exists());
        (0..captured.plan.rows.len())
            .map(|index| {
                std::fs::read(captured.directory.join(format!("capture/{index:03}.pcapng"))).unwrap()
            })
            .collect::<Vec<_>>()
    };
    assert_eq!(bytes("null-a"), bytes("null-b"));
}

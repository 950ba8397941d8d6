//! Wireless LANs as rows: frames are counted, every fault has a finder and a name, and new keys cost no frame.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use std::collections::BTreeMap;

use keytoll_analysis::metrics::measure;
use keytoll_lab::{Credentials, Memory, Row, Stop};
use keytoll_scenario::catalogue::{Fault, Method};
use keytoll_scenario::families::wlan::Admission;
use keytoll_scenario::parse;
use keytoll_trace::{Fact, Fate, Node};

const SAMPLES: u32 = 2;

/// What a row leaves behind; at its end nobody holds anything.
fn run(method: &str, crypto: &str, options: &str) -> Memory {
    let text = format!(
        "samples = {SAMPLES}\ninterval = '400 s'\ncrypto = '{crypto}'\nmethods = '{method}'\nnetworks = 'wlan-11g'\n\
         [options]\n{options}"
    );
    let plan = parse("wlan.toml", &text).unwrap();
    let credentials = Credentials::prepare(&plan);
    let (mut memory, mut row) = (Memory::default(), Row::new(&plan, &plan.rows[0], &credentials, 3e9));
    row.run(&mut memory, &|| {}, &Stop::new(false));
    let held: BTreeMap<_, _> = row.hosts().flat_map(|(_, host)| host.holds()).collect();
    assert!(held.values().all(|&count| count == 0), "{method} {options}: {held:?}");
    memory
}

/// What the nodes said of the last authentication.
fn said(memory: &Memory) -> Vec<String> {
    let last = memory.records.iter().filter(|record| record.sample == SAMPLES - 1);
    let told = last.filter_map(|record| match &record.fact {
        Fact::Failed { why } => Some(format!("{} found: {why}", record.node.name())),
        Fact::Refused { why } => Some(format!("{} was told: {why}", record.node.name())),
        _ => None,
    });
    told.collect()
}

/// Messages of the last authentication on the air, and their bytes.
fn on_the_air(memory: &Memory) -> (u64, u64) {
    let sample = measure(memory.records.clone(), memory.costs.clone()).kept.pop().unwrap();
    let (_, link) = sample.links.iter().find(|(link, _)| link.name() == "ue-ap").unwrap();
    (link.messages, link.bytes)
}

/// Derived by hand from the formats: headers of 24 octets, LLC of 8; frames 2 and 3 of shared key authentication have 160 and 168
/// (`reference/protocols.md` §3.3), those of RRKM 8 and 15 more.
#[test]
fn an_authentication_has_the_frames_and_the_octets_of_the_standard() {
    let (frames, octets) = on_the_air(&run("wlan-open", "null", ""));
    assert_eq!(frames, 6);
    let with_shared_key = on_the_air(&run("wep-shared-key", "null", ""));
    assert_eq!(with_shared_key, (frames + 2, octets + 160 + 168));
    assert_eq!(on_the_air(&run("rrkm", "null", "")), (frames + 2, octets + 168 + 183 + 15));
    // The 4-way handshake: EAPOL and descriptor have 99 octets, and their frames 32 more; beside them stand RSNEs and wrapped keys.
    let with_handshake = on_the_air(&run("wpa2-psk", "null", "management_protection = 'never'"));
    assert_eq!(with_handshake.0, frames + 4);
    assert!(with_handshake.1 > octets + 4 * (99 + 32));
    // Two commits and two confirms instead of one request and its answer.
    assert_eq!(on_the_air(&run("wpa3-sae", "null", "")).0, frames + 4 + 2);
}

#[test]
fn every_fault_is_found_and_named() {
    for (method, fault, expected) in [
        ("wep-shared-key", "wrong-psk", "ap found: challenge under another key"),
        ("rrkm", "wrong-psk", "ue found: challenge under another key"),
        ("wpa2-psk", "wrong-psk", "ap found: 4-way handshake under another key"),
        ("wpa3-sae", "wrong-psk", "ap found: SAE with another password"),
        ("dot1x-eap-tls", "expired-certificate", "ue found: TLS certificate expired"),
        ("wpa2-eap-tls", "unknown-ca", "ue found: TLS unknown authority"),
        ("wpa2-eap-tls", "aaa-silent", "ap found: EAP server does not answer"),
        ("wpa2-eap-tls", "radius-wrong-secret", "ap found: EAP server does not answer"),
        ("wpa2-eap-peap-mschapv2", "wrong-password", "aaa found: EAP wrong password"),
        ("wpa3-eap-aka", "hss-down", "aaa found: EAP no authentication vectors"),
        ("wpa3-eap-tls", "no-common-method", "aaa found: EAP no acceptable method"),
    ] {
        let memory = run(method, "real", &format!("fault = '{fault}'"));
        let said = said(&memory);
        assert!(said.contains(&expected.to_owned()), "{method} {fault}: {said:?}");
        assert!(!memory.records.iter().any(|record| matches!(record.fact, Fact::Usable)), "{method} {fault}");
    }
}

/// Who guesses a password again within the quiet period is not judged; without one, every authentication is.
#[test]
fn a_station_that_has_failed_is_held_if_the_scenario_says_so() {
    for (options, expected) in
        [("", "aaa found: EAP wrong password"), ("quiet_period = '3600 s'", "ap found: held after a failure")]
    {
        let memory = run("wpa2-eap-ttls-md5", "real", &format!("fault = 'wrong-password'\n{options}"));
        let said = said(&memory);
        assert!(said.contains(&expected.to_owned()), "{options}: {said:?}");
    }
}

/// Every fault that a method can have and that is fatal fails, without cryptography, too, unless it is a wrong key.
#[test]
fn no_station_gets_in_with_a_fault() {
    for method in Method::all().filter(|method| method.own::<Admission>().is_some()) {
        let concerns = |fault: &Fault| fault.concerns(method) && fault.is_fatal() && !fault.is_wrong_key();
        for fault in Fault::ALL.into_iter().filter(concerns) {
            let memory = run(method.name(), "null", &format!("fault = '{}'", fault.name()));
            let said = said(&memory);
            assert!(!said.is_empty(), "{} {}", method.name(), fault.name());
            let gets_in = memory.records.iter().any(|record| matches!(record.fact, Fact::Usable));
            assert!(!gets_in, "{} {}", method.name(), fault.name());
        }
    }
}

/// 20 datagrams a second each way for 30 s, while keys change every second: RRKM's without a word, whatever the station's clock, the
/// group's with two frames.
#[test]
fn new_keys_cost_no_frame() {
    const TRAFFIC: &str = "traffic = 'constant'\ntraffic_direction = 'both'\ntraffic_duration = '30 s'\n\
                           traffic_packet = '200 B'\ntraffic_rate = '32 kbit/s'";
    for (method, options, rekeys) in [
        ("rrkm", "rrkm_period = '1 s'", 58..=64),
        ("rrkm", "rrkm_period = '1 s'\nclock_drift = 1000\nrrkm_hash = 'md5'", 58..=64),
        ("rrkm", "rrkm_period = '1 s'\nclock_drift = -1000\nwep = 'wep-40'", 58..=64),
        ("wpa2-psk", "group_rekey = '1 s'", 28..=32),
        ("wpa3-sae", "group_rekey = '1 s'\npairwise = 'gcmp-256'", 28..=32),
    ] {
        let memory = run(method, "real", &format!("{options}\n{TRAFFIC}"));
        let sample = measure(memory.records, memory.costs).kept.remove(0);
        let traffic = sample.traffic.unwrap();
        assert_eq!((traffic.sent(), traffic.lost()), (1200, 0), "{method} {options}");
        assert!(rekeys.contains(&traffic.rekeys), "{method} {options}: {}", traffic.rekeys);
    }
}

/// Probe, authentication and association are two frames each; beside them stand two of SAE, four of the 4-way handshake, and EAP. What
/// a station saves at another access point is what was done before.
#[test]
fn roaming_takes_the_frames_that_are_not_saved() {
    for (method, roaming, messages) in [
        ("wpa2-psk", "reassociation", 6 + 4..=6 + 4),
        ("wpa2-psk", "fast-transition", 6..=6),
        ("wpa3-sae", "reassociation", 6 + 2 + 4..=6 + 2 + 4),
        ("wpa3-sae", "pmksa-caching", 6 + 4..=6 + 4),
        ("wpa3-sae", "fast-transition", 6..=6),
        ("wpa2-eap-tls", "reassociation", 30..=60),
        ("wpa2-eap-tls", "pmksa-caching", 6 + 4..=6 + 4),
        ("wpa2-eap-tls", "fast-transition", 6..=6),
        ("wpa3-eap-peap-mschapv2", "fast-transition", 6..=6),
    ] {
        let options = format!(
            "roam_after = '1 s'\nroaming = '{roaming}'\nstays_idle = '30 s'\ntraffic = 'constant'\n\
             traffic_direction = 'both'\ntraffic_duration = '10 s'\ntraffic_packet = '200 B'\ntraffic_rate = '80 kbit/s'"
        );
        let memory = run(method, "null", &options);
        for sample in measure(memory.records, memory.costs).kept {
            let moved = sample.moved.unwrap();
            let said = moved.signalling.messages;
            assert!(moved.verified_ns.is_some() && messages.contains(&said), "{method} {roaming}: {moved:?}");
            let (_, air) = sample.links.iter().find(|(link, _)| link.name() == "ue-ap").unwrap();
            assert_eq!(air.messages > 11, method != "wpa2-psk", "{method} {roaming}: a whole one first");
            let traffic = sample.traffic.unwrap();
            assert!(traffic.sent() > 900 && traffic.lost() < 30, "{method} {roaming}: {}", traffic.lost());
        }
    }
}

/// A radio channel has a queue in front of it, as every link with a rate.
#[test]
fn more_than_the_channel_carries_is_lost_in_a_queue() {
    const TRAFFIC: &str = "traffic = 'constant'\ntraffic_direction = 'up'\ntraffic_duration = '2 s'\n\
                           traffic_packet = '1400 B'\ntraffic_rate = '100 Mbit/s'";
    let memory = run("wlan-open", "null", TRAFFIC);
    let sample = measure(memory.records, memory.costs).kept.remove(0);
    let traffic = sample.traffic.unwrap();
    assert!(traffic.lost() > 1000, "{} of {}", traffic.lost(), traffic.sent());
}

/// A frame to everybody is on the air once: the probe request.
#[test]
fn a_probe_goes_to_everybody() {
    let memory = run("wlan-open", "null", "");
    let carried = memory.records.iter().filter(|record| record.node == Node::Ue && record.sample == 0);
    let first = carried.filter_map(|record| match &record.fact {
        Fact::Carried { fate, bytes, .. } => Some((*fate, *bytes)),
        _ => None,
    });
    assert_eq!(first.take(1).collect::<Vec<_>>(), [(Fate::Delivered, 43)]);
}

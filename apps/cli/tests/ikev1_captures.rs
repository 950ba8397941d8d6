//! `keytoll decode` and `keytoll measure` on IKEv1: what became of each authentication is what its hosts said, whatever was
//! lost, wherever it was captured, with keys and without.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::fs::File;
use std::io::{BufReader, Write};

use keytoll_capture::passage;
use keytoll_decode::read::{Capture, Frame};
use keytoll_trace::Fate;
use serde_json::Value;

use crate::decode::{CAPTURES, Scratch, json, run_and_measure_at, same_counts};

/// The device's SA for traffic was never agreed on: main mode is whole, and before quick mode has an answer the ISAKMP SA's
/// lifetime ends. A row with such authentications once ended in silence after 31 of 300.
#[test]
fn the_case_that_once_hung_is_judged_as_failed() {
    let capture = format!("{CAPTURES}/ikev1-lifetime-ends-quick-mode.pcapng");
    for (keys, why) in [
        (
            format!(" --keys {CAPTURES}/ikev1-lifetime-ends-quick-mode.keys"),
            "the IKE SA was deleted before there was a child",
        ),
        (String::new(), "refused or ended by an encrypted message"),
    ] {
        let document = json(&format!("decode {capture} --json{keys}"));
        let conversations = document["conversations"].as_array().unwrap();
        assert_eq!(conversations.len(), 1);
        let outcome = &conversations[0]["outcome"];
        assert_eq!(
            (&outcome["name"], &outcome["why"]),
            (&Value::from("failed"), &Value::from(why)),
            "{outcome}"
        );
        let measured = json(&format!("measure {capture} --json{keys}"));
        let row = &measured["rows"][0];
        assert_eq!((row["n"].as_u64(), row["succeeded"].as_u64()), (Some(1), Some(0)), "{row}");
    }
}

/// Aggressive mode is over, and quick mode has begun: of what the responder then says no to decides who believes in what. As
/// strongSwan, libreswan and keytoll logged it as responders.
#[test]
fn what_a_responder_of_aggressive_mode_refuses_is_as_it_logged() {
    for (name, phase1, refused_children) in [
        // strongSwan: "no trusted RSA public key found", "deleting IKE_SA".
        ("ikev1-strongswan-deletes", "refused", 0),
        // libreswan: "X509: CERT payload bogus or revoked", "deleting state (STATE_AGGR_R1)".
        ("ikev1-libreswan-in-the-clear", "refused", 0),
        // keytoll to strongSwan: "proposal-refused", "child-failed", and told to quit it deletes the ISAKMP SA at once.
        ("ikev1-child-refused", "established", 1),
    ] {
        let capture = format!("{CAPTURES}/{name}.pcapng --keys {CAPTURES}/{name}.keys --json");
        let exchanges = &json(&format!("decode {capture}"))["conversations"][0]["exchanges"];
        assert_eq!(exchanges["phase_1"][phase1], 1, "{name}: {exchanges}");
        assert_eq!(exchanges["quick_mode"]["refused"], refused_children, "{name}: {exchanges}");
        let row = &json(&format!("measure {capture}"))["rows"][0];
        assert_eq!((row["n"].as_u64(), row["succeeded"].as_u64()), (Some(1), Some(0)), "{name}: {row}");
    }
}

/// Every method of IKEv1, with SAs that are replaced and with keys that do not agree: what became of each authentication is
/// what the hosts said, with keys and without.
#[test]
fn authentications_of_ikev1_are_judged_as_their_hosts_do() {
    let scratch = Scratch::new("ikev1-verdicts");
    let all = "\"ikev1-main-psk\", \"ikev1-aggressive-psk\", \"ikev1-main-rsa\", \"ikev1-aggressive-rsa\"";
    let shared = "\"ikev1-main-psk\", \"ikev1-aggressive-psk\"";
    for (number, methods, options) in [
        (1, all, "rekey_child = \"60 s\"\nreauth_lifetime = \"300 s\""),
        (2, all, "reauth_lifetime = \"8 s\""),
        (3, shared, "fault = \"wrong-psk\""),
    ] {
        let scenario = scratch.path(&format!("{number}.toml"));
        let text = format!(
            "title = \"verdicts\"\nseed = 5\nsamples = 30\ncrypto = \"real\"\nmethods = [{methods}]\n\
             networks = [{{ name = \"clean\", delay = \"5 ms\" }}]\n\
             [options]\n{options}\n"
        );
        std::fs::write(&scenario, text).unwrap();
        run_and_measure_at(&scenario, &format!("ikev1-verdicts-{number}"), 30, |run, measured, name| {
            for field in ["n", "succeeded"] {
                let failures = (&run["failures"], &measured["failures"]);
                assert_eq!(run[field], measured[field], "{number} {name}: {field}: {failures:?}");
            }
        });
    }
}

const EVERY_METHOD: &str =
    "\"ikev1-main-psk\", \"ikev1-aggressive-psk\", \"ikev1-main-rsa\", \"ikev1-aggressive-rsa\"";

/// A scenario of IKEv1 over a link that does this.
fn scenario(scratch: &Scratch, seed: u32, link: &str, options: &str) -> String {
    let path = scratch.path(&format!("{seed}.toml"));
    let text = format!(
        "title = \"loss\"\nseed = {seed}\nsamples = 20\ninterval = \"400 s\"\ncrypto = \"real\"\n\
         methods = [{EVERY_METHOD}]\nnetworks = [{{ name = \"link\", delay = \"5 ms\", {link} }}]\n\
         [options]\n{options}\n"
    );
    std::fs::write(&path, text).unwrap();
    path
}

/// What the links of a row carried in all, during authentications and after them.
fn carried(row: &Value) -> Vec<f64> {
    let links = row["links"].as_object().unwrap().values().chain([&row["after"]]);
    let links: Vec<&Value> = links.collect();
    let sum = |field: &str| links.iter().filter_map(|link| link[field].as_f64()).sum::<f64>();
    ["messages", "packets", "bytes", "retransmissions"].map(|field| (sum(field) * 1000.0).round()).to_vec()
}

/// Messages that come again and messages that are lost, SAs that are replaced meanwhile or end before there is a child.
#[test]
fn repeated_and_lost_messages_are_judged_as_the_hosts_do() {
    let scratch = Scratch::new("ikev1-loss");
    for (seed, link, options) in [
        (1, "loss = \"10 %\"", "reauth_lifetime = \"300 s\""),
        (2, "loss = \"30 %\"", "reauth_lifetime = \"300 s\""),
        (3, "loss = \"20 %\"", "reauth_lifetime = \"8 s\""),
        (4, "loss = \"30 %\"", "reauth_lifetime = \"8 s\""),
        (
            5,
            "loss = \"20 %\", duplicate = \"5 %\", corrupt = \"5 %\", reorder = \"5 %\"",
            "rekey_child = \"20 s\"\nreauth_lifetime = \"60 s\"",
        ),
    ] {
        let scenario = scenario(&scratch, seed, link, options);
        run_and_measure_at(&scenario, &format!("ikev1-loss-{seed}"), 20, |run, measured, name| {
            let name = format!("{seed} {name}: {} {}", run["failures"], measured["failures"]);
            for field in ["n", "succeeded"] {
                assert_eq!(run[field], measured[field], "{name}: {field}");
            }
            let failed = |row: &Value| {
                row["failures"].as_object().unwrap().values().filter_map(Value::as_u64).sum::<u64>()
            };
            assert_eq!(failed(run), failed(measured), "{name}");
            assert_eq!(carried(run), carried(measured), "{name}");
            // When a device gives up shows on no link.
            if failed(run) == 0 {
                same_counts(run, measured, &name);
            }
            if run["succeeded"] != 0 {
                let mean = |row: &Value| row["delay_ms"]["mean"].as_f64().unwrap();
                let missing_ms = mean(run) - mean(measured);
                assert!((-0.001..5.0).contains(&missing_ms), "{name}: {missing_ms} ms");
            }
        });
    }
}

/// An end at which somebody captures, and the last byte of its address in a laboratory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    Device = 2,
    Gateway = 1,
}

/// What tcpdump sees there: when packets pass, nothing of what is lost on its way there, no comments.
fn seen_at(end: End, capture: &str) -> Vec<(u64, Frame)> {
    let frames = Capture::new(BufReader::new(File::open(capture).unwrap())).unwrap().map(Result::unwrap);
    let mut seen: Vec<(u64, Frame)> = frames.filter_map(|frame| passes(end, frame)).collect();
    seen.sort_by_key(|(at_ns, frame)| (*at_ns, frame.number));
    seen
}

fn passes(end: End, frame: Frame) -> Option<(u64, Frame)> {
    // RFC 8200 §3: where the source address ends.
    let is_own = frame.bytes[23] == end as u8;
    let (fate, transit) = passage::fate(frame.comment.as_deref()?)?;
    match fate {
        _ if is_own => Some((frame.at_ns, frame)),
        Fate::Delivered | Fate::Duplicate => {
            Some((frame.at_ns + u64::try_from(transit.as_nanos()).unwrap(), frame))
        }
        Fate::Lost | Fate::Corrupted | Fate::QueueFull => None,
    }
}

/// draft-ietf-opsawg-pcap: with nanoseconds.
fn write_pcap(path: &str, frames: &[(u64, Frame)]) {
    let mut file = File::create(path).unwrap();
    let link_type = frames.first().map_or(0, |(_, frame)| frame.link_type);
    let words = |words: &[u32]| words.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<_>>();
    file.write_all(&words(&[0xa1b2_3c4d, 0x0004_0002, 0, 0, 65_535, link_type.into()])).unwrap();
    for (at_ns, frame) in frames {
        let len = u32::try_from(frame.bytes.len()).unwrap();
        let at = [at_ns / 1_000_000_000, at_ns % 1_000_000_000].map(|word| u32::try_from(word).unwrap());
        file.write_all(&words(&[at[0], at[1], len, len])).unwrap();
        file.write_all(&frame.bytes).unwrap();
    }
}

/// How many authentications there were, and how many of them succeeded.
fn counted(measured: &Value) -> (u64, u64) {
    let rows = measured["rows"].as_array().unwrap();
    let sum = |field: &str| rows.iter().filter_map(|row| row[field].as_u64()).sum();
    (sum("n"), sum("succeeded"))
}

/// A capture at the device shows what the device knows. One at the gateway lacks what was lost on its way there: it may show
/// less than the device knows, and never more.
#[test]
fn a_capture_at_one_end_is_judged_by_what_it_shows() {
    let scratch = Scratch::new("ikev1-ends");
    let (mut known, mut shown) = (0, 0);
    for (seed, loss) in [(11, 10), (12, 30)] {
        let scenario = scenario(&scratch, seed, &format!("loss = \"{loss} %\""), "reauth_lifetime = \"8 s\"");
        let out = scratch.path(&format!("run-{seed}"));
        let run = json(&format!("run {scenario} --pcap --out {out} --json"));
        for (index, row) in run["rows"].as_array().unwrap().iter().enumerate() {
            let (n, succeeded) = (row["n"].as_u64().unwrap(), row["succeeded"].as_u64().unwrap());
            for end in [End::Device, End::Gateway] {
                let capture = scratch.path("end.pcap");
                write_pcap(&capture, &seen_at(end, &format!("{out}/capture/{index:03}.pcapng")));
                for keys in [String::new(), format!(" --keys {out}/capture/{index:03}.keys")] {
                    let name = format!("{seed} {} at the {end:?}{keys}", row["method"]);
                    let measured = counted(&json(&format!("measure {capture} --json{keys}")));
                    match end {
                        End::Device => assert_eq!(measured, (n, succeeded), "{name}"),
                        End::Gateway => {
                            assert!(
                                measured.0 <= n && measured.1 <= succeeded,
                                "{name}: {measured:?} of {n}"
                            );
                            (known, shown) = (known + succeeded, shown + measured.1);
                        }
                    }
                }
            }
        }
    }
    println!("{shown} of {known} successes are seen at the gateway");
    assert!(shown * 20 > known * 19, "{shown} of {known}");
}

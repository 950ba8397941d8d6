//! A capture of a device on loopback: what passed its sockets, with the keys that open it.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "helpers of tests are tests")]

use crate::pair;

use std::path::{Path, PathBuf};
use std::process::Command as Process;
use std::thread;

use keytoll_engine::trace::NoTrace;
use keytoll_hosts::{Event, Order};
use keytoll_live::{Capture, Clock};
use keytoll_rigs::FAMILIES;

use pair::{LIMIT, Pair, until};

/// A directory of its own, removed when the test ends.
struct Scratch(PathBuf);

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Connects, sends an echo through the SA and disconnects, while the device is captured; gives how many datagrams passed.
fn captured(file: &Path) -> u64 {
    let Pair { mut device, mut gateway } = Pair::on_loopback();
    let serving = thread::spawn(move || {
        until(&mut gateway, |event| matches!(event, Event::Closed { .. }), &mut NoTrace);
    });
    let clock = Clock::start();
    let capture = Capture::create(FAMILIES, file, &clock, "ue", "a test").unwrap();
    let trace = &mut NoTrace;
    let mut trace = capture.beside(trace);
    device = device.with_clock(clock).with_tap(capture.clone());
    device.command(Order::Echo { payload_bytes: 56 }, &mut trace);
    let up = until(&mut device, |event| matches!(event, Event::Established(_)), &mut trace);
    until(&mut device, |event| *event == Event::EchoReply, &mut trace);
    let Event::Established(up) = up else { unreachable!("until() gave it") };
    capture.flush();
    let passed = std::fs::metadata(file).unwrap().len();
    assert!(passed > 1000, "who reads along sees the handshake and the echo now, not {passed} bytes");
    device.command(Order::Close(up.session), &mut trace);
    until(&mut device, |event| matches!(event, Event::Closed { .. }), &mut trace);
    serving.join().unwrap();
    capture.finish().unwrap().datagrams
}

fn tshark(file: &Path, fields: &[&str]) -> Vec<String> {
    let mut command = Process::new("tshark");
    command.env("WIRESHARK_CONFIG_DIR", file.with_extension("keys")).args(["-n", "-r"]).arg(file);
    command.args(["-T", "fields"]);
    fields.iter().for_each(|field| {
        command.args(["-e", field]);
    });
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).lines().map(str::to_owned).collect()
}

#[test]
fn a_live_device_is_captured_and_read() {
    let is_there = Process::new("tshark").arg("--version").output().is_ok();
    assert!(is_there || std::env::var_os("CI").is_none(), "install tshark");
    if !is_there {
        println!("SKIPPED: install tshark (Debian's package of that name)");
        return;
    }
    let scratch = Scratch(std::env::temp_dir().join(format!("keytoll-live-capture-{}", std::process::id())));
    std::fs::create_dir_all(&scratch.0).unwrap();
    let file = scratch.0.join("device.pcapng");
    let datagrams = captured(&file);
    // IKE_SA_INIT, IKE_AUTH and the echo there and back, and the DELETE, at ports that are nobody's.
    let kinds = tshark(&file, &["isakmp.exchangetype", "icmp.type"]);
    assert_eq!(kinds, ["34\t", "34\t", "35\t", "35\t", "\t8", "\t0", "37\t"]);
    assert_eq!(datagrams, 7);
    let decrypted = tshark(&file, &["isakmp.enc.decrypted"]);
    assert_eq!(decrypted.iter().filter(|field| !field.is_empty()).count(), 3);
    let comments = tshark(&file, &["frame.comment"]);
    assert_eq!(comments[0], "sent: IKE_SA_INIT request 0 (SA KE Nonce N N N N)");
    assert_eq!((comments[1].as_str(), comments[4].as_str()), ("received", "sent: esp"));
    let times = tshark(&file, &["frame.time_epoch"]);
    let now = std::time::UNIX_EPOCH.elapsed().unwrap().as_secs_f64();
    assert!(
        times.iter().all(|time| (now - time.parse::<f64>().unwrap()).abs() < LIMIT.as_secs_f64()),
        "{times:?}"
    );
    let malformed = tshark(&file, &["_ws.malformed"]);
    assert!(malformed.iter().all(String::is_empty), "{malformed:?}");
}

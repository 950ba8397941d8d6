//! The machine's own traffic through a TUN interface: `ping` and `iperf3` between keytoll and keytoll, and between keytoll
//! and strongSwan, whose ESP is in user space, too (kernel-libipsec). Read RFC 4303 and RFC 3948 first.

#![expect(
    clippy::disallowed_methods,
    reason = "the daemons are other processes, and their world has a real clock"
)]

use std::process::{Child, Stdio};
use std::thread::sleep;
use std::time::Duration;

use keytoll_interop::run::finish;
use keytoll_interop::{Charon, Lab, Node, Peer, Terms, Trouble, lab_or_skip};
use serde_json::Value;

const PROGRAM: &str = env!("CARGO_BIN_EXE_keytoll-under-test");
const IKE: &str = "aes128-sha256-x25519";
const SUITES: [&str; 3] = ["aes128gcm16", "chacha20poly1305", "aes128-sha256"];

/// The terms of a node, with an interface: the device's address is what the gateway assigns.
fn with_tun(node: Node, terms: &Terms) -> Terms {
    let keytoll = match node {
        Node::Ue => "tun = { name = \"kt0\", routes = \"10.98.2.0/24\" }",
        _ => "tun = { name = \"kt0\", address = \"10.98.2.2/32\", routes = \"10.98.3.0/24\" }",
    };
    Terms { keytoll, ..*terms }
}

fn keytoll(lab: &Lab, node: Node, terms: &Terms) -> Result<Peer, Trouble> {
    Peer::start(lab, node, PROGRAM, &with_tun(node, terms), None)
}

/// Both ends are keytoll's, and the SA is up.
fn pair(lab: &Lab, terms: &Terms) -> Result<(Peer, Peer), Trouble> {
    let gw = keytoll(lab, Node::Gw, terms)?;
    let mut ue = keytoll(lab, Node::Ue, terms)?;
    ue.say("echo")?;
    ue.expect("echo-reply")?;
    Ok((ue, gw))
}

/// Echoes that fit a packet, and echoes that are fragments before they meet IPsec.
fn pings(lab: &Lab) -> Result<(), Trouble> {
    for size in ["56", "1300", "8000"] {
        let mut ping = lab.command(Node::Ue, "ping");
        ping.args(["-n", "-i", "0.2", "-W", "3", "-c", "3", "-s", size]).arg(Node::Gw.inner().to_string());
        let said = finish(&mut ping)?;
        assert!(said.contains(" 0% packet loss"), "{size} bytes: {said}");
    }
    Ok(())
}

/// An iperf3 server for one test at the gateway.
fn server(lab: &Lab) -> Child {
    let mut command = lab.command(Node::Gw, "iperf3");
    // Answers must come from the address that was asked, not from the interface's own.
    command.args(["-s", "-1", "-B"]).arg(Node::Gw.inner().to_string());
    let child = command.stdout(Stdio::null()).spawn().expect("iperf3 of interop/setup.sh");
    sleep(Duration::from_millis(500));
    child
}

/// What iperf3 measured at the device.
fn iperf(lab: &Lab, arguments: &[&str], meanwhile: impl FnOnce()) -> Result<Value, Trouble> {
    let mut server = server(lab);
    let mut client = lab.command(Node::Ue, "iperf3");
    client.arg("-c").arg(Node::Gw.inner().to_string()).arg("-J").args(arguments);
    let client = client.stdout(Stdio::piped()).spawn().expect("iperf3 of interop/setup.sh");
    meanwhile();
    let output = client.wait_with_output().expect("a child that was started ends");
    let _ = server.kill();
    let _ = server.wait();
    Ok(serde_json::from_slice(&output.stdout).unwrap_or(Value::Null))
}

/// TCP both ways and UDP, for a second each.
fn flows(lab: &Lab) -> Result<(), Trouble> {
    for arguments in [&["-t", "1"][..], &["-t", "1", "-R"]] {
        let report = iperf(lab, arguments, || {})?;
        let bits = report["end"]["sum_received"]["bits_per_second"].as_f64().unwrap_or(0.0);
        assert!(bits > 5e6, "{arguments:?}: {bits} bit/s, {report}\n{}", lab.last_words());
    }
    let report = iperf(lab, &["-t", "1", "-u", "-b", "5M", "-l", "1200"], || {})?;
    let sum = &report["end"]["sum"];
    assert!(sum["packets"].as_u64() > Some(400) && sum["lost_packets"].as_u64() == Some(0), "{report}");
    Ok(())
}

#[test]
fn every_suite_carries_ping_and_iperf3() {
    let Some(lab) = lab_or_skip() else { return };
    for esp in SUITES {
        let (mut ue, _gw) = pair(&lab, &Terms::psk(IKE, esp)).unwrap_or_else(|why| panic!("{esp}: {why}"));
        pings(&lab).and_then(|()| flows(&lab)).unwrap_or_else(|why| panic!("{esp}: {why}"));
        ue.say("quit").unwrap_or_else(|why| panic!("{esp}: {why}"));
    }
}

#[test]
fn over_ipv6_and_behind_a_nat() {
    let Some(lab) = lab_or_skip() else { return };
    let over_v6 = |lab: &Lab| {
        let ends = pair(lab, &Terms { ipv6: true, ..Terms::psk(IKE, SUITES[0]) })?;
        pings(lab).and_then(|()| flows(lab)).map(|()| drop(ends))
    };
    over_v6(&lab).unwrap_or_else(|why| panic!("{why}"));
    let behind_nat = |lab: &Lab| {
        lab.insert_nat()?;
        let ends = pair(lab, &Terms::psk(IKE, SUITES[0]))?;
        pings(lab).and_then(|()| flows(lab)).map(|()| drop(ends))
    };
    behind_nat(&lab).unwrap_or_else(|why| panic!("{why}"));
}

#[test]
fn rekeying_loses_nothing() {
    let Some(lab) = lab_or_skip() else { return };
    let rekeyed = |lab: &Lab| {
        let (mut ue, mut gw) = pair(lab, &Terms::psk(IKE, SUITES[0]))?;
        let report = iperf(lab, &["-t", "3", "-u", "-b", "5M", "-l", "1200", "--bidir"], || {
            for side in [&mut ue, &mut gw] {
                sleep(Duration::from_millis(800));
                side.say("rekey-child").and_then(|()| side.expect("child-rekeyed")).expect("a rekeying");
            }
        })?;
        for sum in ["sum", "sum_bidir_reverse"] {
            let sum = &report["end"][sum];
            assert!(sum["packets"].as_u64() > Some(1000), "{report}");
            assert_eq!(sum["lost_packets"].as_u64(), Some(0), "{report}");
        }
        Ok::<_, Trouble>(())
    };
    rekeyed(&lab).unwrap_or_else(|why| panic!("{why}"));
}

#[test]
fn to_a_gateway_of_strongswan() {
    let Some(lab) = lab_or_skip() else { return };
    let tried = |lab: &Lab| {
        for esp in SUITES {
            let terms = Terms::psk(IKE, esp);
            let _gw = Charon::start(lab, Node::Gw, &terms, None)?;
            let mut ue = keytoll(lab, Node::Ue, &terms)?;
            ue.say("echo")?;
            ue.expect("echo-reply")?;
            pings(lab)?;
            flows(lab)?;
        }
        Ok::<_, Trouble>(())
    };
    tried(&lab).unwrap_or_else(|why| panic!("{why}"));
}

#[test]
fn to_a_device_of_strongswan() {
    let Some(lab) = lab_or_skip() else { return };
    let tried = |lab: &Lab| {
        for esp in SUITES {
            let terms = Terms::psk(IKE, esp);
            let _gw = keytoll(lab, Node::Gw, &terms)?;
            let ue = Charon::start(lab, Node::Ue, &terms, None)?;
            ue.initiate()?;
            pings(lab)?;
            flows(lab)?;
            ue.terminate()?;
        }
        Ok::<_, Trouble>(())
    };
    tried(&lab).unwrap_or_else(|why| panic!("{why}"));
}

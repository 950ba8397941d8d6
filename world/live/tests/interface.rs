//! The interface of a node on this machine's own kernel: what is not ours is left alone, and what goes away is noticed.
//! Only root may make an interface; without, that the reason is said is all there is to see.

use crate::pair;

use std::process::Command;
use std::time::Duration;

use keytoll_engine::trace::NoTrace;
use keytoll_live::interface::{assign, check_way_to, route, unroute};
use keytoll_live::{Interface, InterfaceError};

use pair::Pair;

/// An interface, unless this is not root.
fn open(name: &str) -> Option<Interface> {
    match Interface::open(name, 1400) {
        Ok(interface) => Some(interface),
        Err(why) => {
            let is_root = Command::new("id").arg("-u").output().expect("coreutils").stdout == b"0\n";
            assert!(!is_root && why.to_string().contains("it needs root or CAP_NET_ADMIN"), "{why}");
            None
        }
    }
}

fn ip(arguments: &str) {
    let done = Command::new("ip").args(arguments.split(' ')).output().expect("iproute2");
    assert!(done.status.success(), "{arguments}: {}", String::from_utf8_lossy(&done.stderr));
}

/// Somebody deletes it: that is told once, and whoever drives the node does not spin on what is not there.
#[test]
fn an_interface_that_goes_away_is_told_and_let_go() {
    let Some(interface) = open("kt-gone") else { return };
    let Pair { device, .. } = Pair::with_interface(interface);
    let mut device = device;
    assert!(device.next_event(Duration::from_millis(10), &mut NoTrace).is_none());
    assert!(device.take_interface_loss().is_none());
    ip("link delete kt-gone");
    let before = cpu_time();
    assert!(device.next_event(Duration::from_millis(600), &mut NoTrace).is_none());
    let spent = cpu_time() - before;
    let why = device.take_interface_loss().expect("it is gone");
    assert!(why.raw_os_error().is_some() && device.take_interface_loss().is_none());
    assert!(spent < Duration::from_millis(200), "{spent:?} of 600 ms");
}

/// CPU time of this thread.
fn cpu_time() -> Duration {
    Duration::from_nanos(keytoll_native::clock::thread_cpu_ns())
}

/// A route of the machine is not replaced, and the peer is not led into its own tunnel.
#[test]
fn routes_of_the_machine_stay_and_the_peer_stays_outside() {
    let (Some(_ours), Some(_theirs)) = (open("kt-ours"), open("kt-theirs")) else { return };
    // RFC 5737: for documentation, and nobody's.
    assign("kt-ours", "203.0.113.1".parse().unwrap(), 32).unwrap();
    ip("route add 198.51.100.0/25 dev kt-theirs");
    let refused = route("kt-ours", "198.51.100.0/25").unwrap_err();
    assert!(matches!(refused, InterfaceError::Routed { .. }), "{refused}");
    let kept = Command::new("ip").args(["route", "show", "198.51.100.0/25"]).output().unwrap().stdout;
    assert!(String::from_utf8(kept).unwrap().contains("dev kt-theirs"));

    let peer = "198.51.100.7".parse().unwrap();
    assert!(check_way_to(peer, "kt-ours").is_ok());
    route("kt-ours", "198.51.100.0/28").unwrap();
    let refused = check_way_to(peer, "kt-ours").unwrap_err();
    assert!(refused.to_string().starts_with("what goes to the peer itself, at 198.51.100.7,"), "{refused}");
    unroute("kt-ours", "198.51.100.0/28").unwrap();
    assert!(check_way_to(peer, "kt-ours").is_ok());
}

/// A persistent interface of that name is somebody's.
#[test]
fn an_interface_of_somebody_else_is_not_taken_over() {
    if open("kt-mine").is_none() {
        return;
    }
    ip("tuntap add dev kt-mine mode tun");
    let opened = Interface::open("kt-mine", 1400).map(|_| ());
    ip("link delete kt-mine");
    let refused = opened.unwrap_err();
    assert!(refused.to_string().contains("another program has it"), "{refused}");
}

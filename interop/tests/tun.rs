//! TUN interfaces in more than the simplest case: several devices at one gateway and from one to another, IPv6 inside, a
//! gateway that is started again, IKEv1's rekeying under load, packets that do not fit. Both ends are keytoll's; what sends
//! and what judges is the kernel, `ping` and `iperf3`. Read RFC 4301 §8, RFC 4303 and RFC 1191 §3 first.

#![expect(
    clippy::disallowed_methods,
    reason = "the daemons are other processes, and their world has a real clock"
)]

use std::net::{IpAddr, Ipv4Addr};
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use keytoll_daemons::Place;
use keytoll_daemons::charon::IkeVersion;
use keytoll_interop::lab::Spot;
use keytoll_interop::run::finish;
use keytoll_interop::swanctl::Auth;
use keytoll_interop::{Lab, Node, Peer, Terms, Trouble, lab_or_skip};
use serde_json::Value;

const PROGRAM: &str = env!("CARGO_BIN_EXE_keytoll-under-test");

/// Runs what may fail in a lab, if there is one.
fn tried(test: impl FnOnce(&Lab) -> Result<(), Trouble>) {
    let Some(lab) = lab_or_skip() else { return };
    test(&lab).unwrap_or_else(|why| panic!("{why}\n{}", lab.last_words()));
}

/// What both ends are told alike.
fn common(more: &str) -> String {
    format!(
        "retransmit_first = \"300 ms\"\nretransmit_tries = 4\n\
         connection.auth = {{ psk = \"lab-shared-secret\" }}\n\
         connection.suites = \"aes128-sha256-x25519\"\nconnection.esp_suites = \"aes128gcm16\"\n{more}\n"
    )
}

/// A gateway that gives addresses of this network and protects that one, for whoever knows the key.
fn gateway(lab: &Lab, pool: &str, local: &str, address: &str) -> Result<Peer, Trouble> {
    let more = format!(
        "connection.identity = \"gw.lab\"\nconnection.pool = {pool:?}\nconnection.local = {local:?}\n\
         tun = {{ name = \"kt0\", address = {address:?}, routes = {pool:?} }}"
    );
    let text = format!("role = \"gateway\"\n{}", common(&more));
    Peer::of_file(&lab.spot(Node::Gw), PROGRAM, &text)
}

/// A device that asks for an address, reaches these networks, and has sent an echo to somebody there.
fn device(spot: &Spot, target: IpAddr, remote: &str, routes: &str) -> Result<Peer, Trouble> {
    let (name, local) = (spot.name(), spot.address());
    let more = format!(
        "connection.identity = \"{name}@lab\"\nconnection.peer = \"gw.lab\"\nconnection.virtual_address = true\n\
         connection.liveness = \"1 s\"\nconnection.remote = {remote:?}\ntun = {{ name = \"kt0\", routes = {routes} }}"
    );
    let text = format!(
        "role = \"device\"\nlocal = \"{local}\"\ngateway = \"{}\"\nping = \"{target}\"\n{}",
        Node::Gw.outer(),
        common(&more)
    );
    let mut peer = Peer::of_file(spot, PROGRAM, &text)?;
    peer.say("echo").and_then(|()| peer.expect("child-up"))?;
    Ok(peer)
}

fn ping(place: &Place, to: &str, arguments: &[&str]) -> Result<String, Trouble> {
    let mut ping = place.command("ping");
    finish(ping.args(["-n", "-i", "0.2", "-W", "2", "-c", "3"]).args(arguments).arg(to))
}

/// The address that somebody was given.
fn inner(place: &Place) -> Result<Ipv4Addr, Trouble> {
    let said = finish(place.command("ip").args(["-4", "-o", "address", "show", "dev", "kt0"]))?;
    let address = said.split_whitespace().skip_while(|word| *word != "inet").nth(1);
    let address = address.and_then(|word| word.split('/').next()).and_then(|word| word.parse().ok());
    Ok(address.unwrap_or_else(|| panic!("no address on kt0: {said}")))
}

fn forwards(place: &Place) -> Result<(), Trouble> {
    finish(place.command("sysctl").args(["-q", "-w", "net.ipv4.ip_forward=1"])).map(drop)
}

#[test]
fn several_devices_reach_the_gateway_and_each_other() {
    tried(|lab| {
        forwards(&lab.place(Node::Gw))?;
        let _gateway = gateway(lab, "10.98.3.0/24", "10.98.0.0/16", "10.98.2.2/32")?;
        let spots = (1..=3).map(|number| lab.another_device(number)).collect::<Result<Vec<_>, _>>()?;
        let routes = "[\"10.98.2.0/24\", \"10.98.3.0/24\"]";
        let start = |spot: &Spot| device(spot, Node::Gw.inner().into(), "10.98.0.0/16", routes);
        let _devices = spots.iter().map(start).collect::<Result<Vec<_>, _>>()?;
        let inners = spots.iter().map(|spot| inner(spot.place())).collect::<Result<Vec<_>, _>>()?;
        assert!(inners[0] != inners[1] && inners[1] != inners[2] && inners[0] != inners[2], "{inners:?}");
        for from in &spots {
            ping(from.place(), &Node::Gw.inner().to_string(), &[])?;
            for to in &inners {
                ping(from.place(), &to.to_string(), &["-s", "1200"])?;
            }
        }
        Ok(())
    });
}

/// IPv6 inside, over IPv4.
#[test]
fn ipv6_travels_in_ipv4() {
    tried(|lab| {
        let inside: IpAddr = [0xfd98, 2, 0, 0, 0, 0, 0, 1].into();
        lab.place(Node::Gw).assign("lo", inside, 128)?;
        let _gateway = gateway(lab, "fd98:3::/112", "fd98:2::/64", "fd98:2::2/128")?;
        let spot = lab.another_device(1)?;
        let _device = device(&spot, inside, "fd98:2::/64", "\"fd98:2::/64\"")?;
        for size in ["56", "1200", "4000"] {
            ping(spot.place(), &inside.to_string(), &["-6", "-s", size])?;
        }
        Ok(())
    });
}

/// The device finds out, and what is sent next sets up new SAs.
#[test]
fn a_gateway_that_was_started_again_is_found_again() {
    tried(|lab| {
        let start = || gateway(lab, "10.98.3.0/24", "10.98.2.0/24", "10.98.2.2/32");
        let first = start()?;
        let spot = lab.another_device(1)?;
        let mut device = device(&spot, Node::Gw.inner().into(), "10.98.2.0/24", "\"10.98.2.0/24\"")?;
        let target = Node::Gw.inner().to_string();
        ping(spot.place(), &target, &[])?;
        drop(first);
        let _second = start()?;
        device.expect("closed timeout")?;
        // The first packet wakes it, and may be lost for that.
        let _ = ping(spot.place(), &target, &[]);
        device.expect("child-up")?;
        ping(spot.place(), &target, &[]).map(drop)
    });
}

/// A sender that must not fragment is told what fits, whoever it is.
#[test]
fn what_does_not_fit_is_told_to_the_sender() {
    tried(|lab| {
        let _gateway = gateway(lab, "10.98.3.0/24", "10.98.0.0/16", "10.98.2.2/32")?;
        let spot = lab.another_device(1)?;
        let _device =
            device(&spot, Node::Gw.inner().into(), "10.98.0.0/16", "[\"10.98.2.0/24\", \"10.98.4.0/24\"]")?;
        // A host behind the gateway, on a wire of 1500 bytes.
        let (gw, host) = (lab.place(Node::Gw), lab.place(Node::Aaa));
        forwards(&gw)?;
        gw.ip("route add 10.98.4.0/24 via 10.99.2.3")?;
        host.ip("route add 10.98.3.0/24 via 10.99.2.2")?;
        let far = inner(spot.place())?.to_string();
        let source = Node::Aaa.inner().to_string();
        // 1379 bytes: the header of IP has 20, that of ICMP 8.
        for (from, to, more) in
            [(&host, far.as_str(), ["-I", source.as_str()]), (spot.place(), source.as_str(), ["-t", "64"])]
        {
            let with = |size: &'static str| [&more[..], &["-M", "do", "-s", size]].concat();
            ping(from, to, &with("1351"))?;
            let refused = ping(from, to, &with("1352"));
            let said = refused.map_or_else(|why| why.to_string(), |said| format!("it went through: {said}"));
            assert!(said.contains("mtu = 1379") || said.contains("mtu=1379"), "{said}");
            // Who may fragment is not stopped.
            ping(from, to, &[&more[..], &["-M", "dont", "-s", "1472"]].concat())?;
        }
        Ok(())
    });
}

/// What iperf3 says of a stream of datagrams both ways while `meanwhile` happens.
fn datagrams_both_ways(lab: &Lab, meanwhile: impl FnOnce() -> Result<(), Trouble>) -> Result<Value, Trouble> {
    let target = Node::Gw.inner().to_string();
    let started = |mut command: Command| {
        let child = command.stdout(Stdio::piped()).spawn().expect("iperf3 of interop/setup.sh");
        sleep(Duration::from_millis(500));
        child
    };
    let mut server = lab.command(Node::Gw, "iperf3");
    server.args(["-s", "-1", "-B", &target]);
    let mut server = started(server);
    let mut client = lab.command(Node::Ue, "iperf3");
    client.args(["-c", &target, "-J", "-t", "4", "-u", "-b", "5M", "-l", "1200", "--bidir"]);
    let client = started(client);
    let happened = meanwhile();
    let output = client.wait_with_output().expect("a child that was started ends");
    let _ = server.kill();
    let _ = server.wait();
    happened.map(|()| serde_json::from_slice(&output.stdout).unwrap_or(Value::Null))
}

#[test]
fn rekeying_of_ikev1_loses_nothing_under_load() {
    tried(|lab| {
        let ike = "aes128-sha256-modp2048";
        let esp = "aes128-sha256-modp2048";
        let terms = Terms::v1(IkeVersion::V1Main, Auth::Psk, ike, esp);
        let with_tun = |tun| Terms { keytoll: tun, ..terms };
        let of_gateway = "tun = { name = \"kt0\", address = \"10.98.2.2/32\", routes = \"10.98.1.0/24\" }";
        let of_device = "tun = { name = \"kt0\", address = \"10.98.1.1/32\", routes = \"10.98.2.0/24\" }";
        let mut gw = Peer::start(lab, Node::Gw, PROGRAM, &with_tun(of_gateway), None)?;
        let mut ue = Peer::start(lab, Node::Ue, PROGRAM, &with_tun(of_device), None)?;
        ue.say("echo").and_then(|()| ue.expect("child-up"))?;
        gw.expect("child-up")?;
        let report = datagrams_both_ways(lab, || {
            for side in [&mut ue, &mut gw] {
                side.say("rekey-child").and_then(|()| side.expect("child-rekeyed"))?;
                sleep(Duration::from_millis(800));
            }
            Ok(())
        })?;
        for sum in ["sum", "sum_bidir_reverse"] {
            let sum = &report["end"][sum];
            assert!(sum["packets"].as_u64() > Some(1500), "{report}");
            assert_eq!(sum["lost_packets"].as_u64(), Some(0), "{report}");
        }
        Ok(())
    });
}

/// A device behind a NAT that forgets it after half a minute says nothing for two; then the gateway speaks to it.
#[test]
fn an_idle_device_behind_a_nat_is_reached() {
    tried(|lab| {
        lab.insert_nat()?;
        lab.forget_idle(Duration::from_secs(30))?;
        let _gateway = gateway(lab, "10.98.3.0/24", "10.98.2.0/24", "10.98.2.2/32")?;
        let text = format!(
            "role = \"device\"\nlocal = \"{}\"\ngateway = \"{}\"\nping = \"{}\"\n{}",
            Node::Ue.outer(),
            Node::Gw.outer(),
            Node::Gw.inner(),
            common(
                "connection.identity = \"ue@lab\"\nconnection.peer = \"gw.lab\"\nconnection.virtual_address = true\n\
                 connection.remote = \"10.98.2.0/24\"\ntun = { name = \"kt0\", routes = \"10.98.2.0/24\" }"
            )
        );
        let mut device = Peer::of_file(&lab.spot(Node::Ue), PROGRAM, &text)?;
        device.say("echo").and_then(|()| device.expect("child-up"))?;
        let address = inner(&lab.place(Node::Ue))?.to_string();
        ping(&lab.place(Node::Gw), &address, &[])?;
        sleep(Duration::from_secs(120));
        ping(&lab.place(Node::Gw), &address, &[]).map(drop)
    });
}

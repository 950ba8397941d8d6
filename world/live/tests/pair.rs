//! A device and a gateway on loopback. No privileges: the ports are whatever is free.

#![allow(dead_code, reason = "each test file uses its part of these helpers")]

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::Duration;

use keytoll_crypto::Real;
use keytoll_crypto_api::Secret;
use keytoll_crypto_api::Seed;
use keytoll_crypto_api::suite::Suite;
use keytoll_engine::trace::Trace;
use keytoll_hosts::{Device, DeviceConfig, Event, Gateway, GatewayConfig, Host};
use keytoll_ike::config::{Believe, ChildConfig, Connection, Prove, Reauthenticate, Version};
use keytoll_ike::{Config, Mode};
use keytoll_live::{Driver, Interface, Sockets};

pub(crate) const LIMIT: Duration = Duration::from_secs(10);
const DEVICE: IpAddr = IpAddr::V4(Ipv4Addr::new(127, 0, 0, 2));
const GATEWAY: IpAddr = IpAddr::V4(Ipv4Addr::new(127, 0, 0, 3));

fn config(own: &str, peer: &str, ports: [u16; 2]) -> Config {
    let secret = || Secret::from(&b"loopback"[..]);
    let child = ChildConfig {
        suites: vec![Suite::esp("aes128gcm16").expect("a suite")],
        mode: Mode::Transport,
        local: vec![],
        remote: vec![],
        rekey_after: None,
    };
    let connection = Connection {
        name: "loopback".into(),
        version: Version::V2,
        local_id: own.parse().expect("an identity"),
        remote_id: Some(peer.parse().expect("an identity")),
        signatures: Vec::new(),
        local: Prove::Psk(secret()),
        remote: Believe::psk(secret()),
        suites: vec![Suite::ike("aes128gcm16-prfsha256-x25519").expect("a suite")],
        child: Some(child),
        request_address: false,
        pool: None,
        auth_lifetime: None,
        weakest: keytoll_ike::config::Weakest::default(),
        reauthenticate: Reauthenticate::OnDemand,
        rekey_after: None,
        liveness_after: None,
    };
    Config { port: ports[0], nat_port: ports[1], force_encapsulation: true, ..Config::new(vec![connection]) }
}

/// Two ports that are free at both addresses, bound there.
fn sockets() -> (Sockets, Sockets, [u16; 2]) {
    let free = |address| {
        let bound = Sockets::bind(&[SocketAddr::new(address, 0), SocketAddr::new(address, 0)]);
        bound.expect("loopback is there")
    };
    (0..20)
        .find_map(|_| {
            let device = free(DEVICE);
            let ports = [device.locals()[0].port, device.locals()[1].port];
            let gateway = Sockets::bind(&ports.map(|port| SocketAddr::new(GATEWAY, port))).ok()?;
            Some((device, gateway, ports))
        })
        .expect("some port is free at both addresses")
}

/// Drives until an event satisfies `wished`.
pub(crate) fn until(
    driver: &mut Driver<Box<dyn Host>, Real>,
    wished: impl Fn(&Event) -> bool,
    trace: &mut dyn Trace,
) -> Event {
    loop {
        let event = driver.next_event(LIMIT, trace).expect("an event in time");
        if wished(&event) {
            return event;
        }
    }
}

/// Both ends, bound and ready.
pub(crate) struct Pair {
    pub(crate) device: Driver<Box<dyn Host>, Real>,
    pub(crate) gateway: Driver<Box<dyn Host>, Real>,
}

impl Pair {
    pub(crate) fn on_loopback() -> Self {
        Self::with(None)
    }

    /// The device carries what is routed to this interface.
    pub(crate) fn with_interface(interface: Interface) -> Self {
        Self::with(Some(interface))
    }

    fn with(interface: Option<Interface>) -> Self {
        let (device_sockets, gateway_sockets, ports) = sockets();
        let device_sockets = match interface {
            Some(interface) => device_sockets.with_interface(interface),
            None => device_sockets,
        };
        let seed = Seed::system().expect("the system has randomness");
        let gateway = GatewayConfig {
            ike: config("gw.lab", "ue@lab", ports),
            address: GATEWAY,
            inner: vec![],
            aaa: None,
        };
        let gateway = Box::new(Gateway::new(gateway, &seed, "gw"));
        let device = DeviceConfig {
            ike: config("ue@lab", "gw.lab", ports),
            address: DEVICE,
            gateway: GATEWAY,
            inner: None,
            target: GATEWAY,
            eap: None,
        };
        let device = Box::new(Device::new(device, &seed, "ue"));
        Self {
            device: Driver::new(device, Real::default(), device_sockets),
            gateway: Driver::new(gateway, Real::default(), gateway_sockets),
        }
    }
}

//! From a row of the plan to a device and a gateway.

use std::time::Duration;

use keytoll_crypto_api::suite::Suite;
use keytoll_crypto_api::{Rng, Secret, Seed};
use keytoll_hosts::{AaaAccess, Device, DeviceConfig, DeviceSetup, EapCredentials, Gateway, GatewayConfig};
use keytoll_ike::config::{
    Believe, ChildConfig, Config, Connection, Fragmentation, Mode, Prove, Reauthenticate, Retransmission, V1,
    Version,
};
use keytoll_ike::wire::{Identity, TrafficSelector};
use keytoll_rig::QUIET;
use keytoll_scenario::plan::{self, RowPlan};

use super::{Credentials, Sites};
use crate::credentials::{GW_ID, UE_ID};
use crate::eap::{self, Ends};
use crate::fault;
use crate::ipsec::sa_limits;
use crate::node::{exchange, half_open};

const A_DAY: Duration = Duration::from_secs(24 * 3600);

/// The identities of the laboratory.
pub(super) fn identity(name: &str) -> Identity {
    name.parse().expect("a literal identity")
}

/// The device of a row.
pub(super) fn device(
    (row, sites): (&RowPlan, &Sites),
    credentials: &Credentials,
    ends: Option<&Ends>,
    seed: &Seed,
) -> Device {
    let proofs = credentials.of_device(row, &row_secret(&fault::seed_of_device(row, seed)));
    device_with((row, sites), proofs, (UE_ID, ends.map(|ends| ends.device.clone())), seed)
}

/// A device of a row with an identity and credentials of its own.
fn device_with(
    (row, sites): (&RowPlan, &Sites),
    proofs: (Prove, Believe),
    (name, eap): (&str, Option<EapCredentials>),
    seed: &Seed,
) -> Device {
    let connection = connection_of_device((row, sites), proofs, identity_of_device(name, eap.as_ref()));
    let config = DeviceConfig { eap, ..config_of_device((row, sites), connection) };
    Device::new(config, seed, "ue").with_limits(sa_limits(row.options.ipsec.limits))
}

// RFC 7296 §2.16: the gateway may use IKE's identity as EAP's, so they are equal.
/// The identity of a device with this name, or with these credentials.
pub(super) fn identity_of_device(name: &str, eap: Option<&EapCredentials>) -> Identity {
    eap.map_or_else(|| identity(name), |eap| identity(&String::from_utf8_lossy(&eap.identity.now())))
}

/// A device's connection to the gateway of a row.
pub(super) fn connection_of_device(
    (row, sites): (&RowPlan, &Sites),
    (prove, believe): (Prove, Believe),
    local_id: Identity,
) -> Connection {
    let mut connection = connection((row, sites), prove, believe);
    connection.local_id = local_id;
    connection.remote_id = Some(identity(GW_ID));
    connection.request_address = row.options.ike.virtual_address;
    if let (Some(inner), Some(child)) = (sites.inner_of_device(row), connection.child.as_mut()) {
        child.local = vec![TrafficSelector::host(inner)];
        child.remote = vec![TrafficSelector::host(sites.inner)];
    }
    connection
}

/// The configuration of a device without EAP.
fn config_of_device((row, sites): (&RowPlan, &Sites), connection: Connection) -> DeviceConfig {
    DeviceConfig {
        ike: endpoint((row, sites), vec![connection]),
        address: sites.ue,
        gateway: sites.gw,
        inner: sites.inner_of_device(row),
        target: sites.target(row),
        eap: None,
    }
}

/// What the devices of a row have in common, with a connection that each replaces by its own.
pub(super) fn setup_of_devices((row, sites): (&RowPlan, &Sites), connection: Connection) -> DeviceSetup {
    let limits = sa_limits(row.options.ipsec.limits);
    DeviceSetup::new(config_of_device((row, sites), connection), "ue").with_limits(limits)
}

/// The gateway of a row.
pub(super) fn gateway((row, sites): (&RowPlan, &Sites), credentials: &Credentials, seed: &Seed) -> Gateway {
    let (prove, believe) = credentials.of_gateway(row, &row_secret(seed));
    let mut connection = connection_of_gateway((row, sites), prove, believe);
    connection.remote_id = row.method.eap().is_none().then(|| identity(UE_ID));
    connection.auth_lifetime = Some(match row.options.makers.ue.is_foreign() {
        // strongSwan reauthenticates at once if the remaining time is less than its own margin.
        true => A_DAY,
        false => lifetime(&row.options),
    });
    let aaa =
        row.method.eap().map(|_| eap::access((row, &sites.back_end), &fault::seed_of_gateway(row, seed)));
    gateway_with((row, sites), vec![connection], aaa, (seed, "gw"))
}

/// The gateway's connection to any device of a row, without end.
pub(super) fn connection_of_gateway(
    (row, sites): (&RowPlan, &Sites),
    prove: Prove,
    believe: Believe,
) -> Connection {
    let mut connection = connection((row, sites), prove, believe);
    connection.local_id = identity(GW_ID);
    connection.pool = row.options.ike.virtual_address.then_some(sites.pool);
    // RFC 7296 §2.9: networks behind the gateway are in the selectors only if the device has an inner address, too.
    if let (true, Some(child)) = (row.options.ike.virtual_address, connection.child.as_mut()) {
        child.local = vec![TrafficSelector::host(sites.inner)];
        child.remote.clear();
    }
    if let (Some(device), Some(child)) = (sites.inner_of_device(row), connection.child.as_mut()) {
        child.local = vec![TrafficSelector::host(sites.inner)];
        child.remote = vec![TrafficSelector::host(device)];
    }
    connection
}

/// A gateway with these connections, whose random streams are named `{name}/…`.
pub(super) fn gateway_with(
    (row, sites): (&RowPlan, &Sites),
    connections: Vec<Connection>,
    aaa: Option<AaaAccess>,
    (seed, name): (&Seed, &str),
) -> Gateway {
    let ike = endpoint((row, sites), connections);
    let config = GatewayConfig { ike, address: sites.gw, inner: vec![sites.inner], aaa };
    Gateway::new(config, seed, name).with_limits(sa_limits(row.options.ipsec.limits))
}

// RFC 4478 §3: whole seconds. With user traffic the lifetime starts at its end.
fn lifetime(options: &plan::Options) -> Duration {
    let traffic = options.traffic;
    let sending = traffic.kind.map_or(Duration::ZERO, |_| traffic.duration + QUIET);
    options.ike.reauth_lifetime
        + Duration::from_secs(sending.as_secs() + u64::from(sending.subsec_nanos() > 0))
}

/// The shared key of a row, from the seed.
pub fn row_secret(seed: &Seed) -> Secret {
    let mut rng: Rng = seed.stream("psk");
    Secret::from(&rng.bytes::<32>()[..])
}

fn connection((row, sites): (&RowPlan, &Sites), prove: Prove, believe: Believe) -> Connection {
    let options = &row.options;
    Connection {
        name: row.method.name().to_owned(),
        version: version(row),
        local_id: identity(UE_ID),
        remote_id: None,
        local: prove,
        signatures: options.ike.signatures.clone().unwrap_or_default(),
        remote: believe,
        suites: row.suites.clone(),
        child: (!options.ike.childless).then(|| child(row, sites)),
        request_address: false,
        pool: None,
        auth_lifetime: None,
        weakest: keytoll_ike::config::Weakest::default(),
        reauthenticate: Reauthenticate::OnDemand,
        rekey_after: options.ike.rekey_after,
        liveness_after: None,
    }
}

fn child(row: &RowPlan, sites: &Sites) -> ChildConfig {
    ChildConfig {
        suites: esp_suites(row),
        mode: match row.options.ipsec.mode {
            plan::Mode::Tunnel => Mode::Tunnel,
            plan::Mode::Transport => Mode::Transport,
        },
        local: Vec::new(),
        remote: if row.options.ike.virtual_address { any_remote(sites) } else { Vec::new() },
        rekey_after: row.options.ipsec.rekey_after,
    }
}

/// The IKE version and the lifetimes of its SAs: the gateway's apply if both are ours.
fn version(row: &RowPlan) -> Version {
    let Some(phase1) = row.method.phase1() else { return Version::V2 };
    let lifetime =
        if row.options.makers.foreign().is_some() { A_DAY } else { row.options.ike.reauth_lifetime };
    let child_bytes_max = row.options.ipsec.limits.life_bytes;
    Version::V1(V1 { lifetime, child_bytes_max, ..V1::new(exchange(phase1)) })
}

/// RFC 2409 §5.5: quick mode with a group performs a key exchange of its own, with one group only.
pub fn esp_suites(row: &RowPlan) -> Vec<Suite> {
    let group = row.suites.first().and_then(|suite| suite.group).filter(|_| row.options.ike.pfs);
    row.esp_suites.iter().map(|suite| Suite { group: suite.group.or(group), ..*suite }).collect()
}

/// With an assigned address the device proposes everything and lets the gateway narrow it.
fn any_remote(sites: &Sites) -> Vec<TrafficSelector> {
    vec![if sites.inner.is_ipv6() { TrafficSelector::ANY_IPV6 } else { TrafficSelector::ANY_IPV4 }]
}

fn endpoint((row, sites): (&RowPlan, &Sites), connections: Vec<Connection>) -> Config {
    let options = &row.options;
    let mut config = Config::new(connections);
    config.retransmission = Retransmission {
        first: options.ike.retransmission.first,
        base: options.ike.retransmission.base,
        tries: u32::from(options.ike.retransmission.tries),
    };
    config.half_open = half_open(options.ike.cookies, options.ike.half_open_max);
    (config.port, config.nat_port) = (sites.port, sites.nat_port);
    config.force_encapsulation = sites.encapsulated;
    config.fragmentation =
        options.ike.fragment_bytes.map(|bytes| Fragmentation { packet_bytes_max: usize::from(bytes) });
    config
}

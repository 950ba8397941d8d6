//! IKE of gateways and devices: connections with their credentials, and the endpoint around them.

use std::time::Duration;

use keytoll_crypto_api::algorithm::SignatureScheme;
use keytoll_ike::config::{
    Believe, ChildConfig, Config, Connection, Fragmentation, HalfOpen, Mode, Phase1, Pool, Prove,
    Reauthenticate, Retransmission, V1, Version, Weakest,
};
use keytoll_ike::wire::{Identity, TrafficSelector};
use keytoll_pki::Purpose;
use keytoll_scenario::ScenarioError;
use keytoll_scenario::catalogue;
use keytoll_scenario::families;
use keytoll_scenario::families::ike::CookiePolicy;
use keytoll_scenario::node::{
    BelievePlan, ConnectionPlan, Encapsulation, EndpointPlan, IpNetwork, PoolPlan, ProvePlan, VersionPlan,
};
use keytoll_scenario::plan;

use super::files;
use super::trusts::Drawn;

/// A connection; `claimed` is who we are if the plan does not say.
pub(super) fn connection(
    plan: &ConnectionPlan,
    claimed: Option<Identity>,
    trusts: &Drawn,
) -> Result<Connection, ScenarioError> {
    let local_id = plan.identity.as_ref().map(files::identity).transpose()?.or(claimed);
    let local = prove(&plan.prove)?;
    Ok(Connection {
        name: plan.name.clone(),
        version: version(plan.version),
        local_id: local_id.expect("the reader refuses a connection without identity"),
        remote_id: plan.peer.as_ref().map(files::identity).transpose()?,
        signatures: signatures(plan, &local)?,
        local,
        remote: believe(&plan.believe, trusts)?,
        weakest: Weakest { hash: plan.peer_hash, rsa_bits: plan.peer_rsa_bits.into() },
        suites: plan.suites.clone(),
        child: (!plan.childless).then(|| child(plan)),
        request_address: plan.virtual_address,
        pool: plan.pool.map(|PoolPlan { first, size }| Pool { first, size }),
        auth_lifetime: plan.auth_lifetime,
        reauthenticate: match plan.version {
            VersionPlan::V2 => Reauthenticate::OnDemand,
            VersionPlan::V1 { lifetime, .. } => Reauthenticate::Ahead(lifetime / 10),
        },
        rekey_after: plan.rekey_ike,
        liveness_after: plan.liveness,
    })
}

const fn version(plan: VersionPlan) -> Version {
    match plan {
        VersionPlan::V2 => Version::V2,
        VersionPlan::V1 { phase1, lifetime, child_lifetime } => {
            let phase1 = exchange(phase1);
            Version::V1(V1 { phase1, lifetime, child_lifetime, child_bytes_max: None })
        }
    }
}

/// The exchange that the catalogue means.
pub(crate) const fn exchange(phase1: families::ike::Phase1) -> Phase1 {
    match phase1 {
        families::ike::Phase1::Main => Phase1::Main,
        families::ike::Phase1::Aggressive => Phase1::Aggressive,
    }
}

fn prove(plan: &ProvePlan) -> Result<Prove, ScenarioError> {
    Ok(match plan {
        ProvePlan::Psk(secret) => Prove::Psk(secret.clone()),
        ProvePlan::Certificate(plan) => Prove::Certificate(files::credential(plan)?),
        ProvePlan::RawKey(key) => Prove::RawKey(files::key(key)?),
        ProvePlan::Eap => Prove::Eap,
    })
}

/// Those that are named, if our key can make them.
fn signatures(plan: &ConnectionPlan, prove: &Prove) -> Result<Vec<SignatureScheme>, ScenarioError> {
    let Some(named) = &plan.signatures else { return Ok(Vec::new()) };
    let fits = prove.key().map_or(Ok(()), |key| catalogue::signatures::fit(&named.value, key.kind));
    fits.map_err(|unfit| named.error(unfit.message, "with the key of `auth`").hint(unfit.hint))?;
    Ok(named.value.clone())
}

fn believe(plan: &BelievePlan, trusts: &Drawn) -> Result<Believe, ScenarioError> {
    Ok(match plan {
        BelievePlan::Psk { any, by_identity } => {
            let own = by_identity.iter().map(|(name, secret)| Ok((files::identity(name)?, secret.clone())));
            Believe::Psk { any: any.clone(), by_identity: own.collect::<Result<_, _>>()? }
        }
        BelievePlan::Roots(roots) => Believe::Certificate(trusts.trust(roots, Purpose::Ike)?),
        BelievePlan::RawKey(key) => Believe::RawKey(files::public_key(key)?),
        BelievePlan::Eap => Believe::Eap,
    })
}

fn child(plan: &ConnectionPlan) -> ChildConfig {
    let selectors = |networks: &[IpNetwork]| networks.iter().map(selector).collect::<Vec<_>>();
    // RFC 7296 §2.19: with an assigned address the device asks for everything and lets the gateway narrow it.
    let anything = plan.virtual_address && plan.remote.is_empty();
    ChildConfig {
        suites: plan.esp_suites.clone(),
        mode: match plan.mode {
            plan::Mode::Tunnel => Mode::Tunnel,
            plan::Mode::Transport => Mode::Transport,
        },
        local: selectors(&plan.local),
        remote: if anything {
            vec![TrafficSelector::ANY_IPV4, TrafficSelector::ANY_IPV6]
        } else {
            selectors(&plan.remote)
        },
        rekey_after: plan.rekey_child,
    }
}

const fn selector(network: &IpNetwork) -> TrafficSelector {
    TrafficSelector::prefix(network.address, network.length)
}

/// The endpoint around connections, as yet without ports.
pub(super) fn endpoint(plan: &EndpointPlan, mut connections: Vec<Connection>) -> Config {
    // IKEv1 negotiates the limits of its IPsec SAs with the peer.
    for connection in &mut connections {
        if let Version::V1(wishes) = &mut connection.version {
            wishes.child_bytes_max = plan.sa_limits.life_bytes;
        }
    }
    let mut config = Config::new(connections);
    config.retransmission = Retransmission {
        first: plan.retransmission.first,
        base: plan.retransmission.base,
        tries: u32::from(plan.retransmission.tries),
    };
    config.half_open = half_open(plan.cookies, plan.half_open_max);
    config.children_max = plan.children_max as usize;
    config.ike_sas_max = plan.ike_sas_max as usize;
    config.fragmentation =
        plan.fragment_bytes.map(|bytes| Fragmentation { packet_bytes_max: usize::from(bytes) });
    config.keepalive_after = plan.nat_keepalive;
    config.force_encapsulation = plan.encapsulation == Encapsulation::Always;
    config
}

/// No address has more than an eighth of the places, or any of them for more than 30 seconds.
pub(crate) fn half_open(cookies: CookiePolicy, half_open_max: u32) -> HalfOpen {
    let max = half_open_max as usize;
    HalfOpen {
        cookies_from: cookies.half_open_from(half_open_max).map_or(usize::MAX, |from| from as usize),
        max,
        per_address_max: (max / 8).max(8).min(max),
        lifetime: Duration::from_secs(30),
        lingering_max: max,
    }
}

#[cfg(test)]
mod tests {
    use keytoll_crypto::keys;
    use keytoll_crypto_api::Seed;
    use keytoll_crypto_api::algorithm::{Hash, KeyKind};

    use super::*;

    fn limits(version: &str, max: usize) -> HalfOpen {
        let connection = format!("{version}identity = \"gw\"\nauth = {{ psk = \"k\" }}\n");
        let text = format!("role = \"gateway\"\nhalf_open_max = {max}\n[connection]\n{connection}");
        let file = keytoll_scenario::Source::text("node.toml", &text).node().unwrap();
        let keytoll_scenario::node::NodePlan::Gateway(plan) = file.plan else { panic!("{file:?}") };
        let connections = plan.connections.iter().map(connection_of).collect();
        endpoint(&plan.endpoint, connections).half_open
    }

    fn connection_of(plan: &ConnectionPlan) -> Connection {
        connection(plan, None, &Drawn::default()).unwrap()
    }

    #[test]
    fn no_address_takes_every_place() {
        for (max, per_address_max) in [(1000, 125), (40, 8), (4, 4)] {
            for version in ["version = 1\n", "version = 2\n"] {
                let limits = limits(version, max);
                assert_eq!(
                    (limits.per_address_max, limits.lifetime),
                    (per_address_max, Duration::from_secs(30))
                );
            }
        }
    }

    /// A device with a P-256 key in a file, and these signatures.
    fn signing(schemes: &str) -> Result<Connection, ScenarioError> {
        let dir = std::env::temp_dir().join(format!("keytoll-signatures-{}", std::process::id()));
        std::fs::create_dir_all(&dir).unwrap();
        let key = keys::generate(KeyKind::EcdsaP256, &mut Seed::from(1).stream("key"));
        let file = dir.join("key.der");
        std::fs::write(&file, keys::to_pkcs8(&key).unwrap()).unwrap();
        std::fs::write(dir.join("peer.der"), &key.spki).unwrap();
        let text = format!(
            "role = \"device\"\ngateway = \"127.0.0.1\"\n[connection]\nidentity = \"ue\"\npeer = \"gw\"\n\
             auth = {{ key = {file:?} }}\npeer_auth = {{ public_key = {:?} }}\nsignatures = {schemes}\n",
            dir.join("peer.der")
        );
        let file = keytoll_scenario::Source::text("node.toml", &text).node().unwrap();
        let keytoll_scenario::node::NodePlan::Device(plan) = file.plan else { panic!("{file:?}") };
        let made = connection(&plan.connection, None, &Drawn::default());
        std::fs::remove_dir_all(dir).unwrap();
        made
    }

    #[test]
    fn a_signature_that_the_key_cannot_make_is_refused() {
        let scheme = SignatureScheme::EcdsaDer(Hash::Sha384);
        assert_eq!(signing("\"ecdsa-sha384\"").unwrap().signatures, [scheme]);
        let refused = signing("[\"ecdsa-sha256\", \"rsa-pss-sha256\"]").unwrap_err();
        assert_eq!(refused.to_string(), "a key of kind `ecdsa-p256` makes no signature `rsa-pss-sha256`");
        let advice = refused.advice().unwrap();
        assert!(advice.contains("`ecdsa-raw-sha256`") && !advice.contains("`ecdsa-raw-sha384`"), "{advice}");
    }
}

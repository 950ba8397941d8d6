//! CPU time of a daemon for each authentication, measured from outside.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{CostTableError, is_time};

/// CPU time of a daemon, cryptography included.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DaemonCosts {
    /// The program: `strongswan`, `freeradius`.
    pub name: String,
    /// The version of its package.
    pub version: String,
    /// The relevant configuration, in words.
    pub configuration: String,
    /// How many cores of the machine it can use at the same time.
    pub cores_count: u32,
    /// One for each method and role; at least one.
    pub authentications: Vec<AuthenticationPrice>,
}

/// The cost of an authentication by one method in one role.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AuthenticationPrice {
    /// The method, as `keytoll list methods` has it.
    pub method: String,
    /// The node: `gw` or `aaa`.
    pub role: String,
    /// The protocol of the responses that pay the price, as in traces: `ike` of a gateway, `radius` of an AAA server.
    pub protocol: String,
    /// Messages of this protocol that the node sends for each authentication, without retransmissions, and those that close its session
    /// included. Each of them pays its part of the price.
    pub responses_count: f64,
    /// By how busy the daemon was, the idlest first; at least one. Between two loads the costs are interpolated.
    pub loads: Vec<AuthenticationLoad>,
}

/// The cost of an authentication at a load.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AuthenticationLoad {
    /// The share of the time of the cores that it can use in which it computed.
    pub utilisation: f64,
    /// Authentications a second.
    pub rate_per_s: f64,
    /// CPU time of one, all threads of the daemon and the kernel's work for them included, in microseconds: the mean of the rounds.
    pub cpu_us: f64,
    /// Its 95 % confidence interval, in microseconds; absent with a single round.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_us_ci95: Option<[f64; 2]>,
    /// The share of it in the kernel.
    pub kernel_share: f64,
    /// The 50th percentile of the delay that the devices saw, in milliseconds.
    pub delay_ms_p50: f64,
    /// The 99th percentile of it, in milliseconds.
    pub delay_ms_p99: f64,
    /// The authentications behind it.
    pub n: u64,
    /// How many loads of this rate there were.
    pub rounds_count: u32,
}

impl DaemonCosts {
    /// The cost of an authentication by a method in a role.
    pub fn price(&self, method: &str, role: &str) -> Option<&AuthenticationPrice> {
        self.authentications.iter().find(|price| price.method == method && price.role == role)
    }

    /// The methods that it has prices of in a role.
    pub fn methods<'a>(&'a self, role: &'a str) -> impl Iterator<Item = &'a str> {
        self.authentications.iter().filter(move |price| price.role == role).map(|price| &*price.method)
    }

    pub(super) fn sound(&self) -> Result<(), CostTableError> {
        let is_twice = |(place, price): (usize, &AuthenticationPrice)| {
            self.authentications[..place].iter().any(|other| other.is_of(price))
        };
        if self.authentications.is_empty() || self.cores_count == 0 {
            return Err(CostTableError::Daemon);
        }
        if let Some((_, price)) = self.authentications.iter().enumerate().find(|it| is_twice(*it)) {
            let (operation, algorithm) = (price.role.clone(), price.method.clone());
            return Err(CostTableError::Twice { operation, algorithm });
        }
        let is_possible = self.authentications.iter().all(AuthenticationPrice::is_possible);
        is_possible.then_some(()).ok_or(CostTableError::Daemon)
    }
}

impl AuthenticationPrice {
    fn is_of(&self, other: &Self) -> bool {
        (&self.method, &self.role) == (&other.method, &other.role)
    }

    fn is_possible(&self) -> bool {
        let is_ordered = self.loads.is_sorted_by(|a, b| a.utilisation < b.utilisation);
        let is_countable = (1.0..=1e6).contains(&self.responses_count);
        is_ordered
            && is_countable
            && !self.loads.is_empty()
            && self.loads.iter().all(AuthenticationLoad::is_possible)
    }
}

impl AuthenticationLoad {
    fn is_possible(&self) -> bool {
        let shares = [self.utilisation, self.kernel_share];
        is_time(self.cpu_us * 1000.0) && shares.into_iter().all(|share| (0.0..=1.0).contains(&share))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load(utilisation: f64) -> AuthenticationLoad {
        AuthenticationLoad {
            utilisation,
            rate_per_s: 1000.0 * utilisation,
            cpu_us: 500.0,
            cpu_us_ci95: Some([480.0, 520.0]),
            kernel_share: 0.3,
            delay_ms_p50: 2.0,
            delay_ms_p99: 4.0,
            n: 1000,
            rounds_count: 3,
        }
    }

    fn daemon() -> DaemonCosts {
        let price = |method: &str| AuthenticationPrice {
            method: method.to_owned(),
            role: "gw".to_owned(),
            protocol: "ike".to_owned(),
            responses_count: 3.0,
            loads: vec![load(0.1), load(0.5)],
        };
        DaemonCosts {
            name: "strongswan".to_owned(),
            version: "5.9.8".to_owned(),
            configuration: "log off".to_owned(),
            cores_count: 2,
            authentications: ["ikev2-psk", "ikev2-rsa2048"].map(price).to_vec(),
        }
    }

    #[test]
    fn a_price_is_found_by_method_and_role() {
        let daemon = daemon();
        assert!(daemon.sound().is_ok());
        assert_eq!(daemon.price("ikev2-psk", "gw").map(|price| price.responses_count), Some(3.0));
        assert!(daemon.price("ikev2-psk", "aaa").is_none());
        assert_eq!(daemon.methods("gw").collect::<Vec<_>>(), ["ikev2-psk", "ikev2-rsa2048"]);
    }

    #[test]
    fn what_cannot_be_is_refused() {
        let changes: [fn(&mut DaemonCosts); 8] = [
            |daemon| daemon.cores_count = 0,
            |daemon| daemon.authentications.clear(),
            |daemon| daemon.authentications[0].loads.clear(),
            |daemon| daemon.authentications[0].loads.reverse(),
            |daemon| daemon.authentications[0].responses_count = 0.0,
            |daemon| daemon.authentications[1].loads[0].utilisation = 1.5,
            |daemon| daemon.authentications[1].loads[1].cpu_us = -1.0,
            |daemon| daemon.authentications[1].loads[1].kernel_share = f64::NAN,
        ];
        for (place, change) in changes.into_iter().enumerate() {
            let mut daemon = daemon();
            change(&mut daemon);
            assert!(matches!(daemon.sound(), Err(CostTableError::Daemon)), "{place}");
        }
        let mut daemon = daemon();
        daemon.authentications[1].method = "ikev2-psk".to_owned();
        assert_eq!(daemon.sound().unwrap_err().to_string(), "has two costs of gw ikev2-psk");
    }
}

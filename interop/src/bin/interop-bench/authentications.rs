//! EAP-TLS authentications against AAA servers, one after another's turn: the same stations, the same certificates, TLS
//! 1.2, nothing resumed. What a server costs is the CPU time of its process, divided by the authentications.

use std::thread::sleep;
use std::time::{Duration, Instant};

use keytoll_daemons::{Process, Usage};
use keytoll_interop::eap::{Login, Method, Version};
use keytoll_interop::lab::GW_TOWARDS_AAA;
use keytoll_interop::{FreeRadius, Hostapd, KeyKind, Lab, Node, Pki};

use crate::contestants::asking;
use crate::handshakes::{Plan, outcome, turns};
use crate::load::Outcome;
use crate::product;
use crate::table::{Comparison, Measured, Row};
use crate::trouble::Result;

/// hostapd keeps a session for ten seconds after its end, and a thousand at most.
const HOSTAPD_PAUSE: Duration = Duration::from_secs(11);
/// See [`HOSTAPD_PAUSE`].
const HOSTAPD_TURN_MAX: u64 = 1000;

/// Certificates in either side's chain, root and leaf included.
pub(crate) const CHAINS: [usize; 2] = [2, 4];

/// What is measured with chains of this length.
pub(crate) fn name(chain: usize) -> String {
    format!("EAP-TLS 1.2, RSA-2048, chains of {chain} and {chain}")
}

/// What each AAA server costs.
pub(crate) fn servers(chain: usize, plan: &Plan) -> Result<Comparison> {
    if plan.count > HOSTAPD_TURN_MAX {
        return Err(format!("hostapd takes no more than {HOSTAPD_TURN_MAX} a turn").into());
    }
    let mut stands: Vec<_> = Stand::all(chain)?;
    for stand in &mut stands {
        stand.turn(plan.warm_up(), plan)?;
    }
    for round in 0..plan.rounds {
        for turn in turns(stands.len(), round) {
            let stand = &mut stands[turn];
            let (spent, outcome) = stand.turn(plan.count, plan)?;
            stand.measured.add(spent, &outcome);
        }
    }
    let rows = stands.into_iter().map(Stand::row).collect();
    Ok(Comparison { what: name(chain), side: "AAA server", aim: 1.0 / 3.0, rows })
}

/// A server that is measured.
enum Server {
    Keytoll(Process),
    FreeRadius(FreeRadius),
    Hostapd(Hostapd),
}

impl Server {
    fn usage(&self) -> Usage {
        let usage = match self {
            Self::Keytoll(process) => process.usage(),
            Self::FreeRadius(server) => server.usage(),
            Self::Hostapd(server) => server.usage(),
        };
        usage.unwrap_or_default()
    }

    const fn name(&self) -> &'static str {
        match self {
            Self::Keytoll(_) => "keytoll",
            Self::FreeRadius(_) => "FreeRADIUS",
            Self::Hostapd(_) => "hostapd",
        }
    }

    /// How long it must have rested.
    const fn pause(&self) -> Duration {
        match self {
            Self::Hostapd(_) => HOSTAPD_PAUSE,
            _ => Duration::ZERO,
        }
    }
}

/// A server, where it is, and what it has cost so far.
struct Stand {
    server: Server,
    lab: Lab,
    measured: Measured,
    rests_since: Option<Instant>,
}

impl Stand {
    fn all(chain: usize) -> Result<Vec<Self>> {
        let mut stands = Vec::new();
        for start in [keytoll, freeradius, hostapd] {
            let lab = Lab::new()?;
            let pki = Pki::make_chains(lab.shared_dir(), KeyKind::Rsa2048, chain)?;
            let server = start(&lab, &pki)?;
            stands.push(Self { server, lab, measured: Measured::default(), rests_since: None });
        }
        Ok(stands)
    }

    /// A turn of so many: what the server used, and what came of it.
    fn turn(&mut self, count: u64, plan: &Plan) -> Result<(u64, Outcome)> {
        if let Some(since) = self.rests_since {
            sleep(self.server.pause().saturating_sub(since.elapsed()));
        }
        let before = self.server.usage().cpu_ns;
        let mut command = asking(&self.lab, Node::Gw, "stations")?;
        command.args(["--local", &GW_TOWARDS_AAA.to_string(), "--remote", &Node::Aaa.outer().to_string()]);
        command.arg("--pki").arg(self.lab.shared_dir().join("pki"));
        command.args(["--count", &count.to_string(), "--window", &plan.window.to_string()]);
        let outcome = outcome(&mut command)?;
        self.rests_since = Some(Instant::now());
        Ok((self.server.usage().cpu_ns - before, outcome))
    }

    fn row(self) -> Row {
        Row::new(self.server.name(), &self.measured, self.server.usage().resident_max_bytes)
    }
}

fn login() -> Login {
    Login::new(Method::over(Version::Tls12, "tls"))
}

fn keytoll(lab: &Lab, _: &Pki) -> Result<Server> {
    product::aaa(lab, &lab.shared_dir().join("pki")).map(Server::Keytoll)
}

fn freeradius(lab: &Lab, pki: &Pki) -> Result<Server> {
    Ok(Server::FreeRadius(FreeRadius::start_quietly(lab, &login(), pki)?))
}

fn hostapd(lab: &Lab, pki: &Pki) -> Result<Server> {
    Ok(Server::Hostapd(Hostapd::start_quietly(lab, &login(), pki)?))
}

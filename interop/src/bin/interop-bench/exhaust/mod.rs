//! Attacks that use up what a victim has little of, from one address or from hosts that it does not know: places of half-open
//! SAs, children, RADIUS identifiers, connections of an HSS. Genuine ones want in meanwhile from elsewhere. Read RFC 8019 §3
//! to §5, RFC 2865 §5 (Identifier) and RFC 6733 §13.
//!
//! ```text
//!   who attacks, 10.99.1.64 or 10.99.2.64… ---\
//!                                               the victim ---- the AAA server, where there is one
//!   who is genuine, 10.99.1.1 or 10.99.2.2 ----/
//! ```

mod attacker;
mod callers;
mod inquirers;
mod knockers;
mod scene;
mod tally;

use keytoll_interop::Lab;
use serde::Serialize;

pub(crate) use attacker::{Attacker, run as attack};
pub(crate) use inquirers::{Inquirers, run as inquire};
use scene::Scene;
use tally::Taken;

use crate::siege::{self, Siege};
use crate::trouble::Result;

/// What is used up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Case {
    /// A gateway's half-open SAs, by IKE_SA_INITs with good cookies that nothing follows.
    Cookies,
    /// The same, by IKE_AUTHs that are refused and linger.
    Refused,
    /// A gateway's children, by a peer that it has authenticated.
    Children,
    /// A gateway's RADIUS identifiers, by EAP that the AAA server answers late, and EAP that answers nothing.
    Identifiers,
    /// An HSS's connections, by hosts that it does not admit.
    Connections,
}

/// What is told.
#[derive(Debug, Clone, Copy, clap::Args)]
pub(crate) struct Arguments {
    /// What is used up.
    #[arg(value_enum)]
    case: Case,
    /// For how long.
    #[arg(long, default_value_t = 30)]
    seconds: u64,
}

/// What came of it.
#[derive(Debug, Serialize)]
pub(crate) struct Report {
    case: Case,
    /// What the attackers may have at a time.
    limit: u64,
    attack: Taken,
    #[serde(flatten)]
    siege: Siege,
}

impl Serialize for Case {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.name())
    }
}

impl Case {
    /// As the command line has it.
    fn name(self) -> String {
        format!("{self:?}").to_lowercase()
    }
}

/// Attacks, and says how everybody fared.
pub(crate) fn run(arguments: &Arguments) -> Result<Report> {
    let lab = Lab::new()?;
    let scene = Scene::set(&lab, arguments)?;
    let (attack, siege) = siege::lay(&scene)?;
    Ok(Report { case: arguments.case, limit: scene.limit(), attack, siege })
}

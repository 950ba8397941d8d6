//! The process that attacks.

use std::net::{IpAddr, Ipv4Addr};
use std::path::PathBuf;
use std::time::Duration;

use super::tally::{Taken, Tally};
use super::{Case, callers, knockers};
use crate::trouble::Result;

/// What is told.
#[derive(Debug, clap::Args)]
pub(crate) struct Attacker {
    /// What is used up.
    #[arg(long, value_enum)]
    pub(super) case: Case,
    /// The victim's address.
    #[arg(long)]
    pub(super) to: IpAddr,
    /// The addresses to attack from.
    #[arg(long, value_delimiter = ',')]
    pub(super) from: Vec<Ipv4Addr>,
    /// The directory of certificates.
    #[arg(long)]
    pub(super) pki: PathBuf,
    /// How often a second.
    #[arg(long)]
    pub(super) rate: u64,
    /// For how long.
    #[arg(long)]
    pub(super) seconds: u64,
}

/// Somebody who asks for what is scarce.
pub(super) trait Greedy {
    /// Asks for one more.
    fn ask(&mut self, tally: &mut Tally) -> Result<()>;

    /// Looks what has come, for a millisecond or so.
    fn listen(&mut self, tally: &mut Tally) -> Result<()>;
}

/// Attacks.
pub(crate) fn run(attacker: &Attacker) -> Result<Taken> {
    match attacker.case {
        Case::Connections => besiege(attacker, &mut callers::Callers::new(attacker)?),
        _ => besiege(attacker, &mut knockers::Knocker::new(attacker)?),
    }
}

fn besiege(attacker: &Attacker, greedy: &mut impl Greedy) -> Result<Taken> {
    let mut tally = Tally::new(attacker.case.kept());
    while tally.elapsed() < Duration::from_secs(attacker.seconds) {
        if tally.is_due(attacker.rate) {
            greedy.ask(&mut tally)?;
            tally.tried += 1;
        }
        greedy.listen(&mut tally)?;
        tally.look();
    }
    Ok(tally.end())
}

impl Case {
    /// How long the victim keeps what it gives to somebody who says nothing more.
    const fn kept(self) -> Duration {
        match self {
            Self::Cookies | Self::Refused => Duration::from_secs(30),
            // An identifier is free when the AAA server, which gives the HSS up after six seconds, has answered, whether the
            // attacker hears of that or its own socket was full.
            Self::Identifiers => Duration::from_secs(7),
            Self::Children | Self::Connections => Duration::MAX,
        }
    }
}

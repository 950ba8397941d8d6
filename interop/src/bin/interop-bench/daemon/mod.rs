//! Start, connection, termination and stop of two IKE daemons of one program, and the share of cryptography in each step.
//!
//! C. Shue et al., "Analysis of IPSec Overheads for VPN Servers" (§3.2, §4.1), measure Openswan in 25 such trials: a wrapper asks the
//! initiator's daemon to connect, and the wall time of the wrapper is compared with the cryptography of both ends. libreswan, Openswan's
//! successor, has the same wrapper (`whack`); keytoll takes the same orders on its standard input.

mod keytoll;
mod libreswan;
mod trial;

use std::fmt;

use keytoll_analysis::stats::median95;
use keytoll_daemons::charon::IkeVersion;
use keytoll_interop::{Auth, KeyKind, Lab, Node, Pki, Terms};
use serde::Serialize;

use self::keytoll::Keytoll;
use self::libreswan::Libreswan;
use self::trial::{Measured, STEPS, Step, Trial};
use crate::handshakes::turns;
use crate::trouble::Result;

/// The suite of the shipped scenario `ipsec-overheads` in strongSwan's words, with perfect forward secrecy.
const IKE: &str = "aes128-md5-modp1536";
const ESP: &str = "aes128-md5-modp1536";

/// How much is measured.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Trials of each program with each authentication.
    #[arg(long, default_value_t = 25)]
    trials: u32,
    /// All trials as JSON instead of a table.
    #[arg(long)]
    json: bool,
}

/// A program and an authentication of IKEv1's main mode.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
struct Case {
    program: Program,
    proof: Proof,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
enum Program {
    Keytoll,
    Libreswan,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
enum Proof {
    /// Signatures of RSA-2048 keys, with certificates of one authority.
    Rsa2048,
    Psk,
}

/// All trials of one case.
#[derive(Debug, Serialize)]
struct Series {
    case: Case,
    trials: Vec<Trial>,
}

impl Case {
    const ALL: [Self; 4] = [
        Self { program: Program::Keytoll, proof: Proof::Rsa2048 },
        Self { program: Program::Libreswan, proof: Proof::Rsa2048 },
        Self { program: Program::Keytoll, proof: Proof::Psk },
        Self { program: Program::Libreswan, proof: Proof::Psk },
    ];

    const fn terms(self) -> Terms {
        let auth = match self.proof {
            Proof::Rsa2048 => Auth::Certificate,
            Proof::Psk => Auth::Psk,
        };
        Terms::v1(IkeVersion::V1Main, auth, IKE, ESP)
    }
}

/// The namespaces and the configuration of one case.
struct Stage {
    case: Case,
    lab: Lab,
    pki: Option<Pki>,
}

impl Stage {
    fn new(case: Case) -> Result<Self> {
        let lab = Lab::new()?;
        let pki = match case.proof {
            Proof::Rsa2048 => Some(Pki::make(lab.shared_dir(), KeyKind::Rsa2048)?),
            Proof::Psk => None,
        };
        let stage = Self { case, lab, pki };
        if case.program == Program::Libreswan {
            libreswan::configure(&stage.lab, &case.terms(), stage.pki.as_ref())?;
        }
        Ok(stage)
    }

    fn trial(&self) -> Result<Trial> {
        let (lab, terms, pki) = (&self.lab, self.case.terms(), self.pki.as_ref());
        match self.case.program {
            Program::Keytoll => trial::run(|| Keytoll::start(lab, &terms, pki)),
            Program::Libreswan => trial::run(|| Libreswan::start(lab)),
        }
    }
}

/// Runs the trials of all cases in turns, and prints them.
pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let stages = Case::ALL.into_iter().map(Stage::new).collect::<Result<Vec<_>>>()?;
    let mut series: Vec<Series> = Case::ALL.map(|case| Series { case, trials: Vec::new() }).into();
    let mut empty = Vec::new();
    for round in 0..arguments.trials {
        for turn in turns(stages.len(), round.into()) {
            series[turn].trials.push(stages[turn].trial()?);
        }
        empty.push(trial::of_nothing(&stages[0].lab.place(Node::Gw))?);
    }
    if arguments.json {
        println!("{}", serde_json::to_string_pretty(&series)?);
    } else {
        print!("{HEAD}");
        series.iter().for_each(Series::print);
        let [wall, cpu] = [|it: &Measured| it.wall_ns, |it: &Measured| it.cpu_ns];
        println!(
            "\nsetpriv, ip netns exec and true, of which each start has the first two: {} ms wall time, {} ms CPU time",
            ms(empty.iter().map(wall)),
            ms(empty.iter().map(cpu)),
        );
    }
    Ok(())
}

const HEAD: &str = "\
| program | authentication | step | wall ms | CPU ms | cryptography ms | of CPU, % | of wall, % |
|---|---|---|---|---|---|---|---|
";

impl Series {
    fn print(&self) {
        for step in STEPS {
            self.print_row(&step.to_string(), |trial| trial.of(step));
        }
        self.print_row("all", Trial::total);
    }

    fn print_row(&self, step: &str, of: impl Fn(&Trial) -> Measured) {
        let all: Vec<Measured> = self.trials.iter().map(of).collect();
        let share = |whole: fn(&Measured) -> u64| {
            shown(all.iter().map(|it| it.crypto_ns as f64 / whole(it) as f64 * 100.0), 0)
        };
        let Case { program, proof } = self.case;
        println!(
            "| {program} | {proof} | {step} | {} | {} | {} | {} | {} |",
            ms(all.iter().map(|it| it.wall_ns)),
            ms(all.iter().map(|it| it.cpu_ns)),
            ms(all.iter().map(|it| it.crypto_ns)),
            share(|it| it.cpu_ns),
            share(|it| it.wall_ns),
        );
    }
}

fn ms(nanoseconds: impl Iterator<Item = u64>) -> String {
    shown(nanoseconds.map(|ns| ns as f64 / 1e6), 2)
}

/// The median with its 95 % interval.
fn shown(values: impl Iterator<Item = f64>, digits: usize) -> String {
    let Some((median, interval)) = median95(values) else { return "–".to_owned() };
    let interval = interval.map_or_else(String::new, |interval| {
        format!(" ({:.digits$}–{:.digits$})", interval.low, interval.high)
    });
    format!("{median:.digits$}{interval}")
}

impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Keytoll => "keytoll",
            Self::Libreswan => "libreswan",
        })
    }
}

impl fmt::Display for Proof {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Rsa2048 => "RSA-2048 signatures",
            Self::Psk => "shared key",
        })
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Start => "start",
            Self::Connection => "connection",
            Self::Termination => "termination",
            Self::Stop => "stop",
        })
    }
}

//! One load of a calibration: `keytoll load` in the place of the devices, and the daemon's CPU time around it.

use std::path::PathBuf;
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::sleep;
use std::time::Duration;
use std::{env, fs};

use keytoll_analysis::daemon::DaemonSample;
use keytoll_analysis::summary::LoadOutcome;
use keytoll_lab_live::{Standing, Usage};
use keytoll_trace::Node;
use miette::{Report, miette};

use crate::load::{Loaded, read};

/// The rate of the load by which the others are chosen.
pub(super) const PILOT_RATE_PER_S: f64 = 20.0;
/// How long that takes at most, in seconds.
pub(super) const PILOT_S: f64 = 3.0;
/// How long each device keeps its session.
const STAY: &str = "100 ms";
/// The interval of checks whether the daemon is idle, and how many there are.
const LOOK: Duration = Duration::from_millis(50);
const LOOKS_MAX: u32 = 200;
/// The share of attempts that must succeed: what fails costs something else.
const SUCCEEDED_MIN: f64 = 0.99;

/// What came of a load.
pub(super) enum Outcome {
    Sample(DaemonSample),
    /// It does not show what an authentication costs, and why.
    Unfit(String),
    Interrupted,
}

/// A daemon under test.
pub(super) struct Bench<'a> {
    standing: &'a Standing,
    /// The node of the daemon, and the node that the load replaces.
    node: Node,
    from: Node,
    method: &'a str,
    cores: u32,
    dir: PathBuf,
    /// The load file without its population.
    beginning: String,
}

impl<'a> Bench<'a> {
    /// The daemon at a node, which can use so many cores.
    pub(super) fn new(
        standing: &'a Standing,
        (node, cores): (Node, u32),
        method: &'a str,
    ) -> Result<Self, Report> {
        let from = if node == Node::Gw { Node::Ue } else { Node::Gw };
        let dir = standing.folder(from).map_err(|error| miette!("{error}"))?;
        let beginning = standing.load_file(from).map_err(|error| miette!("{error}"))?;
        Ok(Self { standing, node, from, method, cores, dir, beginning })
    }

    /// A load of a rate.
    pub(super) fn load(&self, rate_per_s: f64, seconds: f64, stop: &AtomicBool) -> Result<Outcome, Report> {
        let before = self.at_rest()?;
        let loaded = self.generate(rate_per_s, seconds)?;
        let after = self.at_rest()?;
        if stop.load(Ordering::Relaxed) {
            return Ok(Outcome::Interrupted);
        }
        if let Some(why) = self.unfit(rate_per_s, &loaded) {
            return Ok(Outcome::Unfit(why));
        }
        let sample = sample(&loaded, f64::from(self.cores) * seconds, (before, after));
        sample.map(Outcome::Sample).ok_or_else(|| miette!("a load of {} has no result", self.method))
    }

    /// Lets devices arrive, in a process of its own.
    fn generate(&self, rate_per_s: f64, seconds: f64) -> Result<Loaded, Report> {
        let [file, out] = ["load.toml", "load"].map(|name| self.dir.join(name));
        let devices = (rate_per_s * seconds).ceil().max(1.0) as u32;
        // An AAA server has no sessions.
        let stay = if self.from == Node::Ue { format!("stay = {STAY:?}\n") } else { String::new() };
        let text = format!(
            "{}count = {devices}\n[population]\ndevices = {devices}\narrivals = \"constant {rate_per_s:.3}/s\"\n{stay}",
            self.beginning
        );
        let unwritable = |error| miette!("cannot write `{}`: {error}", file.display());
        fs::write(&file, text).map_err(unwritable)?;
        let program = env::current_exe().map_err(|error| miette!("{error}"))?;
        let mut command = self.standing.command(self.from, &program.to_string_lossy());
        command.arg("load").arg(&file).arg("--out").arg(&out).args(["--force", "--json"]);
        let done = command.stdin(Stdio::null()).output().map_err(|error| miette!("{error}"))?;
        // Whether it has passed is not the question: what failed is counted, and late starts are.
        match done.status.code() {
            Some(0 | 1 | 4) => read(&out),
            _ => Err(miette!("the load failed: {}", String::from_utf8_lossy(&done.stderr).trim())),
        }
    }

    /// Why a load does not show what an authentication costs.
    fn unfit(&self, rate_per_s: f64, loaded: &Loaded) -> Option<String> {
        let population = &loaded.population;
        let share = population.established as f64 / population.offered.max(1) as f64;
        if share < SUCCEEDED_MIN {
            let most = population.failures.iter().max_by_key(|(_, count)| **count);
            let why = most.map_or_else(String::new, |(why, count)| format!("; {count} failed: {why}"));
            return Some(format!(
                "{} at {rate_per_s:.0}/s: {} of {} authentications succeeded{why}",
                self.method, population.established, population.offered
            ));
        }
        if loaded.verdict.verdict == LoadOutcome::Inconclusive {
            return Some(format!(
                "{} at {rate_per_s:.0}/s: the generator began too late, because this machine has too little to spare",
                self.method
            ));
        }
        None
    }

    /// The usage of the daemon, once it is idle.
    fn at_rest(&self) -> Result<Usage, Report> {
        let mut seen = self.usage()?;
        for _ in 0..LOOKS_MAX {
            #[expect(clippy::disallowed_methods, reason = "it waits for another program")]
            sleep(LOOK);
            let now = self.usage()?;
            let is_quiet = now.cpu_ns.saturating_sub(seen.cpu_ns) < LOOK.as_nanos() as u64 / 50;
            seen = now;
            if is_quiet {
                break;
            }
        }
        Ok(seen)
    }

    fn usage(&self) -> Result<Usage, Report> {
        self.standing.usage(self.node).ok_or_else(|| miette!("the daemon has ended"))
    }
}

/// The sample of a load during which the daemon had so many seconds of its cores.
fn sample(loaded: &Loaded, cores_s: f64, (before, after): (Usage, Usage)) -> Option<DaemonSample> {
    let population = &loaded.population;
    let delay = population.delay_ms.as_ref()?;
    let n = population.established as f64;
    let cpu_ns = after.cpu_ns.checked_sub(before.cpu_ns)? as f64;
    let [kernel, user] = [after.kernel_ticks - before.kernel_ticks, after.user_ticks - before.user_ticks];
    let answered = population.messages.sent.checked_sub(population.messages.again)?;
    Some(DaemonSample {
        cpu_us: cpu_ns / 1000.0 / n,
        utilisation: cpu_ns / 1e9 / cores_s,
        kernel_share: kernel as f64 / (kernel + user).max(1) as f64,
        responses_count: answered as f64 / n,
        delay_ms_p50: delay.p50,
        delay_ms_p99: delay.p99,
        established: population.established,
    })
}

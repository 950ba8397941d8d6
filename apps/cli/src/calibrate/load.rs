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

/// A daemon under test.
pub(super) struct Bench<'a> {
    standing: &'a Standing,
    node: Node,
    method: &'a str,
    dir: PathBuf,
    /// The load file without its population.
    beginning: String,
}

impl<'a> Bench<'a> {
    pub(super) fn new(standing: &'a Standing, node: Node, method: &'a str) -> Result<Self, Report> {
        let dir = standing.folder(Node::Ue).map_err(|error| miette!("{error}"))?;
        let beginning = standing.load_file().map_err(|error| miette!("{error}"))?;
        Ok(Self { standing, node, method, dir, beginning })
    }

    /// A load of a rate; `None` if it was interrupted.
    pub(super) fn load(
        &self,
        rate_per_s: f64,
        seconds: f64,
        stop: &AtomicBool,
    ) -> Result<Option<DaemonSample>, Report> {
        let before = self.at_rest()?;
        let loaded = self.generate(rate_per_s, seconds)?;
        let after = self.at_rest()?;
        if stop.load(Ordering::Relaxed) {
            return Ok(None);
        }
        self.check(rate_per_s, &loaded)?;
        let sample = sample(&loaded, seconds, (before, after));
        sample.map(Some).ok_or_else(|| miette!("a load of {} has no result", self.method))
    }

    /// Lets devices arrive, in a process of its own.
    fn generate(&self, rate_per_s: f64, seconds: f64) -> Result<Loaded, Report> {
        let [file, out] = ["load.toml", "load"].map(|name| self.dir.join(name));
        let devices = (rate_per_s * seconds).ceil().max(1.0) as u32;
        let text = format!(
            "{}count = {devices}\n[population]\ndevices = {devices}\narrivals = \"constant {rate_per_s:.3}/s\"\nstay = {STAY:?}\n",
            self.beginning
        );
        let unwritable = |error| miette!("cannot write `{}`: {error}", file.display());
        fs::write(&file, text).map_err(unwritable)?;
        let program = env::current_exe().map_err(|error| miette!("{error}"))?;
        let mut command = self.standing.command(Node::Ue, &program.to_string_lossy());
        command.arg("load").arg(&file).arg("--out").arg(&out).args(["--force", "--json"]);
        let done = command.stdin(Stdio::null()).output().map_err(|error| miette!("{error}"))?;
        // Whether it has passed is not the question: what failed is counted, and late starts are.
        match done.status.code() {
            Some(0 | 1 | 4) => read(&out),
            _ => Err(miette!("the load failed: {}", String::from_utf8_lossy(&done.stderr).trim())),
        }
    }

    /// Refuses a load that does not show what an authentication costs.
    fn check(&self, rate_per_s: f64, loaded: &Loaded) -> Result<(), Report> {
        let population = &loaded.population;
        let share = population.established as f64 / population.offered.max(1) as f64;
        if share < SUCCEEDED_MIN {
            let most = population.failures.iter().max_by_key(|(_, count)| **count);
            let why = most.map_or_else(String::new, |(why, count)| format!("; {count} failed: {why}"));
            return Err(miette!(
                "at {rate_per_s:.0}/s {} of {} authentications by {} succeeded{why}. Choose less with `--busy`",
                population.established,
                population.offered,
                self.method
            ));
        }
        if loaded.verdict.verdict == LoadOutcome::Inconclusive {
            return Err(miette!(
                "at {rate_per_s:.0}/s the generator began too late: this machine has too little to spare. Choose less with `--busy`, \
                 or end other programs"
            ));
        }
        Ok(())
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

fn sample(loaded: &Loaded, seconds: f64, (before, after): (Usage, Usage)) -> Option<DaemonSample> {
    let population = &loaded.population;
    let delay = population.delay_ms.as_ref()?;
    let n = population.established as f64;
    let cpu_ns = after.cpu_ns.checked_sub(before.cpu_ns)? as f64;
    let [kernel, user] = [after.kernel_ticks - before.kernel_ticks, after.user_ticks - before.user_ticks];
    let answered = population.messages.sent.checked_sub(population.messages.again)?;
    Some(DaemonSample {
        cpu_us: cpu_ns / 1000.0 / n,
        utilisation: cpu_ns / 1e9 / seconds,
        kernel_share: kernel as f64 / (kernel + user).max(1) as f64,
        messages_count: 2.0 * answered as f64 / n,
        delay_ms_p50: delay.p50,
        delay_ms_p99: delay.p99,
        established: population.established,
    })
}

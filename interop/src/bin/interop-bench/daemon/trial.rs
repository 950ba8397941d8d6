//! One trial: what each step takes of wall time, of both daemons' CPU time, and of their cryptography. Read clock_getcpuclockid(3) and
//! waitid(2).

use std::process::Stdio;
use std::thread::sleep;
use std::time::{Duration, Instant};

use keytoll_daemons::Place;
use nix::sys::wait::{Id, WaitPidFlag, waitid};
use nix::time::{clock_getcpuclockid, clock_gettime};
use nix::unistd::Pid;
use serde::Serialize;

use crate::trouble::Result;

/// Work of a daemon directly after a step, such as reading the last message, still belongs to the step.
const AFTERMATH: Duration = Duration::from_millis(20);
/// keytoll writes its metrics every 250 ms; between two steps both daemons are idle for two such periods.
const PAUSE: Duration = Duration::from_millis(600);

/// Two daemons of one program, the initiator first.
pub(super) trait Pair {
    /// Their process IDs.
    fn ids(&self) -> [u32; 2];
    /// CPU time of their cryptography so far, in nanoseconds; an error if one of them does not report it.
    fn crypto_ns(&self) -> Result<u64>;
    /// Connects, and returns when the SAs for traffic are established.
    fn connect(&mut self) -> Result<()>;
    /// Deletes the SAs.
    fn terminate(&mut self) -> Result<()>;
    /// Orders both to end.
    fn stop(&mut self) -> Result<()>;
}

/// A step of a trial.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    Start,
    Connection,
    Termination,
    Stop,
}

/// All steps in order.
pub(super) const STEPS: [Step; 4] = [Step::Start, Step::Connection, Step::Termination, Step::Stop];

/// The time of a step.
#[derive(Debug, Clone, Copy, Default, Serialize)]
pub(super) struct Measured {
    pub(super) wall_ns: u64,
    /// CPU time of both daemons.
    pub(super) cpu_ns: u64,
    /// How much of it is cryptography.
    pub(super) crypto_ns: u64,
}

/// What each step of a trial took.
#[derive(Debug, Serialize)]
pub(super) struct Trial([Measured; 4]);

impl Trial {
    pub(super) const fn of(&self, step: Step) -> Measured {
        self.0[step as usize]
    }

    pub(super) fn total(&self) -> Measured {
        let sum = |of: fn(&Measured) -> u64| self.0.iter().map(of).sum();
        Measured {
            wall_ns: sum(|it| it.wall_ns),
            cpu_ns: sum(|it| it.cpu_ns),
            crypto_ns: sum(|it| it.crypto_ns),
        }
    }
}

/// Runs a trial.
pub(super) fn run<P: Pair>(start: impl FnOnce() -> Result<P>) -> Result<Trial> {
    let begun = Instant::now();
    let mut pair = start()?;
    let started = Measured { wall_ns: ns(begun.elapsed()), ..after(&pair, Measured::default())? };
    let connected = step(&mut pair, P::connect)?;
    let terminated = step(&mut pair, P::terminate)?;
    let stopped = step(&mut pair, |pair| {
        pair.stop()?;
        pair.ids().into_iter().try_for_each(await_end)
    })?;
    Ok(Trial([started, connected, terminated, stopped]))
}

fn step<P: Pair>(pair: &mut P, act: impl FnOnce(&mut P) -> Result<()>) -> Result<Measured> {
    let before = Measured { wall_ns: 0, cpu_ns: cpu_ns(pair)?, crypto_ns: pair.crypto_ns()? };
    let begun = Instant::now();
    act(pair)?;
    let wall_ns = ns(begun.elapsed());
    Ok(Measured { wall_ns, ..after(pair, before)? })
}

/// CPU time and cryptography of a step that has just ended.
fn after(pair: &impl Pair, before: Measured) -> Result<Measured> {
    sleep(AFTERMATH);
    let cpu_ns = cpu_ns(pair)? - before.cpu_ns;
    sleep(PAUSE);
    Ok(Measured { wall_ns: 0, cpu_ns, crypto_ns: pair.crypto_ns()? - before.crypto_ns })
}

fn cpu_ns(pair: &impl Pair) -> Result<u64> {
    pair.ids().into_iter().map(cpu_ns_of).sum()
}

/// CPU time of a process with all its threads, the ended ones included; also of one that has ended and was not waited for.
fn cpu_ns_of(id: u32) -> Result<u64> {
    let time = clock_gettime(clock_getcpuclockid(pid(id)?)?)?;
    Ok(ns(Duration::from(time)))
}

/// Waits until a process has ended; its CPU time can be read afterwards.
fn await_end(id: u32) -> Result<()> {
    waitid(Id::Pid(pid(id)?), WaitPidFlag::WEXITED | WaitPidFlag::WNOWAIT)?;
    Ok(())
}

fn pid(id: u32) -> Result<Pid> {
    Ok(Pid::from_raw(id.try_into()?))
}

fn ns(duration: Duration) -> u64 {
    duration.as_nanos().try_into().unwrap_or(u64::MAX)
}

/// The start and the end of a program that does nothing.
pub(super) fn of_nothing(place: &Place) -> Result<Measured> {
    let begun = Instant::now();
    let mut child = place.command("true").stdin(Stdio::null()).spawn()?;
    await_end(child.id())?;
    let (wall_ns, cpu_ns) = (ns(begun.elapsed()), cpu_ns_of(child.id())?);
    child.wait()?;
    Ok(Measured { wall_ns, cpu_ns, crypto_ns: 0 })
}

//! `keytoll size`: how many cores and bytes the devices of an operator need, from what a run has measured.

mod simulate;
mod words;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use keytoll_analysis::comparable::CRYPTOGRAPHY_ONLY;
use keytoll_analysis::simulation::Simulation;
use keytoll_analysis::study::LoadWant;
use keytoll_dimensioning::outcome::Verdict;
use keytoll_dimensioning::{
    Arrivals, Cookies, DaemonAt, Planned, Processor, Question, Run, Sizing, SizingError,
};
use keytoll_scenario::families::CookiesFrom;
use keytoll_scenario::plan::{CpuProfile, CryptoMode, Direction, Plan, RowPlan, WorldKind};
use keytoll_trace::Node;
use miette::{Report, miette};

use crate::args::{Present, SizeArgs};
use crate::interrupt;
use crate::rank::read;
use crate::report::{name, plan_of, unmeasured};
use crate::run::{streaming, told as of_run};
use crate::screen::{self, Usage};

/// Devices of which it is told by default what another method would save.
const MOVED: u64 = 100_000;
/// The costs of a simulation that is given no others.
const REFERENCE: &str = "reference";
/// Devices of a simulation without a storm, by default.
const SIMULATED: u32 = 10_000;
/// The fewest devices of a simulation: fewer give no interval of the 99th percentile.
pub(crate) const SIMULATED_MIN: u32 = 368;
/// The most.
pub(crate) const SIMULATED_MAX: u32 = 2_000_000;
/// Exit code when the simulator contradicts.
const CONTRADICTED: u8 = 1;

/// Sizes the methods of a run directory.
pub(crate) fn size(args: &SizeArgs) -> Result<ExitCode, Report> {
    let question = question(args)?;
    let summary = read(&args.dir)?;
    let manifest = keytoll_analysis::directory::manifest(&args.dir).map_err(unmeasured)?;
    let plan = plan_of(&manifest)?;
    let run = Run { summary: &summary, planned: Planned { daemons: daemons(args)?, ..planned(&plan) } };
    let mut sizing = keytoll_dimensioning::size(&run, &question).map_err(|error| told(&error))?;
    refuse_idle(args, &sizing)?;
    if args.simulate {
        let stop = interrupt::watch(|| {})?;
        let devices = args.devices.map_or_else(|| simulated_devices(&question), Ok)?;
        sizing.left_out.extend(simulate::left_out(&plan, &sizing, devices));
        if !args.daemons.is_empty() {
            sizing.left_out.push("simulation: rows with the costs of a daemon are not simulated".to_owned());
        }
        let plan = Plan { crypto: CryptoMode::Table, costs: Some(costs(args, &plan)?), ..plan };
        if keytoll_lab::message_price(&plan).is_none() {
            sizing.left_out.push(format!("simulation: {CRYPTOGRAPHY_ONLY}"));
        }
        sizing.simulations = simulate::simulations(&plan, (&question, &sizing), devices, &stop)?;
        simulate::contradict(&mut sizing);
    }
    if args.json {
        screen::print_json(&sizing)?;
    } else {
        screen::print(&words::text(&sizing))?;
    }
    let is_contradicted = sizing.rows.iter().any(|row| row.verdict == Verdict::Contradicted);
    Ok(if is_contradicted { ExitCode::from(CONTRADICTED) } else { ExitCode::SUCCESS })
}

/// The devices of a simulation by default: all that arrive during a storm, of which fewer would be a shorter one.
fn simulated_devices(question: &Question) -> Result<u32, Report> {
    let Arrivals::Storm { within_s, .. } = question.arrivals else { return Ok(SIMULATED) };
    let devices = ((question.steady_per_s() + question.storm_per_s()) * within_s).round();
    if devices > f64::from(SIMULATED_MAX) {
        let message = format!(
            "{devices} devices arrive during the storm, and a simulation has at most {SIMULATED_MAX}"
        );
        return Err(Usage::hint(message, "`--devices N` simulates a shorter storm at the same rate").into());
    }
    Ok((devices as u32).max(SIMULATED_MIN))
}

/// The cost table of a simulation. A path out of somebody's manifest.json is not opened.
fn costs(args: &SizeArgs, plan: &Plan) -> Result<String, Report> {
    if let Some((node, named)) = plan.cpus.iter().find_map(|(node, cpu)| Some((node, cpu.costs.as_ref()?))) {
        let message =
            format!("manifest.json names the costs `{named}` of {}, which are not opened", node.name());
        return Err(Usage::hint(
            message,
            "size it without `--simulate`; `keytoll run` simulates a population",
        )
        .into());
    }
    let named = plan.costs.as_deref().filter(|name| plan.crypto == CryptoMode::Table && *name != REFERENCE);
    match (&args.costs, named) {
        (Some(given), _) => Ok(given.clone()),
        (None, None) => Ok(REFERENCE.to_owned()),
        (None, Some(named)) => {
            let message =
                format!("manifest.json names the cost table `{named}`, which is not opened unasked");
            Err(Usage::hint(message, "name it with `--costs FILE`, or say `--costs reference`").into())
        }
    }
}

/// What a study wants to know of a load: its rows, with the costs of a table alone, are sized and simulated.
pub(crate) fn simulated(
    load: &LoadWant,
    plan: &Plan,
    threads: usize,
    stop: &AtomicBool,
) -> Result<Vec<Simulation>, Report> {
    let plan = simulate::with_table(plan, |row| row.network.name == load.network);
    let summary = streaming::summary(&plan, threads, &|| (), stop).map_err(of_run)?;
    let (run, question) =
        (Run { summary: &summary, planned: planned(&plan) }, keytoll_studies::question(load));
    let sizing = keytoll_dimensioning::size(&run, &question).map_err(|error| told(&error))?;
    let devices = load.devices_per_sample.saturating_mul(plan.samples);
    simulate::simulations(&plan, (&question, &sizing), devices, stop)
}

fn told(error: &SizingError) -> Report {
    Usage::because(error.to_string(), error.hint().to_owned()).into()
}

/// The question of the command line.
fn question(args: &SizeArgs) -> Result<Question, Report> {
    let at_once = at_once(args)?;
    let wrong = wrong(args, at_once);
    if let Some((message, hint)) = wrong {
        return Err(Usage::because(message, hint).into());
    }
    Ok(Question {
        devices_registered: args.subscribers,
        devices_at_once: at_once,
        reauthenticate_s: args.reauth.as_secs_f64(),
        rekey_s: args.rekey.map(|rekey| rekey.as_secs_f64()),
        arrivals: args.arrivals,
        p99_s: args.p99.as_secs_f64(),
        cores: once("--cores", &args.cores)?,
        stores_s: stores_s(args)?,
        processor: args.cpu.as_deref().map_or(Ok(Processor::AsRun), processor)?,
        sites: args.sites,
        devices_moved: args.moved.unwrap_or_else(|| MOVED.min(at_once)),
        methods: methods(args)?,
    })
}

/// The daemons of `--daemon`.
fn daemons(args: &SizeArgs) -> Result<Vec<DaemonAt>, Report> {
    let named: Vec<(String, ())> = args.daemons.iter().map(|(node, _)| (node.clone(), ())).collect();
    once("--daemon", &named)?;
    let read = |(node, file): &(String, PathBuf)| {
        let (costs, machine) = keytoll_lab::daemon_costs(file).map_err(|error| miette!("{error}"))?;
        Ok(DaemonAt { node: node.clone(), costs, core_hz: machine.core_hz, cpu: machine.cpu })
    };
    args.daemons.iter().map(read).collect()
}

/// Servers look devices up; other nodes have nothing to look into.
fn stores_s(args: &SizeArgs) -> Result<BTreeMap<String, f64>, Report> {
    let has_store = |name: &str| [Node::Aaa, Node::Hss].iter().any(|node| node.name() == name);
    if let Some((node, _)) = args.stores.iter().find(|(node, _)| !has_store(node)) {
        let message = format!("`{node}` has no store: servers look devices up");
        return Err(Usage::hint(message, "`--store` is of `aaa` or of `hss`").into());
    }
    let seconds = |(node, time): (String, Duration)| (node, time.as_secs_f64());
    Ok(once("--store", &args.stores)?.into_iter().map(seconds).collect())
}

/// The methods that are asked for, each once.
fn methods(args: &SizeArgs) -> Result<Vec<String>, Report> {
    let named: Vec<(String, ())> = args.methods.iter().map(|name| (name.clone(), ())).collect();
    once("--method", &named)?;
    Ok(args.methods.clone())
}

/// Devices at the same time.
fn at_once(args: &SizeArgs) -> Result<u64, Report> {
    let registered = args.subscribers;
    let count = match args.at_once {
        None => registered,
        Some(Present::Devices(count)) => count,
        Some(Present::Share(share)) => (registered as f64 * share).round() as u64,
    };
    if (1..=registered).contains(&count) {
        return Ok(count);
    }
    let message =
        format!("{count} devices at the same time are not from 1 to the {registered} that are registered");
    Err(Usage::hint(message, "`--at-once` is a number of devices or a share of them, like `60%`").into())
}

/// What makes no sense, and what to do about it.
fn wrong(args: &SizeArgs, at_once: u64) -> Option<(String, String)> {
    if let Some(rekey) = args.rekey.filter(|rekey| *rekey >= args.reauth) {
        let message = format!(
            "keys that last {rekey:?} are never changed between authentications every {:?}",
            args.reauth
        );
        return Some((message, "leave `--rekey` out: it would change nothing".to_owned()));
    }
    if let Arrivals::Storm { devices, .. } = args.arrivals
        && devices > args.subscribers
    {
        let message =
            format!("a storm of {devices} devices is more than the {} that are registered", args.subscribers);
        return Some((message, "`--arrivals storm:NUMBER/TIME` counts devices".to_owned()));
    }
    let moved = args.moved.filter(|moved| *moved > at_once)?;
    let message = format!("{moved} devices with another method are more than the {at_once} at the same time");
    Some((message, "`--moved` is at most that many".to_owned()))
}

/// Values of nodes, none of which is named twice.
fn once<T: Copy>(option: &str, given: &[(String, T)]) -> Result<BTreeMap<String, T>, Report> {
    let mut values = BTreeMap::new();
    for (node, value) in given {
        if values.insert(node.clone(), *value).is_some() {
            let message = format!("`{option}` names `{node}` twice");
            return Err(Usage::hint(message, "leave one of them out").into());
        }
    }
    Ok(values)
}

/// A processor of the catalogue, or a frequency.
fn processor(text: &str) -> Result<Processor, Report> {
    if let Some(profile) = CpuProfile::named(text) {
        let clock = |hz| Processor::Clock { name: text.to_owned(), hz };
        return Ok(profile.hz.map_or(Processor::Host, clock));
    }
    let hz = keytoll_scenario::quantity::read(keytoll_scenario::quantity::Kind::Frequency, text);
    match hz.ok().filter(|hz| *hz >= 1_000_000) {
        Some(hz) => Ok(Processor::Clock { name: text.to_owned(), hz: hz as f64 }),
        None => {
            let hint = "a frequency like `2.4GHz`, or a name of `keytoll list cpus`";
            Err(Usage::hint(format!("unknown processor `{text}`"), hint).into())
        }
    }
}

/// The part of a plan that sizing needs. Prices of messages are those of the reference: a path in a manifest.json is not opened.
pub(crate) fn planned(plan: &Plan) -> Planned {
    let is_reference = plan.costs.as_deref() == Some(REFERENCE);
    let of_row = |row: &RowPlan| Some((name(row).map(str::to_owned), cookies(row)?));
    Planned {
        clocks_hz: clocks_hz(plan),
        cookies: plan.rows.iter().filter_map(of_row).collect(),
        message: if is_reference { keytoll_lab::message_price(plan) } else { None },
        daemons: Vec::new(),
    }
}

/// The cookies of a row's gateway, over its network.
fn cookies(row: &RowPlan) -> Option<Cookies> {
    let CookiesFrom { half_open, half_open_max, up_bytes, down_bytes, retransmission } =
        (row.method.family.cookies_from)(row)?;
    let (up, down) = (&row.network.up, &row.network.down);
    let one_way_s = |direction: &Direction, bytes: u32| {
        let on_wire_s = direction.rate_bits_per_s.map_or(0.0, |rate| f64::from(bytes) * 8.0 / rate as f64);
        direction.delay.as_secs_f64() + on_wire_s
    };
    let arrive_share = [up, down].map(|direction| 1.0 - direction.impairments.lost_share());
    Some(Cookies {
        half_open,
        half_open_max,
        round_trip_s: one_way_s(up, up_bytes) + one_way_s(down, down_bytes),
        jitter_s: up.jitter.as_secs_f64().hypot(down.jitter.as_secs_f64()),
        lost_share: 1.0 - arrive_share[0] * arrive_share[1],
        retransmit_after_s: retransmission.first.as_secs_f64(),
        retransmit_base: retransmission.base,
        retransmissions_max: retransmission.tries,
    })
}

/// The clocks of processors that a run was charged for.
fn clocks_hz(plan: &Plan) -> BTreeMap<String, f64> {
    if plan.world != WorldKind::Sim {
        return BTreeMap::new();
    }
    plan.cpus.iter().filter_map(|(node, profile)| Some((node.name().to_owned(), profile.hz?))).collect()
}

/// An option that this run leaves without effect.
fn refuse_idle(args: &SizeArgs, sizing: &Sizing) -> Result<(), Report> {
    if args.moved.is_some() && sizing.replacements.is_empty() {
        let message = "no two methods that are sized have the same network and topology".to_owned();
        return Err(Usage::hint(message, "leave `--moved` out: it would change nothing").into());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processors_are_named_or_have_a_clock() {
        assert_eq!(processor("host").unwrap(), Processor::Host);
        let known = Processor::Clock { name: "p4-3000".to_owned(), hz: 3e9 };
        assert_eq!(processor("p4-3000").unwrap(), known);
        let clock = Processor::Clock { name: "2.4GHz".to_owned(), hz: 2.4e9 };
        assert_eq!(processor("2.4GHz").unwrap(), clock);
        for wrong in ["fast", "2.4", "0GHz", "10kHz"] {
            assert_eq!(processor(wrong).unwrap_err().to_string(), format!("unknown processor `{wrong}`"));
        }
    }

    #[test]
    fn a_node_is_given_one_value() {
        let given = [("gw".to_owned(), 2), ("aaa".to_owned(), 1)];
        assert_eq!(once("--cores", &given).unwrap().len(), 2);
        let twice = [("gw".to_owned(), 2), ("gw".to_owned(), 1)];
        assert_eq!(once("--cores", &twice).unwrap_err().to_string(), "`--cores` names `gw` twice");
    }
}

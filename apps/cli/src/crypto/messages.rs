//! What `keytoll crypto --calibrate --messages` takes a message's price from: a run of the live world, or loads.

use std::path::{Path, PathBuf};

use keytoll_analysis::handling::{self, LoadCost};
use keytoll_analysis::summary;
use keytoll_census::PopulationSummary;
use keytoll_crypto::{Exponents, Prices};
use keytoll_primitives::catalogue;
use keytoll_trace::cost_table::{CostTable, Cryptography, MessagePrice};
use miette::{Report, miette};

use crate::load::{self, Loaded, Split};
use crate::report::{SUMMARY, of_authentications};
use crate::screen::Usage;

/// Where the price of a message comes from.
pub(super) enum Messages {
    /// Messages have none.
    Free,
    /// A run of the live world, which has timed its cryptography.
    Live(MessagePrice),
    /// Loads.
    Loads(Vec<(PathBuf, Loaded)>),
}

impl Messages {
    /// Reads runs, and refuses those that tell nothing.
    pub(super) fn read(runs: &[PathBuf]) -> Result<Self, Report> {
        let is_load = |run: &&PathBuf| load::is_one(run);
        match runs {
            [] => Ok(Self::Free),
            [run] if !is_load(&run) => of_live(run).map(Self::Live),
            runs => match runs.iter().find(|run| !is_load(run)) {
                Some(other) => Err(no_load(other)),
                None => loads(runs).map(Self::Loads),
            },
        }
    }

    /// The price beside a table's other prices.
    pub(super) fn price(&self, table: &CostTable) -> Result<Option<MessagePrice>, Report> {
        match self {
            Self::Free => Ok(None),
            Self::Live(price) => Ok(Some(price.clone())),
            Self::Loads(loads) => of_loads(loads, &prices(table)?).map(Some),
        }
    }
}

/// What is told of a price.
pub(super) fn told(price: &MessagePrice) -> String {
    let us = price.ns / 1000.0;
    let idlest = price.loads.first().and_then(|load| load.pauses.last());
    let longest = idlest.filter(|pause| pause.after_us > 0.0).map_or_else(String::new, |pause| {
        format!(", and {:.1} us where that has slept for {} us or longer", pause.ns / 1000.0, pause.after_us)
    });
    let sum = match price.cryptography {
        Some(Cryptography::Priced) => "operations and messages cost together about what the loads measured",
        _ => "besides cryptography, as long as its node says that takes",
    };
    format!("a message costs {us:.1} us where it wakes its node{longest}: {sum}\n")
}

/// Loads that will do, whatever cryptography costs.
fn loads(runs: &[PathBuf]) -> Result<Vec<(PathBuf, Loaded)>, Report> {
    let read = |run: &PathBuf| Ok((run.clone(), load::read(run)?));
    let loads = runs.iter().map(read).collect::<Result<Vec<_>, Report>>()?;
    loads.iter().try_for_each(|(run, load)| mostly_succeeded(run, load))?;
    loads.iter().try_for_each(|other| are_alike(&loads[0], other))?;
    of_loads(&loads, &Prices::flat(0.0)).map(|_| loads)
}

/// What failed took messages, too, which nobody has counted with an outcome.
fn mostly_succeeded(run: &Path, load: &Loaded) -> Result<(), Report> {
    let PopulationSummary { begun, established, .. } = load.population;
    if established >= begun - begun / 10 {
        return Ok(());
    }
    let message = format!("of {begun} attempts of `{}` {established} succeeded", run.display());
    Err(Usage::hint(message, "give loads of which at least nine in ten do").into())
}

/// Messages of different methods cost differently, and so do those of a target and of the generator.
fn are_alike((run, load): &(PathBuf, Loaded), (other, like): &(PathBuf, Loaded)) -> Result<(), Report> {
    let (run, other) = (run.display(), other.display());
    if load.access != like.access {
        let message = format!("`{run}` is a load of {}, and `{other}` one of {}", load.access, like.access);
        return Err(Usage::hint(message, "give loads of one method").into());
    }
    if load.tells_cryptography() != like.tells_cryptography() {
        let message = format!("only one of `{run}` and `{other}` tells what cryptography took its target");
        return Err(Usage::hint(message, "measure the target of all, or of none").into());
    }
    Ok(())
}

/// The prices that a node of ours is charged, which draws private exponents of the usual length.
fn prices(table: &CostTable) -> Result<Prices, Report> {
    let exponents = catalogue::name_of(Exponents::default());
    keytoll_lab::prices(table, exponents).map_err(|error| miette!("{error}"))
}

/// What a message costs that finds its node idle, and one that waits. Cryptography costs what it is charged with if all loads tell
/// which it was.
fn of_loads(loads: &[(PathBuf, Loaded)], prices: &Prices) -> Result<MessagePrice, Report> {
    let (split, cryptography) = match loads.iter().all(|(_, load)| load.tells_operations()) {
        true => (Split::Priced(prices), Cryptography::Priced),
        false => (Split::Timed, Cryptography::Timed),
    };
    let costs = loads.iter().map(|(run, load)| load_cost(run, load, split)).collect::<Result<Vec<_>, _>>()?;
    handling::prices(&costs, cryptography).ok_or_else(|| {
        let told: Vec<_> = costs.iter().map(|cost| format!("{:.0} %", 100.0 * cost.utilisation)).collect();
        let message = format!("these loads kept their process busy {}: too much alike", told.join(", "));
        Usage::hint(message, "give a slow one and a fast one, at least a quarter of a core apart").into()
    })
}

fn load_cost(run: &Path, load: &Loaded, split: Split<'_>) -> Result<LoadCost, Report> {
    load.message_cost(split).map_err(|untold| {
        let why = match untold {
            load::Untold::Nothing => {
                "it must have authenticated devices with one thread, and must have been made by this keytoll"
            }
            load::Untold::Dear => "loads and table belong on the same machine",
            load::Untold::Unlisted => "loads and table belong to the same keytoll",
        };
        Usage::because(format!("`{}` {untold}", run.display()), why.to_owned()).into()
    })
}

fn no_load(run: &Path) -> Report {
    let message = format!("`{}` is no run of `keytoll load`", run.display());
    Usage::hint(message, "give one run of the live world, or several of `keytoll load`").into()
}

/// What a message costs, from a live run.
fn of_live(run: &Path) -> Result<MessagePrice, Report> {
    of_authentications(run)?;
    let summary = summary::read(&run.join(SUMMARY)).map_err(|error| miette!("{error}"))?;
    handling::price(&summary).map_err(|why| {
        let message = format!("`{}` {why}", run.display());
        Usage::hint(
            message,
            "`keytoll run quickstart --world live` makes one; both belong on the same machine",
        )
        .into()
    })
}

#[cfg(test)]
mod tests {
    use keytoll_analysis::summary::{Generator, OperationCount, TargetUsage};
    use keytoll_census::Repeated;
    use keytoll_trace::cost_table::OperationPrice;
    use keytoll_trace::manifest::Machine;

    use super::*;

    /// Ten seconds of so many authentications with three messages each way, of which the target says that cryptography took 60 us.
    fn load(established: u64, cpu_s: f64) -> (PathBuf, Loaded) {
        let count = |operation: &str, algorithm: &str, times, bytes| OperationCount {
            operation: operation.to_owned(),
            algorithm: algorithm.to_owned(),
            count: times * established,
            bytes: bytes * established,
        };
        let usage = TargetUsage {
            cpu_s,
            cpu_us_per_established: Some(cpu_s * 1e6 / established as f64),
            crypto_us_per_established: Some(60.0),
            operations: vec![count("generate", "modp2048", 1, 256), count("prf", "prfsha256", 10, 1000)],
            wakes: Vec::new(),
            memory_bytes_max: None,
            gone_from_s: None,
        };
        let messages = Repeated { sent: 3 * established, again: 0, amplification: 1.0 };
        let load = Loaded {
            population: PopulationSummary {
                begun: established,
                established,
                messages,
                ..PopulationSummary::default()
            },
            generator: Generator { starting_s: 10, ..Generator::default() },
            target_usage: Some(usage),
            ..Loaded::default()
        };
        (PathBuf::from("load"), load)
    }

    fn table() -> CostTable {
        let cost = |operation: &str, algorithm: &str, exponents: Option<&str>, (fixed_ns, ns_per_byte)| {
            OperationPrice {
                operation: operation.to_owned(),
                algorithm: algorithm.to_owned(),
                exponents: exponents.map(str::to_owned),
                fixed_ns,
                ns_per_byte,
                n: 1,
                spread: 0.0,
            }
        };
        let costs = vec![
            cost("generate", "modp2048", Some("short"), (30_000.0, 0.0)),
            cost("generate", "modp2048", Some("full"), (300_000.0, 0.0)),
            cost("prf", "prfsha256", None, (500.0, 2.0)),
        ];
        CostTable { costs, ..CostTable::new("0.1.0", 0, Machine::default(), "none") }
    }

    #[test]
    fn operations_and_messages_cost_together_what_was_measured() {
        let loads = [load(5000, 1.0), load(30_000, 5.1)];
        let price = Messages::Loads(loads.to_vec()).price(&table()).unwrap().unwrap();
        assert_eq!((price.cryptography, price.n), (Some(Cryptography::Priced), 35_000));
        let queued_ns = price.queued_ns.unwrap();
        for ((_, load), utilisation) in loads.iter().zip([0.1, 0.51]) {
            let message_ns = queued_ns + (1.0 - utilisation) * (price.ns - queued_ns);
            let charged_us = 30.0 + 10.0 * 0.5 + 1000.0 * 0.002 + 6.0 * message_ns / 1000.0;
            let measured_us = load.target_usage.as_ref().unwrap().cpu_us_per_established.unwrap();
            assert!((charged_us - measured_us).abs() < 1e-6, "{charged_us} {measured_us}");
        }
        assert!(told(&price).contains("a message costs 28.4 us"), "{}", told(&price));
    }

    #[test]
    fn loads_that_do_not_belong_together_are_refused() {
        let (mut one, other) = (load(5000, 1.0), load(30_000, 5.1));
        let refused = |one: &(PathBuf, Loaded)| are_alike(one, &other).unwrap_err().to_string();
        one.1.access = "RADIUS mschapv2".to_owned();
        assert_eq!(refused(&one), "`load` is a load of RADIUS mschapv2, and `load` one of ");
        one = load(5000, 1.0);
        one.1.target_usage = None;
        assert_eq!(refused(&one), "only one of `load` and `load` tells what cryptography took its target");
        assert!(are_alike(&load(5000, 1.0), &other).is_ok());
        one.1.population.established = 4499;
        let refused = mostly_succeeded(&one.0, &one.1).unwrap_err().to_string();
        assert_eq!(refused, "of 5000 attempts of `load` 4499 succeeded");
        assert!(mostly_succeeded(&other.0, &other.1).is_ok());
    }

    #[test]
    fn what_operations_are_not_told_of_cost_what_the_target_says() {
        let mut loads = vec![load(5000, 1.0), load(30_000, 5.1)];
        loads[1].1.target_usage.as_mut().unwrap().operations.clear();
        let price = Messages::Loads(loads).price(&table()).unwrap().unwrap();
        assert_eq!(price.cryptography, Some(Cryptography::Timed));
        assert!(told(&price).contains("as long as its node says"), "{}", told(&price));
        // (200 - 60) us and (170 - 60) us for six messages.
        let queued_ns = price.queued_ns.unwrap();
        let slow_ns = queued_ns + 0.9 * (price.ns - queued_ns);
        assert!((slow_ns - 140_000.0 / 6.0).abs() < 1e-6, "{slow_ns}");
    }

    #[test]
    fn a_table_that_lacks_an_operation_of_a_load_is_of_another_keytoll() {
        let mut poor = table();
        poor.costs.pop();
        let refused = Messages::Loads(vec![load(5000, 1.0), load(30_000, 5.1)]).price(&poor).unwrap_err();
        assert_eq!(refused.to_string(), "`load` has operations without a price in the table");
    }

    #[test]
    fn operations_that_no_table_has_are_not_told_apart() {
        let mut loads = vec![load(5000, 1.0), load(30_000, 5.1)];
        let usage = loads[0].1.target_usage.as_mut().unwrap();
        usage.operations[0].operation = "xor".to_owned();
        let price = Messages::Loads(loads).price(&table()).unwrap().unwrap();
        assert_eq!(price.cryptography, Some(Cryptography::Timed));
    }

    #[test]
    fn numbers_that_cannot_be_are_refused() {
        for break_it in [
            |load: &mut Loaded| load.population.messages.again = u64::MAX,
            |load: &mut Loaded| load.population.established = 0,
            |load: &mut Loaded| load.generator.starting_s = 0,
            |load: &mut Loaded| load.target_usage.as_mut().unwrap().cpu_s = -1e9,
        ] {
            let mut loads = vec![load(5000, 1.0), load(30_000, 5.1)];
            break_it(&mut loads[0].1);
            let refused = Messages::Loads(loads).price(&table()).unwrap_err().to_string();
            assert_eq!(refused, "`load` does not tell what a message costs");
        }
    }

    #[test]
    fn a_table_that_leaves_nothing_for_messages_is_of_another_machine() {
        let mut dear = table();
        dear.costs[0].fixed_ns = 180_000.0;
        let refused = Messages::Loads(vec![load(5000, 1.0), load(30_000, 5.1)]).price(&dear).unwrap_err();
        assert_eq!(refused.to_string(), "`load` took less CPU time than this machine's cryptography alone");
    }
}

//! Prints a plan as a scenario file, with every row written out; parsing it gives the same plan.

use std::fmt::{self, Write};

use crate::families::settings;
use crate::options::settings::Settings;
use crate::plan::{CpuProfile, Network, Plan, RowPlan};
use crate::quantity::{self, Kind};
use crate::resolve::cpu::HOST;
use crate::resolve::network::{UNLIMITED, printed};
use crate::resolve::population;

impl Plan {
    /// A scenario file without any relevant default.
    pub fn to_toml(&self) -> String {
        let mut text = String::new();
        write_plan(&mut text, self).expect("a String takes everything");
        text
    }
}

fn write_plan(out: &mut String, plan: &Plan) -> fmt::Result {
    writeln!(out, "title = {}", string(&plan.title))?;
    if let Some(study) = &plan.study {
        writeln!(out, "study = {}", string(study))?;
    }
    writeln!(out, "seed = {}", seed(plan.seed))?;
    if plan.population.is_none() {
        writeln!(out, "samples = {}", plan.samples)?;
        writeln!(out, "interval = \"{}\"", quantity::duration(plan.interval))?;
    }
    writeln!(out, "crypto = \"{}\"", plan.crypto.name())?;
    if let Some(costs) = &plan.costs {
        writeln!(out, "costs = {}", string(costs))?;
    }
    writeln!(out, "exponents = \"{}\"", plan.exponents.name())?;
    writeln!(out, "world = \"{}\"", plan.world.name())?;
    writeln!(out, "\n[cpus]")?;
    for (node, profile) in &plan.cpus {
        writeln!(out, "{} = {}", node.name(), cpu(profile))?;
    }
    plan.population.iter().try_for_each(|population| write!(out, "{}", population::print(population)))?;
    plan.rows.iter().try_for_each(|row| write_row(out, row))
}

/// A seed; TOML's integers end at 2^63, larger ones are strings.
fn seed(seed: u64) -> String {
    i64::try_from(seed).map_or_else(|_| format!("\"{seed}\""), |seed| seed.to_string())
}

fn cpu(profile: &CpuProfile) -> String {
    let hz = |hz: f64| quantity::print(Kind::Frequency, hz as u64);
    let frequency = profile.hz.map_or_else(|| HOST.to_owned(), hz);
    let name = string(&profile.name);
    let costs =
        profile.costs.as_ref().map_or_else(String::new, |costs| format!(", costs = {}", string(costs)));
    format!("{{ name = {name}, frequency = \"{frequency}\", cores = {}{costs} }}", profile.cores)
}

fn write_row(out: &mut String, row: &RowPlan) -> fmt::Result {
    writeln!(out, "\n[[row]]")?;
    writeln!(out, "method = \"{}\"", row.method.name())?;
    writeln!(out, "variant = {}", string(&row.variant))?;
    writeln!(out, "topology = \"{}\"", row.topology.name())?;
    writeln!(out, "\n[row.network]")?;
    write_network(out, &row.network)?;
    writeln!(out, "\n[row.options]")?;
    let resolved = Settings {
        options: row.options.clone(),
        suites: Some(row.suites.clone()),
        esp_suites: row.esp_suites.clone(),
    };
    let moving = settings().filter(|setting| setting.moves(&row.options, row.method));
    { moving }.try_for_each(|setting| writeln!(out, "{} = {}", setting.key, setting.field.print(&resolved)))
}

fn write_network(out: &mut String, network: &Network) -> fmt::Result {
    writeln!(out, "name = {}", string(&network.name))?;
    writeln!(out, "source = {}", string(&network.source))?;
    writeln!(out, "basis = \"{}\"", network.basis.name())?;
    if let Some(air) = network.air {
        writeln!(out, "air = \"{}\"", air.name)?;
    } else {
        writeln!(out, "down = \"{}\"", rate(network.down.rate_bits_per_s))?;
        writeln!(out, "up = \"{}\"", rate(network.up.rate_bits_per_s))?;
    }
    writeln!(out, "mtu = {}", network.mtu_bytes)?;
    for ((key, down), (_, up)) in printed(&network.down).zip(printed(&network.up)) {
        if down == up {
            writeln!(out, "{key} = {down}")?;
        } else {
            writeln!(out, "{key}_down = {down}\n{key}_up = {up}")?;
        }
    }
    Ok(())
}

fn rate(bits_per_s: Option<u64>) -> String {
    bits_per_s.map_or_else(|| UNLIMITED.to_owned(), quantity::rate)
}

/// A quoted and escaped string.
fn string(text: &str) -> String {
    toml::Value::from(text).to_string()
}

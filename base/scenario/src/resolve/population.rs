//! `[population]`: many devices at once instead of one authentication after another.

mod fit;
pub(crate) mod late;
mod mix;

use std::path::Path;
use std::time::Duration;

use keytoll_engine::trace::Node;

use crate::catalogue::Method;
use crate::catalogue::keys::Key;
use crate::diagnostic::{ScenarioError, choice};
use crate::families::setting;
use crate::options::settings::Settings;
use crate::plan::{Plan, RowPlan, WorldKind};
use crate::population::{
    ABOUT, Arrivals, DEVICES, GATEWAYS, LENGTH_MAX, LOST_FORM, Lost, Population, SPREAD_FORMS, Share, Spread,
    read_arrivals, read_lost, read_spread,
};
use crate::quantity::{self, Kind, Probability};
use crate::resolve::values::NEVER;
use crate::tree::{Entry, Item, Table, Value};

/// The key of the whole table.
pub(crate) const POPULATION: &str = "population";

/// The word for a stay until the end.
const FOR_EVER: &str = "for ever";
/// The word for no time at all.
const NONE: &str = "none";
/// The largest weight of a method.
const WEIGHT_MAX: u64 = 1_000_000;

/// The keys of `[population]`.
pub(crate) const KEYS: &[Key] = &[
    Key {
        name: "devices",
        about: "how many devices there are",
        values: &["1 to 2000000"],
        default: "none, needed",
    },
    Key { name: "arrivals", about: "when they arrive", values: ABOUT, default: "none, needed" },
    Key {
        name: "mix",
        about: "methods and their weights in one population; without it each row is one",
        values: &["TABLE OF WEIGHTS"],
        default: "none",
    },
    Key {
        name: "stay",
        about: "how long a device stays once it is established",
        values: STAYS,
        default: FOR_EVER,
    },
    Key {
        name: "reauthenticate",
        about: "how long after an authentication a device authenticates anew",
        values: &[NEVER, "1 s to 604800 s"],
        default: NEVER,
    },
    Key {
        name: "moves",
        about: "how long a device stays at one address before it attaches at another",
        values: MOVES,
        default: NEVER,
    },
    Key {
        name: "wrong",
        about: "share of devices with wrong credentials",
        values: &["0 % to 100 %"],
        default: "0 %",
    },
    Key {
        name: "devices_per_link",
        about: "how many devices share an access link",
        values: &["1 to 2000000"],
        default: "1",
    },
    Key {
        name: "gateways",
        about: "how many gateways share the devices by a hash of their addresses",
        values: &["1 to 64"],
        default: "1",
    },
    Key {
        name: "gateway_lost",
        about: "the gateway, from 1, that is lost, and when",
        values: &[NEVER, LOST_FORM],
        default: NEVER,
    },
    Key {
        name: "liveness",
        about: "silence after which a device asks whether its gateway is still there",
        values: &[NEVER, "1 s to 604800 s"],
        default: NEVER,
    },
    Key {
        name: "aaa_store",
        about: "how long the AAA server takes to look up a user",
        values: STORES,
        default: NONE,
    },
    Key {
        name: "hss_store",
        about: "how long the HSS takes to look up a subscriber",
        values: STORES,
        default: NONE,
    },
    Key {
        name: "duration",
        about: "the end, from the first arrival on; without it when the last device has its outcome",
        values: &["1 s to 604800 s"],
        default: "none",
    },
];

const STAYS: &[&str] = &with(FOR_EVER);
const MOVES: &[&str] = &with(NEVER);
pub(crate) const STORES: &[&str] = &with(NONE);

/// A word, and the forms of spreads.
const fn with(word: &'static str) -> [&'static str; 5] {
    let &[fixed, uniform, exponential, lognormal] = SPREAD_FORMS else {
        panic!("a spread has four forms");
    };
    [word, fixed, uniform, exponential, lognormal]
}

/// Reads `[population]`.
pub(crate) fn read(item: &Item) -> Result<Population, ScenarioError> {
    let table = item.table()?;
    table.only("`population`", &KEYS.iter().map(|key| key.name).collect::<Vec<_>>())?;
    let devices = table.need("devices", "a population")?.integer(DEVICES)? as u32;
    let gateways = table.or("gateways", 1, |item| item.integer(GATEWAYS))? as u32;
    let population = Population {
        devices,
        arrivals: arrivals(table.need("arrivals", "a population")?, devices)?,
        mix: table.or("mix", Vec::new(), mix)?,
        stay: table.or("stay", None, |item| spread_or(item, FOR_EVER))?,
        reauthenticate: table.or("reauthenticate", None, never_or_length)?,
        moves: table.or("moves", None, |item| spread_or(item, NEVER))?,
        wrong: table.or("wrong", Probability::ZERO, share)?,
        devices_per_link: table.or("devices_per_link", 1, |item| item.integer(DEVICES))? as u32,
        gateways,
        gateway_lost: table.or("gateway_lost", None, |item| gateway_lost(item, gateways))?,
        liveness: table.or("liveness", None, never_or_length)?,
        aaa_store: table.or("aaa_store", None, |item| spread_or(item, NONE))?,
        hss_store: table.or("hss_store", None, |item| spread_or(item, NONE))?,
        duration: table.or("duration", None, |item| length(item).map(Some))?,
    };
    check_ends(table, &population)?;
    late::check(table, &population)?;
    check_loss(table, &population)?;
    Ok(population)
}

/// A stage, several, a number at a time, or a file.
fn arrivals(item: &Item, devices: u32) -> Result<Arrivals, ScenarioError> {
    let arrivals = match &item.value {
        Value::List(_) => stages(item)?,
        _ => one(item)?,
    };
    arrivals.check(devices).map(|()| arrivals).map_err(|why| item.spot.error(why, "does not fit `devices`"))
}

fn stages(item: &Item) -> Result<Arrivals, ScenarioError> {
    let mut stages = Vec::new();
    for item in item.some_elements("stage")? {
        match one(item)? {
            Arrivals::Stages(more) => stages.extend(more),
            Arrivals::AtATime(_) | Arrivals::Times(_) => {
                return Err(item.spot.error("this is no stage among others", "write it alone"));
            }
        }
    }
    Ok(Arrivals::Stages(stages))
}

fn one(item: &Item) -> Result<Arrivals, ScenarioError> {
    let text = item.text("a text like `\"constant 500/s\"`, or a list of stages")?;
    read_arrivals(text).map(|arrivals| placed(arrivals, item)).map_err(|why| {
        let forms: Vec<_> = ABOUT.iter().map(|form| format!("`{form}`")).collect();
        item.spot.error(why, "no arrivals").hint(format!("one of {}", forms.join(", ")))
    })
}

/// The file of times stands beside the one that names it; a path on the command line is relative to the working directory.
fn placed(arrivals: Arrivals, item: &Item) -> Arrivals {
    let folder = Path::new(&item.spot.text.name).parent().unwrap_or(Path::new(""));
    match arrivals {
        Arrivals::Times(path) => Arrivals::Times(folder.join(path).display().to_string()),
        other => other,
    }
}

fn mix(item: &Item) -> Result<Vec<Share>, ScenarioError> {
    let table = item.table()?;
    let share = |entry: &Entry| {
        let method = Method::named(&entry.key).ok_or_else(|| {
            let names: Vec<_> = Method::all().map(Method::name).collect();
            let error = entry.key_spot.error(format!("unknown method `{}`", entry.key), "no such method");
            error.hint(choice(&entry.key, &names))
        })?;
        let weight = entry.item.integer(1..=WEIGHT_MAX)? as u32;
        Ok(Share { method, weight })
    };
    let shares = table.entries.iter().map(share).collect::<Result<Vec<_>, ScenarioError>>()?;
    if shares.is_empty() {
        return Err(item.spot.error("`mix` names no method", "at least one method and its weight"));
    }
    Ok(shares)
}

/// A word for none, or a spread.
pub(crate) fn spread_or(item: &Item, none: &str) -> Result<Option<Spread>, ScenarioError> {
    let text = item.text("a time like `\"10 min\"`")?;
    if text == none {
        return Ok(None);
    }
    read_spread(text).map(Some).map_err(|why| {
        let error = item.spot.error(format!("`{}`: {why}", item.name), "no time");
        error.hint(format!("`{none}`, or one of `{}`", SPREAD_FORMS.join("`, `")))
    })
}

/// `"never"`, or from a second to a week.
fn never_or_length(item: &Item) -> Result<Option<Duration>, ScenarioError> {
    match &item.value {
        Value::Text(text) if text == NEVER => Ok(None),
        _ => length(item).map(Some),
    }
}

/// A gateway and a time, or `"never"`.
fn gateway_lost(item: &Item, gateways: u32) -> Result<Option<Lost>, ScenarioError> {
    let text = item.text("a gateway and a time like `\"2 at 30 s\"`")?;
    if text == NEVER {
        return Ok(None);
    }
    if gateways == 1 {
        let error = item.spot.error("the only gateway cannot be lost", "nobody could come back");
        return Err(error.hint("`gateways = 2`, or more"));
    }
    read_lost(text, gateways).map(Some).map_err(|why| {
        let error = item.spot.error(format!("`{}`: {why}", item.name), "no loss");
        error.hint(format!("`{NEVER}`, or `{LOST_FORM}`"))
    })
}

/// From a second to a week.
fn length(item: &Item) -> Result<Duration, ScenarioError> {
    let week = u64::try_from(LENGTH_MAX.as_nanos()).unwrap_or(u64::MAX);
    item.quantity(Kind::Duration, 1_000_000_000..=week).map(Duration::from_nanos)
}

fn share(item: &Item) -> Result<Probability, ScenarioError> {
    let parts = item.quantity(Kind::Probability, 0..=1_000_000_000)?;
    Ok(Probability::from_parts_per_billion(parts as u32))
}

/// `[population]` with everything that differs from its default.
pub(crate) fn print(population: &Population) -> String {
    let text = |value: &dyn ToString| format!("\"{}\"", value.to_string());
    let time = |time: Duration| text(&quantity::duration(time));
    let spread = |key, spread: Option<Spread>| Some((key, text(&spread?)));
    let lines = [
        Some(("devices", population.devices.to_string())),
        Some(("arrivals", print_arrivals(&population.arrivals))),
        (!population.mix.is_empty()).then(|| ("mix", print_mix(&population.mix))),
        spread("stay", population.stay),
        population.reauthenticate.map(|after| ("reauthenticate", time(after))),
        spread("moves", population.moves),
        (population.wrong != Probability::ZERO).then(|| ("wrong", text(&population.wrong))),
        (population.devices_per_link != 1)
            .then(|| ("devices_per_link", population.devices_per_link.to_string())),
        (population.gateways != 1).then(|| ("gateways", population.gateways.to_string())),
        population.gateway_lost.map(|lost| ("gateway_lost", text(&lost))),
        population.liveness.map(|after| ("liveness", time(after))),
        spread("aaa_store", population.aaa_store),
        spread("hss_store", population.hss_store),
        population.duration.map(|length| ("duration", time(length))),
    ];
    let lines: String =
        lines.into_iter().flatten().map(|(key, value)| format!("{key} = {value}\n")).collect();
    format!("\n[{POPULATION}]\n{lines}")
}

fn print_arrivals(arrivals: &Arrivals) -> String {
    let quoted = |text: &dyn ToString| toml::Value::from(text.to_string()).to_string();
    match arrivals {
        Arrivals::Stages(stages) => {
            let stages: Vec<_> = stages.iter().map(|stage| quoted(stage)).collect();
            format!("[{}]", stages.join(", "))
        }
        other => quoted(other),
    }
}

fn print_mix(mix: &[Share]) -> String {
    let weights: Vec<_> =
        mix.iter().map(|share| format!("{} = {}", share.method.name(), share.weight)).collect();
    format!("{{ {} }}", weights.join(", "))
}

/// What goes on for ever needs an end.
fn check_ends(table: &Table, population: &Population) -> Result<(), ScenarioError> {
    let endless =
        [("reauthenticate", population.reauthenticate.is_some()), ("moves", population.moves.is_some())];
    match endless.into_iter().find(|(_, is_set)| *is_set && population.duration.is_none()) {
        Some((key, _)) => {
            let spot = table.entry(key).map_or(&table.spot, |entry| &entry.key_spot);
            let error = spot.error(format!("`{key}` needs an end of the population"), "for how long?");
            Err(error.hint("`duration = \"1 h\"`"))
        }
        None => Ok(()),
    }
}

/// After the loss of a gateway its devices must be able to notice, and there must be time for it.
fn check_loss(table: &Table, population: &Population) -> Result<(), ScenarioError> {
    let Some(lost) = population.gateway_lost else { return Ok(()) };
    let spot = table.entry("gateway_lost").map_or(&table.spot, |entry| &entry.key_spot);
    let is_after = |end: Duration| end > lost.at;
    match population.duration {
        None => {
            let error = spot.error("`gateway_lost` needs an end of the population", "for how long?");
            Err(error.hint("`duration = \"5 min\"`"))
        }
        Some(end) if !is_after(end) => {
            let message = "the population ends before the gateway is lost";
            Err(spot
                .error(message, "makes no difference here")
                .hint("a longer `duration`, or an earlier loss"))
        }
        Some(_) if population.liveness.is_none() && population.reauthenticate.is_none() => {
            let error = spot.error("no device would notice that its gateway is lost", "nobody comes back");
            Err(error.hint("`liveness = \"30 s\"` or `reauthenticate = \"5 min\"`"))
        }
        Some(_) => Ok(()),
    }
}

/// Refuses what a population makes meaningless, or what cannot be populated.
pub(super) fn check(document: &Table, plan: &Plan) -> Result<(), ScenarioError> {
    let (Some(item), Some(population)) = (document.get(POPULATION), &plan.population) else { return Ok(()) };
    for (key, instead) in
        [("samples", "`devices` says how many there are"), ("interval", "`arrivals` says when they begin")]
    {
        if let Some(entry) = document.entry(key) {
            let message = format!("`{key}` means nothing with a population");
            return Err(entry.key_spot.error(message, "makes no difference here").hint(instead));
        }
    }
    if plan.world != WorldKind::Sim {
        let spot = document.get("world").map_or(&item.spot, |item| &item.spot);
        let error = spot.error("a population lives in the simulator", "here");
        return Err(error.hint("`world = \"sim\"`"));
    }
    check_options(document, item, plan)?;
    late::check_options((document, item), plan, population)?;
    mix::check(item, plan, population)?;
    fit::check((document, item), plan, population)?;
    check_stores(item, plan, population)
}

/// An option that has no effect in a population.
struct Idle {
    key: &'static str,
    /// Whether it has none on a row where it is set.
    is_idle: fn(&RowPlan) -> bool,
    /// What to do instead.
    instead: &'static str,
}

impl Idle {
    /// Whatever its value is.
    const fn new(key: &'static str, instead: &'static str) -> Self {
        Self { key, is_idle: |_| true, instead }
    }
}

const FEW_PACKETS: &str = "leave it out: a device of a population sends one packet through each SA";

/// Options that a population replaces, and those for which its devices send too little.
const IDLE: [Idle; 10] = [
    Idle::new("fault", "`wrong` is the share of devices with wrong credentials"),
    Idle::new("traffic", "leave it out: devices of a population send none"),
    Idle::new("reauth_lifetime", "`reauthenticate` says when devices authenticate anew"),
    Idle::new("move_after", "`moves` says when devices attach elsewhere"),
    Idle::new("unused_after", "`stay` says how long devices stay"),
    Idle::new("stays_idle", "`stay` says how long devices stay"),
    Idle::new("rekey_bytes", FEW_PACKETS),
    Idle {
        is_idle: |row| row.options.ipsec.limits.rekey_packets.is_some_and(|packets| packets > 1),
        ..Idle::new("rekey_packets", FEW_PACKETS)
    },
    // RFC 2407 §4.5: IKEv1 tells the other side, which makes messages longer.
    Idle { is_idle: |row| row.method.phase1().is_none(), ..Idle::new("life_bytes", FEW_PACKETS) },
    Idle::new("life_packets", FEW_PACKETS),
];

/// Refuses options without effect in a population; their defaults may be written out, as they are in the plan that a run keeps.
fn check_options(document: &Table, item: &Item, plan: &Plan) -> Result<(), ScenarioError> {
    let is_set = |idle: &&Idle| plan.rows.iter().any(|row| (idle.is_idle)(row) && is_set(idle.key, row));
    let Some(Idle { key, instead, .. }) = IDLE.iter().find(is_set) else { return Ok(()) };
    let spot = written(document, key).map_or(&item.spot, |entry| &entry.key_spot);
    let error = spot.error(format!("`{key}` means nothing with a population"), "makes no difference here");
    Err(error.hint(*instead))
}

/// Whether an option of a row differs from its default.
fn is_set(key: &str, row: &RowPlan) -> bool {
    let printed = |settings: &Settings| setting(key).map(|setting| setting.field.print(settings));
    let of_row = Settings { options: row.options.clone(), ..Settings::default() };
    printed(&of_row) != printed(&Settings::default())
}

/// Where a document has an option, whatever its value is.
fn written<'a>(document: &'a Table, key: &str) -> Option<&'a Entry> {
    let rows = document.get("row").map_or(&[][..], Item::elements);
    let of_rows = rows.iter().filter_map(|row| row.table().ok()?.get("options"));
    let mut tables = [document.get("options"), document.get("sweep")].into_iter().flatten().chain(of_rows);
    tables.find_map(|table| table.table().ok()?.entry(key))
}

/// A store needs its node, and is configured once.
fn check_stores(item: &Item, plan: &Plan, population: &Population) -> Result<(), ScenarioError> {
    if population.hss_store.is_some() && plan.rows.iter().any(|row| row.options.hss_store.is_some()) {
        let spot = item.table()?.entry("hss_store").map_or(&item.spot, |entry| &entry.key_spot);
        let error = spot.error("`hss_store` is in `[options]`, too", "and here");
        return Err(error.hint("leave one of them out: that of `[options]` is also for populations"));
    }
    let stores =
        [("aaa_store", population.aaa_store, Node::Aaa), ("hss_store", population.hss_store, Node::Hss)];
    for (key, spread, node) in stores {
        let is_there = plan.rows.iter().any(|row| row.method.nodes.contains(&node));
        if spread.is_some() && !is_there {
            let spot = item.table()?.entry(key).map_or(&item.spot, |entry| &entry.key_spot);
            let error =
                spot.error(format!("no row has the node `{}`", node.name()), "makes no difference here");
            return Err(
                error.hint("leave it out, or add a method that asks this node: `keytoll list methods`")
            );
        }
    }
    Ok(())
}

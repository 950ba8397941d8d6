//! `keytoll calibrate`: loads a daemon of others at several rates, and writes what an authentication costs it as a cost table.
//!
//! ```text
//!   method --pilot--> rates --rounds--> loads of `keytoll load` --CPU of the daemon--> means with intervals --> cost table
//! ```

mod load;

use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};

use keytoll_analysis::daemon::{self, DaemonSample};
use keytoll_lab_live::{Standing, version_of};
use keytoll_scenario::plan::{Maker, Plan};
use keytoll_scenario::{Overrides, Source};
use keytoll_trace::Node;
use keytoll_trace::cost_table::{AuthenticationLoad, AuthenticationPrice, CostTable, DaemonCosts};
use miette::{Report, miette};

use crate::args::CalibrateArgs;
use crate::outputs::COST_TABLE;
use crate::progress::{Counted, Progress};
use crate::screen::{Page, Usage};
use crate::{interrupt, screen, version};
use load::{Bench, Outcome};

/// A daemon that can be calibrated.
struct Daemon {
    name: &'static str,
    /// The scenario with the daemon as this node.
    scenario: &'static str,
    /// The methods that can be calibrated.
    methods: &'static [&'static str],
    /// Its node.
    role: Node,
    /// The protocol of its messages.
    protocol: &'static str,
    /// What matters of its configuration.
    configuration: &'static str,
    /// How many cores it can use; `None`: all of the machine.
    cores: Option<u32>,
    maker: Maker,
}

/// All of them.
const DAEMONS: [Daemon; 3] = [
    Daemon {
        name: "strongswan",
        scenario: "strongswan-gateway",
        methods: &[
            "ikev2-psk",
            "ikev2-rsa2048",
            "ikev2-ecdsa-p256",
            "ikev2-eap-md5",
            "ikev2-eap-mschapv2",
            "ikev2-eap-tls",
            "ikev2-eap-ttls-md5",
        ],
        role: Node::Gw,
        protocol: "ike",
        configuration: "Debian's charon, no log, ESP in user space, no protection from floods",
        cores: None,
        maker: Maker::StrongSwan,
    },
    Daemon {
        name: "freeradius",
        scenario: "aaa-servers",
        methods: AAA_METHODS,
        role: Node::Aaa,
        protocol: "radius",
        configuration: "Debian's, one worker thread, no log, users in a file",
        cores: Some(1),
        maker: Maker::FreeRadius,
    },
    Daemon {
        name: "hostapd",
        scenario: "aaa-servers",
        methods: AAA_METHODS,
        role: Node::Aaa,
        protocol: "radius",
        configuration: "Debian's, as a RADIUS server, no log, users in a file",
        cores: Some(1),
        maker: Maker::Hostapd,
    },
];

impl Daemon {
    fn cores(&self) -> u32 {
        self.cores.unwrap_or_else(|| keytoll_lab::machine().cores)
    }
}

/// Those of AAA servers.
const AAA_METHODS: &[&str] = &[
    "ikev2-eap-md5",
    "ikev2-eap-mschapv2",
    "ikev2-eap-tls",
    "ikev2-eap-ttls-md5",
    "ikev2-eap-peap-mschapv2",
];

/// The names of all daemons.
pub(crate) fn names() -> Vec<&'static str> {
    DAEMONS.iter().map(|daemon| daemon.name).collect()
}

/// Calibrates a daemon.
pub(crate) fn calibrate(args: &CalibrateArgs) -> Result<ExitCode, Report> {
    let daemon = DAEMONS.iter().find(|daemon| daemon.name == args.target);
    let daemon = daemon.ok_or_else(|| miette!("`{}` is no daemon that keytoll starts", args.target))?;
    let methods = methods(daemon, &args.methods)?;
    let plans = methods.iter().map(|method| plan(daemon, method)).collect::<Result<Vec<_>, _>>()?;
    let page = Page::open(Some(&args.out), &COST_TABLE)?;
    let stop = interrupt::watch(|| {})?;
    let loads = methods.len() * (1 + args.busy().len() * args.rounds as usize);
    let progress = Progress::begin(Counted { length: loads as u64, of: "loads", switch: "--rounds" });
    let mut authentications = Vec::new();
    for plan in &plans {
        let Some(price) = price(daemon, plan, args, (&stop, &progress))? else { break };
        authentications.push(price);
    }
    drop(progress);
    if stop.load(Ordering::Relaxed) {
        screen::note("interrupted: no table is written\n");
        return Ok(interrupt::exit_code().unwrap_or(ExitCode::SUCCESS));
    }
    let table = table(daemon, authentications)?;
    page.map_or(Ok(()), |page| page.write(|out| table.write(out)))?;
    show(&table, args)?;
    Ok(ExitCode::SUCCESS)
}

/// The methods to calibrate, each once.
fn methods(daemon: &Daemon, chosen: &[String]) -> Result<Vec<&'static str>, Report> {
    let find = |method: &String| {
        let known = daemon.methods.iter().find(|known| *known == method);
        known.copied().ok_or_else(|| {
            let message = format!("`{method}` cannot be calibrated with {} yet", daemon.name);
            Usage::because(message, format!("choose among {}", daemon.methods.join(", ")))
        })
    };
    let mut methods = chosen.iter().map(find).collect::<Result<Vec<_>, _>>()?;
    if let Some(twice) =
        methods.iter().enumerate().find_map(|(n, it)| methods[..n].contains(it).then_some(it))
    {
        let message = format!("`--method {twice}` is there twice");
        return Err(Usage::hint(message, "name each method once").into());
    }
    if methods.is_empty() {
        methods = daemon.methods.to_vec();
    }
    Ok(methods)
}

/// The row of a method with the daemon as its node.
fn plan(daemon: &Daemon, method: &str) -> Result<Plan, Report> {
    let mut sets = vec![stands_for(daemon.role, daemon.name)];
    if daemon.role == Node::Gw && method.contains("-eap-") {
        sets.push(stands_for(Node::Aaa, Maker::FreeRadius.name()));
    }
    let source = Source::builtin(daemon.scenario).map_err(|error| miette!("{error}"))?;
    let mut plan = source.plan(&Overrides::parse(&sets)?)?;
    plan.rows.retain(|row| row.method.name() == method);
    Ok(plan)
}

/// A daemon in the place of a node.
fn stands_for(node: Node, daemon: &str) -> String {
    format!("sweep.{}=[\"{daemon}\"]", node.name())
}

const REMEDY: &str = "Choose less with `--busy`, or end other programs";

/// The costs of an authentication by the method of a plan; `None` if it was interrupted.
fn price(
    daemon: &Daemon,
    plan: &Plan,
    args: &CalibrateArgs,
    (stop, progress): (&AtomicBool, &Progress),
) -> Result<Option<AuthenticationPrice>, Report> {
    let method = plan.rows.first().map_or("", |row| row.method.name());
    let standing = Standing::start(plan).map_err(|error| miette!("{error}"))?;
    let bench = Bench::new(&standing, (daemon.role, daemon.cores()), method)?;
    let pilot_s = args.seconds.min(load::PILOT_S);
    let mut cpu_us = match bench.load(load::PILOT_RATE_PER_S, pilot_s, stop)? {
        Outcome::Sample(pilot) => pilot.cpu_us,
        Outcome::Unfit(why) => return Err(miette!("{why}. {REMEDY}")),
        Outcome::Interrupted => return Ok(None),
    };
    progress.tick();
    let (mut levels, mut unfit) = (Vec::<(f64, Vec<DaemonSample>)>::new(), None);
    // All rates in each round: what changes with time changes them alike.
    for round in 0..args.rounds as usize {
        for (place, busy) in args.busy().into_iter().enumerate() {
            if round == 0 {
                // A busier daemon takes less for each authentication: a rate is chosen by the load before it.
                levels.push((busy / 100.0 * 1e6 / cpu_us, Vec::new()));
            }
            let (rate_per_s, samples) = &mut levels[place];
            match bench.load(*rate_per_s, args.seconds, stop)? {
                Outcome::Sample(sample) => {
                    cpu_us = sample.cpu_us;
                    samples.push(sample);
                }
                Outcome::Unfit(why) => {
                    screen::note(&format!("left out: {why}\n"));
                    unfit = Some(why);
                }
                Outcome::Interrupted => return Ok(None),
            }
            progress.tick();
        }
    }
    levels.retain(|(_, samples)| !samples.is_empty());
    match unfit.filter(|_| levels.is_empty()) {
        Some(why) => Err(miette!("{why}. {REMEDY}")),
        None => Ok(Some(daemon::price((method, daemon.role.name(), daemon.protocol), &levels))),
    }
}

fn table(daemon: &Daemon, authentications: Vec<AuthenticationPrice>) -> Result<CostTable, Report> {
    let version = version_of(daemon.maker).unwrap_or_else(|| "of unknown version".to_owned());
    let (name, configuration) = (daemon.name.to_owned(), daemon.configuration.to_owned());
    let cores_count = daemon.cores();
    let costs = DaemonCosts { name, version, configuration, cores_count, authentications };
    let now = keytoll_native::clock::unix_seconds();
    let table = CostTable::new(version::short(), now, keytoll_lab::machine(), "");
    let table = CostTable { daemon: Some(costs), ..table };
    table.sound().map_err(|error| miette!("no table is written: it {error}"))
}

fn show(table: &CostTable, args: &CalibrateArgs) -> Result<(), Report> {
    if args.json {
        return screen::print_json(table);
    }
    let daemon = table.daemon.as_ref().ok_or_else(|| Usage::hint("no daemon".to_owned(), "calibrate one"))?;
    let mut rows = vec![HEADS.map(str::to_owned).to_vec()];
    let cores = f64::from(daemon.cores_count);
    let of = |price: &AuthenticationPrice| {
        price.loads.iter().map(|load| row(price, load, cores)).collect::<Vec<_>>()
    };
    rows.extend(daemon.authentications.iter().flat_map(of));
    screen::print(&format!("{}\n\n{}", sentence(table, daemon), screen::table(&rows)))
}

const HEADS: [&str; 8] =
    ["method", "auth/s", "% of a core", "cpu us", "95 % interval", "kernel %", "p50 ms", "p99 ms"];

fn row(price: &AuthenticationPrice, load: &AuthenticationLoad, cores: f64) -> Vec<String> {
    let interval = load.cpu_us_ci95.map_or_else(String::new, |[low, high]| format!("{low:.0} to {high:.0}"));
    vec![
        price.method.clone(),
        format!("{:.0}", load.rate_per_s),
        format!("{:.0}", 100.0 * cores * load.utilisation),
        format!("{:.0}", load.cpu_us),
        interval,
        format!("{:.0}", 100.0 * load.kernel_share),
        format!("{:.2}", load.delay_ms_p50),
        format!("{:.2}", load.delay_ms_p99),
    ]
}

/// A sentence to forward.
fn sentence(table: &CostTable, DaemonCosts { name, version, authentications, .. }: &DaemonCosts) -> String {
    let dearest =
        |price: &AuthenticationPrice| price.loads.iter().map(|load| load.cpu_us).fold(0.0, f64::max);
    let each = authentications.iter().map(|price| format!("{} {:.0} us", price.method, dearest(price)));
    format!(
        "An authentication costs {name} {version} at most, of the loads here, on {}: {}.",
        table.machine.cpu,
        each.collect::<Vec<_>>().join(", ")
    )
}

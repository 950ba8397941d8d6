//! The command line: verbs, their arguments and their help.

mod help;
mod live;
mod number;
mod results;
mod size;

use std::ffi::OsStr;
use std::num::{NonZeroU32, NonZeroUsize};
use std::path::{Path, PathBuf};

use clap::builder::PossibleValuesParser;
use clap::builder::styling::Styles;
use clap::{Args, Parser, Subcommand, ValueEnum};
use keytoll_scenario::catalogue::Method;
use keytoll_scenario::plan::SAMPLES_MAX;
use keytoll_scenario::{Overrides, Plan, Source};
use keytoll_studies::{STUDIES, Study};
use keytoll_trace::Node;
use miette::Report;

use crate::list::{CRITERIA_LIST, OPTIONS_LIST, SCHEMAS_LIST, STUDIES_LIST};
use crate::schema::SCHEMAS;
use crate::screen::{self, Usage};
use crate::version;
use help::{
    AAA_HELP, CALIBRATE_HELP, CHECK_HELP, COMPARE_HELP, COMPLETIONS_HELP, CONNECT_HELP, CRYPTO_HELP,
    DECODE_HELP, EXPORT_HELP, GATEWAY_HELP, HSS_HELP, KEYTOLL_HELP, LIST_HELP, LOAD_HELP, MAN_HELP,
    MEASURE_HELP, PROFILE_HELP, RANK_HELP, REPORT_HELP, RUN_HELP, SCHEMA_HELP, SIZE_HELP, STUDY_HELP,
};
pub(crate) use live::{ConnectArgs, Listen, LoadArgs, MetricsArgs, NodeArgs, ServeArgs};
use number::whole;
pub(crate) use results::{CompareArgs, ExportArgs, ExportFormat, RankArgs, ReportArgs};
pub(crate) use size::{Present, SizeArgs};

/// Measures what network access authentication costs: real protocols and real cryptography over emulated networks.
#[derive(Debug, Parser)]
#[command(name = "keytoll", version = version::short(), long_version = version::long(), styles = Styles::plain(), after_help = KEYTOLL_HELP, max_term_width = 100)]
pub(crate) struct Cli {
    /// Colour in messages.
    #[arg(long, global = true, value_enum, default_value_t = Color::Auto, value_name = "WHEN")]
    pub(crate) color: Color,
    /// The verb.
    #[command(subcommand)]
    pub(crate) verb: Verb,
}

/// Whether messages are coloured; `Auto`: if stderr is a terminal and NO_COLOR is not set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Color {
    // Doc comments here would add six lines to the help of every verb.
    Auto,
    Never,
}

/// The verbs.
#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    /// Run a scenario and measure every authentication.
    #[command(after_help = RUN_HELP)]
    Run(RunArgs),
    /// Repeat the measurements of a paper, and compare the results with the published ones.
    #[command(after_help = STUDY_HELP)]
    Study(StudyArgs),
    /// Show where the CPU time of a node goes, crypto operation by crypto operation.
    #[command(after_help = PROFILE_HELP)]
    Profile(ProfileArgs),
    /// Run a gateway: IKE or HIP on real sockets.
    #[command(after_help = GATEWAY_HELP)]
    Gateway(ServeArgs),
    /// Run an AAA server: RADIUS and EAP on real sockets.
    #[command(after_help = AAA_HELP)]
    Aaa(ServeArgs),
    /// Run a server with the subscribers' keys: Diameter on real sockets.
    #[command(after_help = HSS_HELP)]
    Hss(ServeArgs),
    /// Connect to a gateway as one device, and show how long it took.
    #[command(after_help = CONNECT_HELP)]
    Connect(ConnectArgs),
    /// Let many devices authenticate to a real target on a schedule, and show delays, rates and failures.
    #[command(after_help = LOAD_HELP)]
    Load(LoadArgs),
    /// Check a scenario or a node file, and show what it would run, without running it.
    #[command(after_help = CHECK_HELP)]
    Check(CheckArgs),
    /// List the names that scenarios can use, with sources.
    #[command(after_help = LIST_HELP)]
    List(ListArgs),
    /// Print the JSON Schema of a verb's --json output, or of a file of a run.
    #[command(after_help = SCHEMA_HELP)]
    Schema(SchemaArgs),
    /// Render the report of a run again.
    #[command(after_help = REPORT_HELP)]
    Report(ReportArgs),
    /// Export the tables and outcomes of a run: CSV, Parquet, LaTeX, Markdown, JUnit's XML, Prometheus's metrics.
    #[command(after_help = EXPORT_HELP)]
    Export(ExportArgs),
    /// Compare two runs, or the rows of one, and say which differences may be chance.
    #[command(after_help = COMPARE_HELP)]
    Compare(CompareArgs),
    /// Rank the methods of a run by several criteria, and show how sensitive the order is.
    #[command(after_help = RANK_HELP)]
    Rank(RankArgs),
    /// Size gateways and servers for many devices from a run, and show what changes if something else does.
    #[command(after_help = SIZE_HELP)]
    Size(SizeArgs),
    /// Show the messages in a capture.
    #[command(after_help = DECODE_HELP)]
    Decode(DecodeArgs),
    /// Run one node of a live run; started by `keytoll run`.
    #[command(hide = true)]
    Node,
    /// Measure the authentications in a capture.
    #[command(after_help = MEASURE_HELP)]
    Measure(MeasureArgs),
    /// Measure single crypto operations.
    #[command(after_help = CRYPTO_HELP)]
    Crypto(CryptoArgs),
    /// Measure what authentications cost a daemon of others, and write a cost table.
    #[command(after_help = CALIBRATE_HELP)]
    Calibrate(CalibrateArgs),
    /// Print completions for a shell.
    #[command(after_help = COMPLETIONS_HELP)]
    Completions(CompletionsArgs),
    /// Write manual pages, one for each verb.
    #[command(after_help = MAN_HELP)]
    Man(ManArgs),
}

impl Verb {
    /// Whether real time passes while it works, on sockets.
    pub(crate) const fn is_live(&self) -> bool {
        matches!(
            self,
            Self::Gateway(_) | Self::Aaa(_) | Self::Hss(_) | Self::Connect(_) | Self::Load(_) | Self::Node
        )
    }

    /// Whether it runs until a signal ends it, which is then no interruption.
    pub(crate) fn serves(&self) -> bool {
        match self {
            Self::Gateway(_) | Self::Aaa(_) | Self::Hss(_) | Self::Node => true,
            Self::Connect(args) => args.stay || args.node.control,
            _ => false,
        }
    }
}

/// The scenario, and the changes to it.
#[derive(Debug, Args)]
pub(crate) struct ScenarioArgs {
    /// Name of a built-in scenario, or path of a file; `-` for standard input.
    #[arg(value_name = "SCENARIO|FILE", default_value = "quickstart")]
    pub(crate) scenario: String,
    #[command(flatten)]
    pub(crate) changes: Changes,
}

impl ScenarioArgs {
    /// The source, a scenario or a node file; `-` is standard input.
    pub(crate) fn source(&self) -> Result<Source, Report> {
        Ok(Source::find(&self.scenario)?)
    }

    /// The scenario with the changes of the command line.
    pub(crate) fn plan(&self) -> Result<Plan, Report> {
        let source = self.source()?;
        if source.is_load() {
            let message = format!("`{}` is the file of a load, not a scenario", self.scenario);
            return Err(Usage::hint(message, "`keytoll load` runs it").into());
        }
        if source.is_node() {
            let message = format!("`{}` is the file of a node, not a scenario", self.scenario);
            let hint = "`keytoll gateway`, `aaa`, `hss` or `connect` runs it, as its `role` says";
            return Err(Usage::hint(message, hint).into());
        }
        self.changes.plan(&source)
    }

    /// The name for its results.
    fn stem(&self) -> &OsStr {
        match self.scenario.as_str() {
            "-" => "stdin".as_ref(),
            path => Path::new(path).file_stem().unwrap_or("scenario".as_ref()),
        }
    }
}

/// Changes to a scenario.
#[derive(Debug, Args)]
pub(crate) struct Changes {
    /// Seed of every random stream.
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = whole::<u64>(0, u64::MAX))]
    pub(crate) seed: Option<u64>,
    /// Authentications per row.
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = whole::<u32>(1, SAMPLES_MAX))]
    pub(crate) samples: Option<u32>,
    /// Replace a value of the scenario, like `options.mode=transport`; can be repeated.
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub(crate) sets: Vec<String>,
    /// Use real cryptography (of AWS-LC, or of the system's OpenSSL in builds with it), none at all, or the costs of a
    /// table.
    #[arg(long, value_parser = ["real", "openssl", "null", "table"])]
    pub(crate) crypto: Option<String>,
    /// The table of `--crypto table`, as written by `keytoll crypto --calibrate`.
    #[arg(long, value_name = "FILE")]
    pub(crate) costs: Option<String>,
    /// Simulate, or run every node on real sockets in a process of its own.
    #[arg(long, value_parser = ["sim", "live"])]
    pub(crate) world: Option<String>,
    /// Private exponents of MODP groups: as short as is safe, or as long as the modulus.
    #[arg(long, value_parser = ["short", "full"])]
    pub(crate) exponents: Option<String>,
}

impl Changes {
    /// Whether there are any.
    fn any(&self) -> bool {
        let words = [&self.crypto, &self.costs, &self.exponents, &self.world];
        let switches = [words.iter().any(|word| word.is_some()), self.seed.is_some()];
        !self.sets.is_empty() || self.samples.is_some() || switches.contains(&true)
    }

    /// The plan of a scenario with these changes.
    pub(crate) fn plan(&self, source: &Source) -> Result<Plan, Report> {
        let mut overrides = Overrides::parse(&self.sets)?;
        let switches = [
            ("seed", self.seed.map(|seed| seed.to_string())),
            ("samples", self.samples.map(|samples| samples.to_string())),
            ("crypto", self.crypto.clone()),
            ("costs", self.costs.clone()),
            ("world", self.world.clone()),
            ("exponents", self.exponents.clone()),
        ];
        for (key, value) in switches {
            if let Some(value) = value {
                overrides.add("--", &format!("{key}={value}"))?;
            }
        }
        let plan = of_known_study(source.plan(&overrides)?)?;
        plan.advice().iter().for_each(|advice| screen::note(&format!("warning: {advice}\n")));
        Ok(plan)
    }
}

fn of_known_study(plan: Plan) -> Result<Plan, Report> {
    match plan.study.as_deref() {
        Some(name) if Study::named(name).is_none() => {
            let message = format!("the scenario belongs to an unknown study `{name}`");
            Err(Usage::hint(message, "`keytoll list studies` shows what there is; or leave `study` out")
                .into())
        }
        _ => Ok(plan),
    }
}

/// Arguments of `run`.
#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    #[command(flatten)]
    pub(crate) scenario: ScenarioArgs,
    #[command(flatten)]
    pub(crate) execution: Execution,
    /// Print summary.json instead of the table.
    #[arg(long)]
    pub(crate) json: bool,
}

impl RunArgs {
    /// The directory for the results.
    pub(crate) fn out_dir(&self) -> PathBuf {
        self.execution.out_dir(self.scenario.stem())
    }
}

/// Arguments of `study`.
#[derive(Debug, Args)]
pub(crate) struct StudyArgs {
    /// Which study, or `all` of them.
    #[arg(value_parser = PossibleValuesParser::new(STUDIES.iter().map(|study| study.name).chain([ALL_STUDIES])))]
    pub(crate) name: String,
    #[command(flatten)]
    pub(crate) changes: Changes,
    #[command(flatten)]
    pub(crate) execution: Execution,
    /// Print study.json instead of the tables.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Every study.
const ALL_STUDIES: &str = "all";

/// Arguments of `profile`.
#[derive(Debug, Args)]
pub(crate) struct ProfileArgs {
    /// Method of the catalogue, or `esp` for packets through a tunnel.
    #[arg(value_name = "METHOD")]
    pub(crate) method: String,
    /// The node to profile: the device (ue), the gateway (gw) or access point (ap), the AAA server, or the server with the
    /// subscribers' keys (hss) [default: gw, or ap].
    #[arg(long, value_parser = ["ue", "gw", "ap", "aaa", "hss"])]
    pub(crate) node: Option<String>,
    /// Suite of the IKE SA, or for ESP; can be repeated, each is a column [default: those of the catalogue; for IKEv1
    /// those of Shue 2005; for ESP those and two current ones].
    #[arg(long = "suite", value_name = "SUITE")]
    pub(crate) suites: Vec<String>,
    /// Network between device and gateway [default: loopback, without delay].
    #[arg(long, value_name = "NAME")]
    pub(crate) network: Option<String>,
    /// For `esp`: length of the echo request in bytes, IP header included [default: 736].
    #[arg(long, value_name = "BYTES", allow_negative_numbers = true, value_parser = whole::<u16>(0, u16::MAX.into()))]
    pub(crate) packet: Option<u16>,
    /// Authentications measured for each column, or packets [default: 25, or 1000 packets].
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = whole::<NonZeroU32>(1, u32::MAX.into()))]
    pub(crate) count: Option<NonZeroU32>,
    /// Also measure without cryptography, for comparison; `esp` always does.
    #[arg(long)]
    pub(crate) skeleton: bool,
    /// Set a value as in a scenario, like `options.chain=4`; can be repeated.
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub(crate) sets: Vec<String>,
    /// Private exponents of MODP groups: as short as is safe, or as long as the modulus.
    #[arg(long, value_parser = ["short", "full"])]
    pub(crate) exponents: Option<String>,
    /// Also write a page with charts into this file.
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
    /// Print JSON instead of tables.
    #[arg(long)]
    pub(crate) json: bool,
}

impl ProfileArgs {
    /// The node to look at.
    pub(crate) fn node(&self) -> Node {
        let Some(name) = &self.node else { return self.serving() };
        let named = Node::ALL.into_iter().find(|node| node.name() == name);
        named.expect("the command line takes names of nodes only")
    }

    /// The node that serves the device.
    fn serving(&self) -> Node {
        let of_method = |method: &Method| Node::SERVING.into_iter().find(|node| method.nodes.contains(node));
        Method::named(&self.method).and_then(of_method).unwrap_or(Node::Gw)
    }

    /// The plan with a row for each suite.
    pub(crate) fn plan(&self) -> Result<Plan, Report> {
        let mut overrides = Overrides::parse(&self.sets)?;
        overrides.add("", &format!("methods={}", self.method))?;
        let network = self.network.as_deref().unwrap_or("loopback");
        overrides.add("--network ", &format!("networks={network}"))?;
        let mut suites: Vec<&str> = self.suites.iter().map(String::as_str).collect();
        if let (true, Some(method)) = (suites.is_empty(), Method::named(&self.method)) {
            suites.extend((method.family.profile_suites)(method));
        }
        if !suites.is_empty() {
            let quoted: Vec<String> = suites.iter().map(|suite| format!("{suite:?}")).collect();
            overrides.add("--suite ", &format!("suites=[{}]", quoted.join(", ")))?;
        }
        if let Some(exponents) = &self.exponents {
            overrides.add("--", &format!("exponents={exponents}"))?;
        }
        Ok(Source::text("profile", "").plan(&overrides)?)
    }
}

/// How a plan is run, and which results are kept.
#[derive(Debug, Args)]
pub(crate) struct Execution {
    /// Directory for the results [default: runs/NAME].
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Rows measured at the same time [default: all cores].
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = whole::<NonZeroUsize>(1, usize::MAX as u64))]
    pub(crate) threads: Option<NonZeroUsize>,
    /// Replace the previous run instead of keeping it beside the new one.
    #[arg(long)]
    pub(crate) force: bool,
    /// Keep no trace, only the results computed from it.
    #[arg(long)]
    pub(crate) no_trace: bool,
    /// Write the packets of every link into capture/ of the directory, with the keys to decrypt them.
    #[arg(long)]
    pub(crate) pcap: bool,
    /// Capture only the first N authentications of every row [default: all].
    #[arg(long, value_name = "N", requires = "pcap", allow_negative_numbers = true, value_parser = whole::<u32>(0, u32::MAX.into()))]
    pub(crate) pcap_samples: Option<u32>,
}

impl Execution {
    /// Whether any of these is given.
    fn any(&self) -> bool {
        let Self { out, threads, force, no_trace, pcap, pcap_samples } = self;
        let switches = [*force, *no_trace, *pcap, threads.is_some(), pcap_samples.is_some()];
        out.is_some() || switches.contains(&true)
    }

    /// The directory for the results of a run with this name.
    pub(crate) fn out_dir(&self, name: impl AsRef<Path>) -> PathBuf {
        self.out.clone().unwrap_or_else(|| Path::new("runs").join(name))
    }

    /// How many authentications of every row are captured.
    pub(crate) fn captured(&self) -> u32 {
        if self.pcap { self.pcap_samples.unwrap_or(u32::MAX) } else { 0 }
    }

    /// How many rows to measure at the same time.
    pub(crate) fn threads(&self) -> usize {
        let cores = || std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
        self.threads.map_or_else(cores, NonZeroUsize::get)
    }
}

/// Arguments of `check`.
#[derive(Debug, Args)]
pub(crate) struct CheckArgs {
    #[command(flatten)]
    pub(crate) scenario: ScenarioArgs,
    #[command(flatten)]
    pub(crate) execution: Execution,
    /// Print JSON instead of the table; its `plan` is a scenario file without defaults.
    #[arg(long)]
    pub(crate) json: bool,
}

impl CheckArgs {
    /// Where `run` would put the results.
    pub(crate) fn out_dir(&self) -> PathBuf {
        self.execution.out_dir(self.scenario.stem())
    }

    /// Refuses options of a run for a node file.
    pub(crate) fn unchanged(&self) -> Result<(), Report> {
        if self.scenario.changes.any() || self.execution.any() {
            let message =
                format!("`{}` is no scenario; nothing in it can be replaced", self.scenario.scenario);
            return Err(Usage::hint(message, "leave `--set` and the like out, or edit the file").into());
        }
        Ok(())
    }
}

/// Arguments of `list`.
#[derive(Debug, Args)]
pub(crate) struct ListArgs {
    /// The list [default: all lists].
    #[arg(value_parser = ["methods", "networks", "topologies", "groups", "suites", "signatures", "cpus", "faults", "scenarios", "papers", OPTIONS_LIST, STUDIES_LIST, CRITERIA_LIST, SCHEMAS_LIST])]
    pub(crate) list: Option<String>,
    /// Print JSON instead of tables.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Arguments of `schema`.
#[derive(Debug, Args)]
pub(crate) struct SchemaArgs {
    /// Which schema.
    #[arg(value_parser = PossibleValuesParser::new(SCHEMAS.iter().map(|schema| schema.name)))]
    pub(crate) name: String,
}

/// The capture and its keys.
#[derive(Debug, Args)]
pub(crate) struct CaptureArgs {
    /// A pcap or pcapng file; `-` for standard input.
    pub(crate) capture: PathBuf,
    /// Directory with key tables in Wireshark's format.
    #[arg(long, value_name = "DIR")]
    pub(crate) keys: Option<PathBuf>,
}

/// Arguments of `decode`.
#[derive(Debug, Args)]
pub(crate) struct DecodeArgs {
    #[command(flatten)]
    pub(crate) from: CaptureArgs,
    /// Show this conversation only; can be repeated.
    #[arg(long = "conversation", value_name = "N", allow_negative_numbers = true, value_parser = whole::<usize>(0, usize::MAX as u64))]
    pub(crate) conversations: Vec<usize>,
    /// Print one line for each conversation instead of its ladder.
    #[arg(long)]
    pub(crate) list: bool,
    /// Also write a page with the ladders into this file.
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
    /// Columns of the ladder [default: the terminal's, or 100 without one].
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = whole::<usize>(0, usize::MAX as u64))]
    pub(crate) width: Option<usize>,
    /// Print JSON instead of ladders.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Arguments of `measure`.
#[derive(Debug, Args)]
pub(crate) struct MeasureArgs {
    #[command(flatten)]
    pub(crate) from: CaptureArgs,
    /// Directory for the results [default: none are kept].
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Replace the previous results instead of keeping them beside the new ones.
    #[arg(long, requires = "out")]
    pub(crate) force: bool,
    /// Print summary.json instead of the table.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Arguments of `crypto`.
#[derive(Debug, Args)]
pub(crate) struct CryptoArgs {
    /// Families, operations or algorithms to measure [default: all].
    #[arg(value_name = "PRIMITIVE")]
    pub(crate) primitives: Vec<String>,
    /// Print a paper's table instead: Table 4-1 of the RRKM thesis, or Table 1 of Praptodiyono 2018 (`keytoll list papers`).
    #[arg(long, value_name = "TABLE", value_parser = [RSA_RC4_SHA1, DH_GROUPS], conflicts_with_all = ["primitives", "sizes", "calibrate"])]
    pub(crate) table: Option<String>,
    /// Measure the cost of every operation and write the table into this file.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["primitives", "sizes", "exponents", "json"])]
    pub(crate) calibrate: Option<PathBuf>,
    /// With --calibrate: also what a message costs besides cryptography, from this run of the live world on this machine, or, said
    /// several times, from loads of different rates.
    #[arg(long, value_name = "RUN", requires = "calibrate")]
    pub(crate) messages: Vec<PathBuf>,
    /// Operations of each primitive [default: as many as fit into 60 ms; in a paper's table as many as in the paper].
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = whole::<NonZeroU32>(1, u32::MAX.into()))]
    pub(crate) count: Option<NonZeroU32>,
    /// Message length in bytes, up to 1 MiB; can be repeated [default: 64, 576 and 1400].
    #[arg(long = "size", value_name = "BYTES", allow_negative_numbers = true, value_parser = whole::<u32>(1, 1 << 20))]
    pub(crate) sizes: Vec<u32>,
    /// Private exponents of MODP groups: as short as is safe, or as long as the modulus.
    #[arg(long, value_parser = ["short", "full", "both"], default_value = "both")]
    pub(crate) exponents: String,
    /// Use the cryptography of AWS-LC, or of the system's OpenSSL in builds with it.
    #[arg(long, value_parser = ["real", "openssl"], default_value = "real")]
    pub(crate) crypto: String,
    /// Print JSON instead of tables.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Arguments of `calibrate`.
#[derive(Debug, Args)]
pub(crate) struct CalibrateArgs {
    /// The daemon: it is started, in a network namespace, with a configuration of its own.
    #[arg(value_name = "DAEMON", value_parser = crate::calibrate::names())]
    pub(crate) target: String,
    /// The cost table to write.
    #[arg(long, value_name = "FILE")]
    pub(crate) out: PathBuf,
    /// A method of `keytoll list methods`; can be repeated [default: all that keytoll can load the daemon with].
    #[arg(long = "method", value_name = "METHOD")]
    pub(crate) methods: Vec<String>,
    /// How much of a core the daemon is to be busy, in percent; can be repeated [default: 5, 20, 40, 60 and 80].
    #[arg(long = "busy", value_name = "PERCENT", value_parser = whole::<u32>(1, 400))]
    busy_percent: Vec<u32>,
    /// Loads of each rate, for the interval.
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = whole::<u32>(1, 100))]
    pub(crate) rounds: u32,
    /// How long each load takes, in seconds.
    #[arg(long, value_name = "SECONDS", default_value_t = 10.0, value_parser = seconds)]
    pub(crate) seconds: f64,
    /// Print the cost table as JSON instead of a table for people.
    #[arg(long)]
    pub(crate) json: bool,
}

/// From a second to an hour.
fn seconds(text: &str) -> Result<f64, String> {
    let seconds = text.parse().ok().filter(|seconds| (1.0..=3600.0).contains(seconds));
    seconds.ok_or_else(|| "a number of seconds from 1 to 3600".to_owned())
}

impl CalibrateArgs {
    /// How much of a core the daemon is to be busy, in percent.
    pub(crate) fn busy(&self) -> Vec<f64> {
        let chosen = if self.busy_percent.is_empty() { &[5, 20, 40, 60, 80] } else { &self.busy_percent[..] };
        chosen.iter().copied().map(f64::from).collect()
    }
}

/// The table of paper 002.
pub(crate) const DH_GROUPS: &str = "dh-groups";
/// The table of paper 001.
pub(crate) const RSA_RC4_SHA1: &str = "rsa-rc4-sha1";

/// Arguments of `completions`.
#[derive(Debug, Args)]
pub(crate) struct CompletionsArgs {
    /// Which shell.
    pub(crate) shell: clap_complete::Shell,
}

/// Arguments of `man`.
#[derive(Debug, Args)]
pub(crate) struct ManArgs {
    /// Directory for the pages; created if missing.
    #[arg(value_name = "DIR")]
    pub(crate) dir: PathBuf,
}

#[cfg(test)]
mod tests;

//! Arguments of the verbs that read the results of runs.

use std::path::PathBuf;

use clap::builder::PossibleValuesParser;
use clap::{Args, ValueEnum};
use keytoll_analysis::compare::threshold::Condition;
use keytoll_ranking::file::BUILTIN;
use keytoll_ranking::methods::METHODS;

use super::number::whole;

/// Arguments of `report`.
#[derive(Debug, Args)]
pub(crate) struct ReportArgs {
    /// Directory that `keytoll run` wrote.
    pub(crate) dir: PathBuf,
    /// Print summary.json instead of the table.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Arguments of `export`.
#[derive(Debug, Args)]
pub(crate) struct ExportArgs {
    /// Directory that `keytoll run`, `keytoll study` or `keytoll load` wrote.
    #[arg(value_name = "RUN")]
    pub(crate) dir: PathBuf,
    /// What to write.
    #[arg(long, value_enum, value_name = "FORMAT")]
    pub(crate) format: ExportFormat,
    /// Write it into this file instead of stdout; pictures and columnar files into this directory.
    #[arg(long, value_name = "FILE|DIR")]
    pub(crate) out: Option<PathBuf>,
}

/// Formats of other programs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ExportFormat {
    /// A line for each number of all tables, with every digit.
    Csv,
    /// Tables with booktabs' rules.
    Latex,
    /// Tables as GitHub shows them.
    Markdown,
    /// JUnit's XML: a case for each row, condition or finding.
    Junit,
    /// Prometheus's text format.
    Prometheus,
    /// Every chart, ladder and ranking of the report, a file each; in builds with the feature `svg`.
    Svg,
    /// Every CSV file of the run as a columnar file; in builds with the feature `parquet`.
    Parquet,
}

/// Arguments of `rank`.
#[derive(Debug, Args)]
pub(crate) struct RankArgs {
    /// Directory that `keytoll run` or `keytoll study` wrote.
    #[arg(value_name = "RUN")]
    pub(crate) dir: PathBuf,
    /// Name of built-in criteria, or path of a file.
    #[arg(long, value_name = "NAME|FILE", default_value = BUILTIN[0].name)]
    pub(crate) criteria: String,
    /// Weights: `file`, those of the file; `experts`, from all experts; `printed`, from published judgements only; `equal`, all equal; `NAME=WEIGHT`, that
    /// of a criterion, and its group shares the rest. Several with commas.
    #[arg(long = "weights", value_name = "file|experts|printed|equal|NAME=WEIGHT")]
    pub(crate) weights: Vec<String>,
    /// Method of ranking: multiplicative AHP, weighted sum, weighted product, or TOPSIS.
    #[arg(long, value_name = "METHOD", value_parser = PossibleValuesParser::new(METHODS.iter().map(|method| method.name)), default_value = METHODS[0].name)]
    pub(crate) method: String,
    /// Monte-Carlo draws.
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = whole::<u32>(1, 10_000_000), default_value = "100000")]
    pub(crate) draws: u32,
    /// Seed of the draws.
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = whole::<u64>(0, u64::MAX), default_value = "1")]
    pub(crate) seed: u64,
    /// Print JSON instead of tables and sentences.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Arguments of `compare`.
#[derive(Debug, Args)]
pub(crate) struct CompareArgs {
    /// One run: its rows are compared. Two: the second with the first. More: the first side, and --against names the second.
    #[arg(value_name = "RUN", required = true)]
    pub(crate) runs: Vec<PathBuf>,
    /// Runs of the second side. From three runs on a side, CPU times are compared run by run; five are better.
    #[arg(long, value_name = "OTHER", num_args = 1..)]
    pub(crate) against: Vec<PathBuf>,
    /// Row with which the others of RUN are compared: a method, or a method and its options [default: the first of each
    /// network].
    #[arg(long, value_name = "ROW", conflicts_with = "against")]
    pub(crate) baseline: Option<String>,
    /// Show only this measure, such as delay_ms or cpu_us.gw; can be repeated.
    #[arg(long = "measure", value_name = "MEASURE")]
    pub(crate) measures: Vec<String>,
    /// Fail if the whole 95 % interval of a difference is beyond a limit, like 'delay_ms.p95 > +10%', or if the second row has such a
    /// value, like 'delay.p95 > 300ms'; can be repeated.
    #[arg(long, value_name = "CONDITION", value_parser = Condition::read)]
    pub(crate) fail_if: Vec<Condition>,
    /// Also write a page with charts into this file.
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
    /// Print JSON instead of tables.
    #[arg(long)]
    pub(crate) json: bool,
}

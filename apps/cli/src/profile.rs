//! `keytoll profile`: where the CPU time of a node goes in an authentication, operation by operation.

pub(crate) mod packets;

use std::num::NonZeroU32;
use std::process::ExitCode;
use std::sync::atomic::AtomicBool;

use keytoll_analysis::profile::{Beside, Measured, Profile, Subject};
use keytoll_report::page;
use keytoll_scenario::plan::{CryptoMode, Plan, RowPlan};
use keytoll_trace::Node;
use keytoll_trace::provenance::Provenance;
use miette::{Report, miette};

use crate::args::ProfileArgs;
use crate::outputs::PAGE;
use crate::progress::{Counted, Progress};
use crate::screen::{Page, Usage, interrupted, note_interruption, width, written};
use crate::{interrupt, version};

/// The number in paper 004.
const AUTHENTICATIONS: u32 = 25;

/// Exit code when an authentication failed.
const FAILED: u8 = 1;

/// Profiles a method and shows the results.
pub(crate) fn profile(args: &ProfileArgs) -> Result<ExitCode, Report> {
    if args.method == packets::ESP {
        return packets::profile(args);
    }
    if args.packet.is_some() {
        let message = format!("`--packet` means nothing to `{}`", args.method);
        return Err(Usage::hint(message, "`keytoll profile esp --packet 736`; or leave it out").into());
    }
    let plans = Plans::new(plan(args)?);
    let html = Page::open(args.html.as_deref(), &PAGE)?;
    let (count, stop) = (args.count.map_or(AUTHENTICATIONS, NonZeroU32::get), interrupt::watch(|| {})?);
    let mut provenance = plans.provenance();
    let profiles = plans.measure(count, args.skeleton, &mut |_| {}, &stop)?;
    keytoll_lab::end(&mut provenance);
    note_interruption(&stop);
    let mut shown = plans.profiles(args.node(), &profiles);
    for profile in &mut shown {
        profile.notes.extend(interrupted(&stop));
        profile.provenance = Some(provenance.clone());
    }
    for shown in &shown {
        if args.json {
            written(|out| keytoll_report::profile::write_json(shown, out))?;
        } else {
            written(|out| keytoll_report::profile::write(shown, width(), out))?;
        }
    }
    html.map_or(Ok(()), |html| html.write_unless(&stop, |out| page::write(&page::profiles(&shown), out)))?;
    let failed = profiles.iter().flatten().any(|profile| profile.failed > 0 || profile.samples == 0);
    Ok(if failed { ExitCode::from(FAILED) } else { ExitCode::SUCCESS })
}

/// The plan of the command line; every row must have the profiled node.
fn plan(args: &ProfileArgs) -> Result<Plan, Report> {
    let plan = args.plan()?;
    let Some(row) = plan.rows.iter().find(|row| !row.has_node(args.node())) else { return Ok(plan) };
    let is_of_method = row.method.nodes.contains(&args.node());
    let with = if is_of_method { " with these options" } else { "" };
    let message = format!("`{}` has no node `{}`{with}", args.method, args.node().name());
    Err(Usage::hint(
        message,
        "`--node ue` is always there, and `--node gw` or, of a wireless LAN, `--node ap`",
    )
    .into())
}

/// The same rows with and without cryptography.
pub(crate) struct Plans {
    real: Plan,
    null: Plan,
}

impl Plans {
    /// The rows of a plan with cryptography, and the same without.
    pub(crate) fn new(real: Plan) -> Self {
        Self { null: Plan { crypto: CryptoMode::Null, ..real.clone() }, real }
    }

    /// The provenance of the measurement.
    fn provenance(&self) -> Provenance {
        version::program().measuring(keytoll_lab::library(self.real.crypto))
    }

    /// Profiles every row in turns; returns for each row a profile of each of [`Plans::subjects`]. `between` is called after each block of
    /// authentications.
    pub(crate) fn measure(
        &self,
        count: u32,
        skeleton: bool,
        between: &mut dyn FnMut(u32),
        stop: &AtomicBool,
    ) -> Result<Vec<Vec<keytoll_lab::Profile>>, Report> {
        let subjects: Vec<Vec<keytoll_lab::Subject<'_>>> =
            (0..self.real.rows.len()).map(|row| self.subjects(row, skeleton)).collect();
        let each = subjects.first().map_or(1, Vec::len);
        let flat = subjects.concat();
        let length = flat.len() as u64 * u64::from(count);
        let progress = Progress::begin(Counted { length, of: "authentications", switch: "--count" });
        let profiles = keytoll_lab::profile(&flat, count, &|| progress.tick(), between, stop);
        drop(progress);
        let profiles = profiles.map_err(|error| miette!("{error}"))?;
        Ok(profiles.chunks(each).map(<[_]>::to_vec).collect())
    }

    /// The ways to run a row: real and timed; for the skeleton also real, null, and null and timed.
    fn subjects(&self, row: usize, skeleton: bool) -> Vec<keytoll_lab::Subject<'_>> {
        let of = |plan, timed| keytoll_lab::Subject { plan, row: &plan.rows[row], timed };
        let beside = [of(&self.real, false), of(&self.null, false), of(&self.null, true)];
        std::iter::once(of(&self.real, true)).chain(beside.into_iter().filter(|_| skeleton)).collect()
    }

    /// One profile for each method, with its rows side by side.
    pub(crate) fn profiles(&self, node: Node, measured: &[Vec<keytoll_lab::Profile>]) -> Vec<Profile> {
        let rows: Vec<Row<'_>> = self.real.rows.iter().zip(measured).collect();
        rows.chunk_by(|(one, _), (other, _)| one.method == other.method)
            .map(|rows| of_method(node, rows))
            .collect()
    }
}

/// A row of the plan, and its profiles.
type Row<'a> = (&'a RowPlan, &'a Vec<keytoll_lab::Profile>);

fn of_method(node: Node, rows: &[Row<'_>]) -> Profile {
    let suites: Vec<String> = rows.iter().map(|(row, _)| suite(row)).collect();
    let columns = rows.iter().zip(&suites);
    let columns: Vec<Measured<'_>> =
        columns.map(|((row, profiles), suite)| measured(row, suite, profiles)).collect();
    let (row, _) = rows[0];
    let network = format!("{} network, {}", row.network.name, row.topology.name());
    let subject = Subject { method: row.method.name(), node, network: &network };
    let profiles: Vec<&keytoll_lab::Profile> = rows.iter().flat_map(|(_, profiles)| *profiles).collect();
    Profile::new(subject, &columns, notes(&profiles))
}

/// The suites offered for the IKE SA; the method where there are none.
fn suite(row: &RowPlan) -> String {
    if row.suites.is_empty() {
        return row.method.name().to_owned();
    }
    row.suites.iter().map(ToString::to_string).collect::<Vec<_>>().join(",")
}

fn measured<'a>(row: &RowPlan, suite: &'a str, profiles: &'a [keytoll_lab::Profile]) -> Measured<'a> {
    let skeleton = match profiles {
        [_, full, skeleton, skeleton_timed] => Some(Beside {
            full: &full.costs,
            skeleton: &skeleton.costs,
            skeleton_timed: &skeleton_timed.costs,
        }),
        _ => None,
    };
    Measured { suite, mark: row.standing().mark(), timed: &profiles[0].costs, skeleton }
}

/// Notes for the reader.
fn notes(profiles: &[&keytoll_lab::Profile]) -> Vec<String> {
    let sum = |of: fn(&keytoll_lab::Profile) -> u32| profiles.iter().map(|profile| of(profile)).sum::<u32>();
    let (failed, disturbed, repeated) =
        (sum(|profile| profile.failed), sum(|profile| profile.disturbed), sum(|profile| profile.repeated));
    let rule = "Operations up to the last one that opens a message (decryption, integrity check, signature \
                verification) stand with the message received, those after it with the message sent; behind the colon stands \
                what they are for. Times are medians with 95 % intervals in brackets: of the medians of blocks of authentications \
                where there are three or more, otherwise distribution-free; kcycles (thousands of cycles) and shares are of medians, which need not add up. The meter's own time is \
                subtracted; IPsec traffic is left out.";
    let quiet = format!(
        "{repeated} authentications during which the thread lost its CPU were made again; {disturbed} that are counted \
         were disturbed all the same."
    );
    let lost = (failed > 0).then(|| format!("{failed} authentications failed and are not counted."));
    [rule.to_owned()].into_iter().chain((repeated > 0).then_some(quiet)).chain(lost).collect()
}

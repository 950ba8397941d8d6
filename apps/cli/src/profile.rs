//! `keytoll profile`: where the time of a node goes in an authentication, operation by operation.

mod packets;

use std::num::NonZeroU32;
use std::process::ExitCode;

use keytoll_analysis::profile::{Beside, Measured, Profile, Subject};
use keytoll_scenario::plan::{Plan, RowPlan};
use keytoll_trace::Node;
use miette::{Report, miette};

use crate::args::ProfileArgs;
use crate::interrupt;
use crate::screen::{Usage, progress_bar, written};

/// As many as in paper 004.
const AUTHENTICATIONS: u32 = 25;

/// Exit code when an authentication failed.
const FAILED: u8 = 1;

/// Profiles a method and shows what came of it.
pub(crate) fn profile(args: &ProfileArgs) -> Result<ExitCode, Report> {
    if args.method == packets::ESP {
        return packets::profile(args);
    }
    if args.packet.is_some() {
        let message = format!("`--packet` means nothing to `{}`", args.method);
        return Err(Usage::hint(message, "`keytoll profile esp --packet 736`; or leave it out").into());
    }
    let plans = Plans::of(args)?;
    let profiles = plans.measure(args)?;
    let shown = plans.profile(args, &profiles);
    if args.json {
        written(|out| keytoll_report::profile::write_json(&shown, out))?;
    } else {
        written(|out| keytoll_report::profile::write(&shown, out))?;
    }
    let failed = profiles.iter().flatten().any(|profile| profile.failed > 0 || profile.samples == 0);
    Ok(if failed { ExitCode::from(FAILED) } else { ExitCode::SUCCESS })
}

/// The same rows with and without cryptography.
struct Plans {
    real: Plan,
    null: Plan,
}

impl Plans {
    fn of(args: &ProfileArgs) -> Result<Self, Report> {
        let (real, null) = (args.plan("real")?, args.plan("null")?);
        let there = |row: &RowPlan| match args.node() {
            Node::Aaa => row.method.eap().is_some(),
            Node::Hss => row.method.has_card(),
            _ => true,
        };
        if !real.rows.iter().all(there) {
            let message = format!("`{}` has no node `{}`", args.method, args.node().name());
            return Err(Usage::hint(message, "`--node ue` and `--node gw` are always there").into());
        }
        Ok(Self { real, null })
    }

    /// Profiles every row in turns; for each row what [`Plans::subjects`] has for it.
    fn measure(&self, args: &ProfileArgs) -> Result<Vec<Vec<keytoll_lab::Profile>>, Report> {
        let subjects: Vec<Vec<keytoll_lab::Subject<'_>>> =
            (0..self.real.rows.len()).map(|row| self.subjects(row, args.skeleton)).collect();
        let each = subjects.first().map_or(1, Vec::len);
        let stop = interrupt::watch(|| {})?;
        let flat = subjects.concat();
        let count = args.count.map_or(AUTHENTICATIONS, NonZeroU32::get);
        let bar = progress_bar(flat.len() as u64 * u64::from(count), "authentications");
        let profiles = keytoll_lab::profile(&flat, count, &|| bar.inc(1), &stop);
        bar.finish_and_clear();
        let profiles = profiles.map_err(|error| miette!("{error}"))?;
        Ok(profiles.chunks(each).map(<[_]>::to_vec).collect())
    }

    /// What is measured of a row: real and timed; for the skeleton also real, null, and null and timed.
    fn subjects(&self, row: usize, skeleton: bool) -> Vec<keytoll_lab::Subject<'_>> {
        let of = |plan, timed| keytoll_lab::Subject { plan, row: &plan.rows[row], timed };
        let beside = [of(&self.real, false), of(&self.null, false), of(&self.null, true)];
        std::iter::once(of(&self.real, true)).chain(beside.into_iter().filter(|_| skeleton)).collect()
    }

    fn profile(&self, args: &ProfileArgs, profiles: &[Vec<keytoll_lab::Profile>]) -> Profile {
        let suites: Vec<String> = self.real.rows.iter().map(suite).collect();
        let columns = self.real.rows.iter().zip(&suites).zip(profiles);
        let measured: Vec<Measured<'_>> =
            columns.map(|((row, suite), of_row)| measured(row, suite, of_row)).collect();
        let row = &self.real.rows[0];
        let network = format!("{} network, {}", row.network.name, row.topology.name());
        let subject = Subject { method: row.method.name(), node: args.node(), network: &network };
        Profile::new(subject, &measured, notes(profiles))
    }
}

/// Suites as they are offered for the IKE SA.
fn suite(row: &RowPlan) -> String {
    row.ike_suites.iter().map(ToString::to_string).collect::<Vec<_>>().join(",")
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

/// What a reader must know.
fn notes(profiles: &[Vec<keytoll_lab::Profile>]) -> Vec<String> {
    let sum = |of: fn(&keytoll_lab::Profile) -> u32| profiles.iter().flatten().map(of).sum::<u32>();
    let (failed, disturbed, repeated) =
        (sum(|profile| profile.failed), sum(|profile| profile.disturbed), sum(|profile| profile.repeated));
    let rule = "Operations up to the last one that opens a message (decryption, integrity check, signature \
                verification) stand with the message received, those after it with the message sent. Half-widths are \
                95 % intervals of the mean (Student t); the meter's own time is subtracted; IPsec traffic is left out.";
    let quiet = format!(
        "{repeated} authentications during which the thread lost its CPU were made again; {disturbed} that are counted \
         were disturbed all the same."
    );
    let lost = (failed > 0).then(|| format!("{failed} authentications failed and are not counted."));
    [rule.to_owned()].into_iter().chain((repeated > 0).then_some(quiet)).chain(lost).collect()
}

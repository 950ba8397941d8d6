//! `keytoll measure`: applies the metrics of a run to the facts of a capture.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufWriter};
use std::path::Path;
use std::process::ExitCode;

use keytoll_analysis::metrics;
use keytoll_analysis::summary::CAPTURED;
use keytoll_analysis::{Findings, RowFindings};
use keytoll_decode::Conversation;
use keytoll_decode::decode::Decoded;
use keytoll_decode::facts;
use keytoll_family::Method;
use keytoll_lab::{Directory, Published};
use keytoll_trace::file::Writer;
use keytoll_trace::manifest::{FORMAT, KIND, Machine, Manifest, ManifestRow};
use keytoll_trace::{Cost, Record};
use miette::{Report, miette};

use crate::args::MeasureArgs;
use crate::decode::{read, whole};
use crate::report::of_plan;
use crate::run::{begin, note_place, show, told};
use crate::version;

/// A conversation that ended before its method was known counts among those that began alike, if all of these have one method
/// and suite: a device without an answer is the same device.
fn gather(rows: &mut BTreeMap<Method, Vec<&Conversation>>) {
    let unknown: Vec<Method> = rows.keys().filter(|method| !method.is_known).cloned().collect();
    for begun in unknown {
        let mut known = rows.keys().filter(|method| begun.may_become(method));
        let (Some(only), None) = (known.next().cloned(), known.next()) else { continue };
        let others = rows.remove(&begun).unwrap_or_default();
        let row = rows.entry(only).or_default();
        row.extend(others);
        row.sort_by_key(|conversation| conversation.entries.first().map(|entry| entry.first_ns));
    }
}

/// Exit code when nothing succeeded.
const FAILED: u8 = 1;

/// Measures a capture and shows the results.
pub(crate) fn measure(args: &MeasureArgs) -> Result<ExitCode, Report> {
    let decoded = read(&args.from)?;
    let rows = Rows::of(&args.from.capture, &decoded);
    let (findings, published) = match &args.out {
        Some(out) => rows.keep(out, args.force).map(|(findings, published)| (findings, Some(published)))?,
        None => (rows.findings(), None),
    };
    show(&findings, args.json)?;
    published.iter().for_each(note_place);
    let succeeded = findings.summary.rows.iter().any(|row| row.succeeded > 0);
    let code = if succeeded { ExitCode::SUCCESS } else { ExitCode::from(FAILED) };
    Ok(whole(&decoded, code))
}

/// The authentications of a capture, one row for each method and suite.
struct Rows {
    manifest: Manifest,
    records: Vec<Vec<Record>>,
}

impl Rows {
    fn of(capture: &Path, decoded: &Decoded) -> Self {
        let mut rows: BTreeMap<Method, Vec<&Conversation>> = BTreeMap::new();
        for conversation in &decoded.conversations {
            if let Some(method) = conversation.judgement.method.clone() {
                rows.entry(method).or_default().push(conversation);
            }
        }
        gather(&mut rows);
        let numbered = (0..).zip(&rows);
        let manifest_rows =
            numbered.map(|(index, (method, conversations))| row(index, method, conversations));
        let manifest = manifest(capture, manifest_rows.collect(), decoded.error.is_none());
        let of_row = |conversations: &Vec<&Conversation>| {
            let numbered = (0..).zip(conversations);
            numbered
                .flat_map(|(sample, it)| facts::records(it, sample, decoded.begins_ns.unwrap_or_default()))
                .collect()
        };
        Self { manifest, records: rows.values().map(of_row).collect() }
    }

    /// Measures in memory.
    fn findings(self) -> Findings {
        let rows = self.manifest.rows.iter().cloned().zip(self.records);
        let measured = rows.map(|(row, records)| {
            let tally = metrics::measure(records, []).tally;
            RowFindings { row, tally }
        });
        let measured = measured.collect();
        Findings::new(self.manifest, measured)
    }

    /// Writes a run directory, which `keytoll report` can read, and measures it.
    fn keep(self, out: &Path, replaces: bool) -> Result<(Findings, Published), Report> {
        let manifest = Manifest { complete: false, ..self.manifest.clone() };
        let directory = begin(out, manifest, replaces)?;
        match self.fill(&directory) {
            Ok(findings) => Ok((findings, directory.publish().map_err(told)?)),
            Err(report) => {
                // The capture can be measured again.
                let _ = directory.give_up();
                Err(report)
            }
        }
    }

    fn fill(&self, directory: &Directory) -> Result<Findings, Report> {
        let path = directory.path();
        self.write(path).map_err(|error| miette!("cannot write {}: {error}", path.display()))?;
        if self.manifest.complete { directory.complete() } else { directory.incomplete() }.map_err(told)?;
        keytoll_report::directory::render(path, of_plan).map_err(|error| miette!("{error}"))
    }

    fn write(&self, directory: &Path) -> io::Result<()> {
        let create = |name: &str| File::create_new(directory.join(name)).map(BufWriter::new);
        for (row, records) in self.manifest.rows.iter().zip(&self.records) {
            let mut trace = Writer::new(create(&row.trace)?)?;
            records.iter().try_for_each(|record| trace.write(record))?;
            trace.finish()?;
            let costs: Writer<Cost, _> = Writer::new(create(&row.costs)?)?;
            costs.finish()?;
        }
        Ok(())
    }
}

fn manifest(capture: &Path, rows: Vec<ManifestRow>, complete: bool) -> Manifest {
    let name = capture.file_name().unwrap_or(capture.as_os_str()).to_string_lossy();
    let machine =
        Machine { cpu: "captured elsewhere".to_owned(), kernel: "unknown".to_owned(), ..Machine::default() };
    Manifest {
        kind: KIND.to_owned(),
        format: FORMAT,
        provenance: version::program().reading_a_capture(machine),
        title: name.into_owned(),
        study: None,
        // A capture has no seed.
        seed: String::new(),
        plan: String::new(),
        complete,
        traced: true,
        rows,
        files: Vec::new(),
    }
}

fn row(index: u32, method: &Method, conversations: &[&Conversation]) -> ManifestRow {
    ManifestRow {
        index,
        method: method.name.clone(),
        variant: method.suite.clone(),
        network: CAPTURED.to_owned(),
        topology: CAPTURED.to_owned(),
        world: CAPTURED.to_owned(),
        crypto: CAPTURED.to_owned(),
        samples_planned: u32::try_from(conversations.len()).unwrap_or(u32::MAX),
        trace: format!("trace/{index:03}.trace"),
        costs: format!("costs/{index:03}.costs"),
        notes: notes(conversations),
    }
}

/// Notes about a captured row.
fn notes(conversations: &[&Conversation]) -> Vec<String> {
    let mut notes = Vec::new();
    let said = |conversation: &&Conversation| conversation.entries.iter().any(|entry| entry.fate.is_some());
    if !conversations.iter().any(said) {
        notes.push(
            "delays are from the first packet to the last answer as both passed the point of capture, and lack what the \
             device computed before and after"
                .to_owned(),
        );
    }
    let mut cautions: BTreeMap<&str, usize> = BTreeMap::new();
    for caution in conversations.iter().filter_map(|conversation| conversation.judgement.caution) {
        *cautions.entry(caution).or_default() += 1;
    }
    notes.extend(cautions.iter().map(|(how, count)| format!("{how}: {count} of {}", conversations.len())));
    notes
}

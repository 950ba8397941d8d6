//! `keytoll schema`: JSON Schemas of every `--json` output and of the JSON and CSV files of a run.
//!
//! They are generated from the serialized types and their documentation, and are closed: an unknown member is an error.
//! `docs/schema/` has them as files, which a test compares.

mod events;

use std::process::ExitCode;

use keytoll_analysis::compare::Comparison;
use keytoll_analysis::primitives::Primitives;
use keytoll_analysis::profile::{Packets, Profile};
use keytoll_analysis::study::{Account, Accounts, Sheet, Supplement};
use keytoll_analysis::{Summary, trace};
use keytoll_dimensioning::Sizing;
use keytoll_ranking::Ranking;
use keytoll_report::csv::{
    FileColumn, gateway_columns, message_columns, operation_columns, sample_columns, series_columns,
};
use miette::Report;
use schemars::generate::SchemaSettings;
use schemars::transform::{RecursiveTransform, Transform};
use schemars::{JsonSchema, Schema, json_schema};
use serde_json::{Map, Value, json};

use crate::args::SchemaArgs;
use crate::check::Checked;
use crate::decode::json::Document as Decoded;
use crate::list::Lists;
use crate::live::{Connected, Described};
use crate::load::Loaded;
use crate::screen;

/// A schema with its name.
pub(crate) struct Published {
    pub(crate) name: &'static str,
    /// Its subject.
    pub(crate) about: &'static str,
    /// The verb that writes the subject, and where to.
    pub(crate) printed_by: &'static str,
    make: fn() -> Schema,
}

const fn of<T: JsonSchema>(name: &'static str, about: &'static str, printed_by: &'static str) -> Published {
    Published { name, about, printed_by, make: root::<T> }
}

/// All of them, by name.
pub(crate) const SCHEMAS: &[Published] = &[
    of::<Checked<'static>>("check", "what a scenario would run", "keytoll check SCENARIO --json"),
    of::<Comparison>("compare", "how two runs differ", "keytoll compare --json"),
    of::<Connected<'static>>("connect", "attempts to connect", "keytoll connect --json"),
    of::<trace::cost_table::CostTable>(
        "costs",
        "costs of crypto operations",
        "keytoll crypto --calibrate FILE",
    ),
    of::<Primitives>("crypto", "times of crypto operations", "keytoll crypto --json"),
    of::<Decoded<'static>>("decode", "what is in a capture", "keytoll decode --json"),
    Published {
        name: "events",
        about: "what happens to a node, an event a line",
        printed_by: "keytoll gateway, aaa and hss --json, and every node with --control",
        make: || finished(events::schema()),
    },
    Published {
        name: "gateways",
        about: "a second of one of several gateways",
        printed_by: "a line of gateways.csv as an object",
        make: || line(gateway_columns()),
    },
    of::<Lists>("list", "names of the catalogue", "keytoll list --json"),
    of::<Loaded>("load", "what a load has come to", "keytoll load --json; load.json"),
    of::<trace::manifest::Manifest>(
        "manifest",
        "what was run and what a run directory holds",
        "manifest.json",
    ),
    Published {
        name: "messages",
        about: "a kind of message of a row",
        printed_by: "a line of messages.csv as an object",
        make: || line(message_columns()),
    },
    of::<Described>("node", "what a node file makes", "keytoll check FILE --json"),
    Published {
        name: "operations",
        about: "a crypto operation of a row",
        printed_by: "a line of operations.csv as an object",
        make: || line(operation_columns()),
    },
    of::<Packets>("packets", "where the time of a packet goes", "keytoll profile esp --json"),
    of::<Profile>("profile", "where the time of a node goes", "keytoll profile METHOD --json"),
    of::<Ranking>("ranking", "which method suits best by several criteria", "keytoll rank RUN --json"),
    Published {
        name: "samples",
        about: "an authentication",
        printed_by: "a line of samples.csv as an object",
        make: || line(sample_columns()),
    },
    Published {
        name: "series",
        about: "a second of a population",
        printed_by: "a line of series.csv as an object",
        make: || line(series_columns()),
    },
    of::<Sizing>("sizing", "what the devices of an operator need", "keytoll size RUN --json"),
    of::<Accounts>("studies", "the figures of all papers beside ours", "keytoll study all --json"),
    of::<Account>("study", "a paper's figures beside ours", "keytoll study --json; study.json"),
    of::<Summary>("summary", "what was measured", "keytoll run, report and measure --json; summary.json"),
    of::<Supplement>("supplement", "what a study measures besides its run", "supplement.json"),
    of::<Sheet>(
        "table",
        "a paper's table of crypto operations beside ours",
        "keytoll crypto --table TABLE --json",
    ),
];

/// Prints one.
pub(crate) fn schema(args: &SchemaArgs) -> Result<ExitCode, Report> {
    let named = SCHEMAS.iter().find(|schema| schema.name == args.name);
    let published = named.expect("the command line takes names of schemas only");
    let mut schema = (published.make)();
    schema.insert("$id".to_owned(), format!("urn:keytoll:schema:{}", published.name).into());
    schema.insert("title".to_owned(), format!("keytoll {}: {}", published.name, published.about).into());
    screen::print_json(&schema)?;
    Ok(ExitCode::SUCCESS)
}

fn root<T: JsonSchema>() -> Schema {
    // Serialized, an unknown value is left out; so it is not required.
    let settings = SchemaSettings::draft2020_12().for_serialize();
    finished(settings.into_generator().into_root_schema_for::<T>())
}

/// A line of a CSV file as an object: every cell is a text, and an empty one is an absent member.
fn line(columns: Vec<FileColumn>) -> Schema {
    let member = |FileColumn { name, holds, unit, meaning }| {
        let meaning = if unit.is_empty() { meaning.to_owned() } else { format!("{meaning}; in {unit}") };
        let of = match holds.pattern() {
            None => json!({ "type": "string", "description": meaning }),
            Some(pattern) => json!({ "type": "string", "pattern": pattern, "description": meaning }),
        };
        (name, of)
    };
    let members: Map<String, Value> = columns.into_iter().map(member).collect();
    finished(json_schema!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "properties": members,
    }))
}

fn finished(mut schema: Schema) -> Schema {
    RecursiveTransform(close).transform(&mut schema);
    schema
}

/// Closes an object whose members are named, and excludes null from optional members.
fn close(schema: &mut Schema) {
    let required = schema.get("required").cloned().unwrap_or_default();
    let is_required = |name: &str| required.as_array().is_some_and(|all| all.iter().any(|one| one == name));
    let Some(properties) = schema.get_mut("properties").and_then(Value::as_object_mut) else { return };
    properties.iter_mut().filter(|(name, _)| !is_required(name)).for_each(|(_, of)| without_null(of));
    if schema.get("additionalProperties").is_none() {
        schema.insert("additionalProperties".to_owned(), false.into());
    }
}

/// Removes null from the types of a member, or from its alternative schemas.
fn without_null(member: &mut Value) {
    if let Some(types) = member.get_mut("type").filter(|types| types.is_array()) {
        let others = types.as_array().into_iter().flatten().find(|name| *name != "null").cloned();
        *types = others.unwrap_or_default();
    }
    if let Some(any) = member.get_mut("anyOf").and_then(Value::as_array_mut) {
        any.retain(|one| one["type"] != "null");
    }
}

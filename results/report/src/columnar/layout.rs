//! How a table is laid out in a Parquet file, and what the file says of itself besides its rows.
//!
//! Every reader knows what is used here: 64-bit integers with a sign, 64-bit floats, texts in UTF-8 and booleans, in pages of the
//! first version, with Snappy. Whole numbers are kept as differences: those of a column mostly grow, or hardly change.

use std::sync::Arc;

use keytoll_analysis::trace::manifest::Manifest;
use parquet::basic::{Compression, Encoding, LogicalType, Repetition, Type as Physical};
use parquet::errors::Result as Made;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::schema::types::{ColumnPath, Type, TypePtr};
use serde_json::json;

use crate::csv::{FileColumn, Holds};

/// Something that a file says of its run: a name and a text.
pub(super) type Fact = (&'static str, String);

/// The name by which keytoll calls itself in its files, before its version.
const OUR_NAME: &str = "keytoll version ";

/// Whether this is what keytoll calls itself, in any version.
pub(super) fn is_our_name(created_by: &str) -> bool {
    created_by.starts_with(OUR_NAME)
}

/// Whether a column may have nulls: all but those that name the row of the run.
pub(super) fn may_be_null(holds: Holds) -> bool {
    holds != Holds::Name
}

/// The columns with their types.
pub(super) fn schema(table: &str, columns: &[FileColumn]) -> Made<Type> {
    let fields = columns.iter().map(|column| field(column).map(Arc::new)).collect::<Made<Vec<TypePtr>>>()?;
    Type::group_type_builder(table.trim_end_matches(".csv")).with_fields(fields).build()
}

fn field(column: &FileColumn) -> Made<Type> {
    let (physical, logical) = match column.holds {
        Holds::Name | Holds::Text => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
        Holds::Whole => (Physical::INT64, None),
        Holds::Number => (Physical::DOUBLE, None),
        Holds::Flag => (Physical::BOOLEAN, None),
    };
    let repetition = if may_be_null(column.holds) { Repetition::OPTIONAL } else { Repetition::REQUIRED };
    let builder = Type::primitive_type_builder(&column.name, physical);
    builder.with_logical_type(logical).with_repetition(repetition).build()
}

/// How the columns are kept, and what the file says besides.
pub(super) fn properties(table: &str, columns: &[FileColumn], facts: &[Fact]) -> WriterProperties {
    let builder = WriterProperties::builder()
        .set_created_by(format!("{OUR_NAME}{}", env!("CARGO_PKG_VERSION")))
        .set_compression(Compression::SNAPPY)
        .set_statistics_enabled(EnabledStatistics::Chunk)
        .set_key_value_metadata(Some(metadata(table, columns, facts)));
    let wholes = columns.iter().filter(|column| column.holds == Holds::Whole);
    let as_differences = wholes.fold(builder, |builder, column| {
        let path = ColumnPath::from(column.name.as_str());
        builder
            .set_column_dictionary_enabled(path.clone(), false)
            .set_column_encoding(path, Encoding::DELTA_BINARY_PACKED)
    });
    as_differences.build()
}

fn metadata(table: &str, columns: &[FileColumn], facts: &[Fact]) -> Vec<KeyValue> {
    let about = |FileColumn { name, unit, meaning, .. }: &FileColumn| {
        let unit = Some(unit).filter(|unit| !unit.is_empty());
        json!({ "name": name, "unit": unit, "description": meaning })
    };
    let columns: Vec<_> = columns.iter().map(about).collect();
    let own = [("table", table.to_owned()), ("columns", json!(columns).to_string())];
    let all = own.iter().chain(facts);
    all.map(|(name, text)| KeyValue::new(format!("keytoll.{name}"), text.clone())).collect()
}

/// What every file of a run says of it, as its manifest does.
pub(super) fn facts(manifest: &Manifest) -> Vec<Fact> {
    let Manifest { provenance, title, study, seed, plan, complete, .. } = manifest;
    let own = [
        ("title", title.clone()),
        ("seed", seed.clone()),
        ("complete", complete.to_string()),
        ("plan", plan.clone()),
        ("provenance", json!(provenance).to_string()),
    ];
    own.into_iter().chain(study.clone().map(|study| ("study", study))).collect()
}

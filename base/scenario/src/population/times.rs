//! A CSV file of the times at which devices are meant to begin: a column `at_s` of seconds, with other columns that are ignored.

use std::io::ErrorKind;
use std::path::Path;

use keytoll_engine::trace::regular;

use super::{DEVICES, LENGTH_MAX};
use crate::quantity::{self, Kind};

/// The column.
const COLUMN: &str = "at_s";
/// Two million lines of thirty characters are shorter.
const BYTES_MAX: u64 = 64 << 20;

/// Why a file has no times.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TimesError {
    /// It cannot be read.
    #[error("the times of arrivals in `{path}` cannot be read: {why}")]
    Unreadable {
        /// The file.
        path: String,
        /// The reason.
        why: String,
    },
    /// A line of it is wrong.
    #[error("`{path}`, line {line}: {why}")]
    Wrong {
        /// The file.
        path: String,
        /// The line, from 1.
        line: usize,
        /// What is wrong.
        why: String,
    },
    /// It has another number of times than there are devices.
    #[error("the number of times in `{path}` is {times}, and that of the devices {devices}")]
    Count {
        /// The file.
        path: String,
        /// The times.
        times: usize,
        /// The devices.
        devices: u32,
    },
}

/// The times of a file in nanoseconds, earliest first: as many as there are devices.
pub(super) fn read(path: &str, devices: u32) -> Result<Vec<u64>, TimesError> {
    let unreadable = |why: String| TimesError::Unreadable { path: path.to_owned(), why };
    let told = |error: std::io::Error| match error.kind() {
        ErrorKind::NotFound => unreadable("there is no such file".to_owned()),
        ErrorKind::FileTooLarge => unreadable(format!("it is longer than {} MiB", BYTES_MAX >> 20)),
        _ => unreadable(error.to_string()),
    };
    let text = regular::read_named_text(Path::new(path), BYTES_MAX).map_err(told)?;
    let times = parse(&text).map_err(|(line, why)| TimesError::Wrong { path: path.to_owned(), line, why })?;
    if times.len() != devices as usize {
        return Err(TimesError::Count { path: path.to_owned(), times: times.len(), devices });
    }
    Ok(times)
}

/// The times of a text, sorted, or the line that is wrong and why.
fn parse(text: &str) -> Result<Vec<u64>, (usize, String)> {
    let mut lines = text.lines().zip(1..).filter(|(line, _)| !line.trim().is_empty());
    let (head, _) = lines.next().ok_or_else(|| (1, format!("no column `{COLUMN}`")))?;
    let column = head.split(',').position(|name| name.trim() == COLUMN);
    let column = column.ok_or_else(|| (1, format!("no column `{COLUMN}`")))?;
    let mut times = Vec::new();
    for (line, number) in lines {
        let field = line.split(',').nth(column).unwrap_or("").trim();
        times.push(seconds(field).map_err(|why| (number, why))?);
        if times.len() as u64 > *DEVICES.end() {
            return Err((number, format!("more than {} times", DEVICES.end())));
        }
    }
    times.sort_unstable();
    Ok(times)
}

fn seconds(field: &str) -> Result<u64, String> {
    let nanos = quantity::read(Kind::Duration, &format!("{field} s"));
    let nanos = nanos.map_err(|error| format!("`{field}` is no number of seconds: {error}"))?;
    let is_fitting = u128::from(nanos) <= LENGTH_MAX.as_nanos();
    if is_fitting { Ok(nanos) } else { Err(format!("`{field}` is more than a week")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_by_the_name_of_their_column_and_sorted() {
        assert_eq!(
            parse("who, at_s\na,2\nb,0.5\n\nc,1\n"),
            Ok(vec![500_000_000, 1_000_000_000, 2_000_000_000])
        );
    }

    #[test]
    fn a_wrong_line_is_named() {
        assert_eq!(parse("").unwrap_err().0, 1);
        assert_eq!(parse("at\n1\n"), Err((1, "no column `at_s`".to_owned())));
        assert_eq!(parse("at_s\n1\n\nx\n").unwrap_err().0, 4);
        assert_eq!(parse("at_s\n604801\n").unwrap_err(), (2, "`604801` is more than a week".to_owned()));
        assert!(matches!(read("/nowhere.csv", 1), Err(TimesError::Unreadable { .. })));
        let endless = read("/dev/zero", 1).unwrap_err().to_string();
        assert!(endless.ends_with("cannot be read: it is no regular file"), "{endless}");
    }
}

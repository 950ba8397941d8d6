//! Who the devices of a load are: from a CSV file, or made after a pattern.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use keytoll_crypto_api::Secret;
use keytoll_engine::trace::regular;

use super::super::files::Files;
use crate::diagnostic::ScenarioError;
use crate::population::DEVICES;
use crate::tree::{Item, Table};

/// Who the devices are.
#[derive(Debug, Clone)]
pub enum Identities {
    /// Made after a pattern.
    Pattern(Box<Pattern>),
    /// Listed, in the order of a file.
    Listed(Arc<[Identity]>),
}

/// Names after a pattern, with credentials that all have in common.
#[derive(Debug, Clone)]
pub struct Pattern {
    /// Before the number.
    before: String,
    /// The least number of its digits; `None`: all have one name, without a number.
    digits: Option<usize>,
    /// Behind the number.
    behind: String,
    /// The first number.
    first: u64,
    count: u32,
    common: Identity,
}

/// A device.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Identity {
    /// Its name: user, identity of IKE, or IMSI.
    pub name: String,
    /// Its password.
    pub password: Option<Secret>,
    /// Its shared key.
    pub psk: Option<Secret>,
    /// Ki and OPc of its card.
    pub card: Option<[Secret; 2]>,
    /// The files of its certificate and key.
    pub certificate: Option<[PathBuf; 2]>,
    /// The file of its key, if it has no certificate.
    pub key: Option<PathBuf>,
}

/// So many identities, in words.
pub fn counted(identities: u32) -> String {
    if identities == 1 { "1 identity".to_owned() } else { format!("{identities} identities") }
}

/// The columns of a file; one of the first two names the device.
const COLUMNS: [&str; 8] = ["user", "imsi", "password", "psk", "k", "opc", "certificate", "key"];
/// A line of a hundred thousand users has less than forty bytes; two million are read.
const BYTES_MAX: u64 = 512 << 20;

impl Identities {
    /// How many there are.
    pub fn count(&self) -> u32 {
        match self {
            Self::Pattern(pattern) => pattern.count,
            Self::Listed(all) => u32::try_from(all.len()).unwrap_or(u32::MAX),
        }
    }

    /// Whether all have names of their own.
    pub const fn have_own_names(&self) -> bool {
        match self {
            Self::Pattern(pattern) => pattern.digits.is_some(),
            Self::Listed(_) => true,
        }
    }

    /// Whether any has a key of its own without a certificate.
    pub(super) fn have_keys(&self) -> bool {
        matches!(self, Self::Listed(all) if all.iter().any(|one| one.key.is_some()))
    }

    /// One of them.
    ///
    /// # Panics
    /// If there are not so many.
    pub fn get(&self, number: u32) -> Identity {
        match self {
            Self::Pattern(pattern) => pattern.get(number),
            Self::Listed(all) => all[number as usize].clone(),
        }
    }

    /// The longest name: of a pattern that with the highest number.
    pub(super) fn longest_name(&self) -> String {
        match self {
            Self::Pattern(pattern) => pattern.get(pattern.count.saturating_sub(1)).name,
            Self::Listed(all) => {
                all.iter().max_by_key(|one| one.name.len()).map(|one| one.name.clone()).unwrap_or_default()
            }
        }
    }

    /// All identities of a file; of a pattern the first one, which the others are like.
    pub fn samples(&self) -> impl Iterator<Item = Identity> {
        let count = match self {
            Self::Pattern(_) => 1,
            Self::Listed(_) => self.count(),
        };
        (0..count).map(|number| self.get(number))
    }
}

impl Pattern {
    fn get(&self, number: u32) -> Identity {
        let Self { before, digits, behind, first, common, .. } = self;
        let number = first.saturating_add(number.into());
        let name = match *digits {
            Some(digits) => format!("{before}{number:0digits$}{behind}"),
            None => before.clone(),
        };
        Identity { name, ..common.clone() }
    }
}

/// Reads `[identities]`.
pub(super) fn read(item: &Item, files: &mut Files) -> Result<Identities, ScenarioError> {
    const WHAT: &str = "`identities`";
    let table = item.table()?;
    table.only(WHAT, &["csv", "pattern", "count", "first", "password", "psk", "k", "opc"])?;
    match (table.get("csv"), table.get("pattern")) {
        (Some(csv), None) => {
            table.only("`identities` of a file", &["csv"])?;
            listed(csv, files)
        }
        (None, Some(pattern)) => self::pattern(pattern, table, files).map(Box::new).map(Identities::Pattern),
        _ => Err(table
            .spot
            .error("identities are in a file or follow a pattern", "either `csv` or `pattern`")
            .hint("`csv = \"users.csv\"`, or `pattern = \"user%06d@example.org\"` with `count`")),
    }
}

fn pattern(item: &Item, table: &Table, files: &mut Files) -> Result<Pattern, ScenarioError> {
    let text = item.text("a pattern like `user%06d@example.org`")?;
    let wrong = || {
        let error = item.spot.error(format!("`{text}` is no pattern"), "one `%d` or `%06d`, for the number");
        error.hint("`pattern = \"user%06d@example.org\"`")
    };
    let (before, digits, behind) = match text.split_once('%') {
        None if text.is_empty() => return Err(wrong()),
        None => (text, None, ""),
        Some((before, rest)) => {
            let (digits, behind) = rest.split_once('d').ok_or_else(wrong)?;
            let width = if digits.is_empty() { Ok(1) } else { digits.parse::<usize>() };
            let width = width.ok().filter(|width| *width <= 20 && !behind.contains('%')).ok_or_else(wrong)?;
            (before, Some(width), behind)
        }
    };
    if let (None, Some(entry)) = (digits, table.entry("first")) {
        let message = "`first` means nothing without `%d` in the `pattern`: all devices have one name";
        let error = entry.key_spot.error(message, "makes no difference here");
        return Err(error.hint("leave `first` out, or a `pattern` like `\"user%06d@example.org\"`"));
    }
    let secret = |key: &str, files: &mut Files| table.get(key).map(|item| files.secret(item)).transpose();
    Ok(Pattern {
        before: before.to_owned(),
        digits,
        behind: behind.to_owned(),
        first: table.or("first", 0, |item| item.integer(0..=u64::MAX / 2))?,
        count: table.need("count", "a pattern of identities")?.integer(DEVICES)? as u32,
        common: Identity {
            password: secret("password", files)?,
            psk: secret("psk", files)?,
            card: card(table, files)?,
            ..Identity::default()
        },
    })
}

fn card(table: &Table, files: &mut Files) -> Result<Option<[Secret; 2]>, ScenarioError> {
    match (table.get("k"), table.get("opc")) {
        (None, None) => Ok(None),
        (Some(k), Some(opc)) => {
            let key = |item: &Item, files: &mut Files| {
                let digits = files.secret(item)?;
                let message = format!("`{}` must be 32 hexadecimal digits", item.name);
                key(&digits).ok_or_else(|| item.spot.error(message, "a key of 16 bytes"))
            };
            Ok(Some([key(k, files)?, key(opc, files)?]))
        }
        _ => Err(table.spot.error("a card has both `k` and `opc`", "one of them is missing")),
    }
}

/// 16 bytes of hexadecimal digits.
fn key(digits: &[u8]) -> Option<Secret> {
    let digit = |byte: &u8| char::from(*byte).to_digit(16);
    let pair = |pair: &[u8]| Some((digit(pair.first()?)? << 4 | digit(pair.get(1)?)?) as u8);
    let bytes = digits.chunks(2).map(pair).collect::<Option<Vec<u8>>>().map(Secret::new)?;
    (bytes.len() == 16).then_some(bytes)
}

fn listed(item: &Item, files: &mut Files) -> Result<Identities, ScenarioError> {
    let path = files.private(item)?;
    let shown = path.value.display().to_string();
    let unreadable = |why: String| path.error(format!("the identities in `{shown}` {why}"), "this file");
    let text = regular::read_named_text(&path.value, BYTES_MAX).map_err(|why| match why.kind() {
        ErrorKind::FileTooLarge => unreadable(format!("are too many: more than {} MiB", BYTES_MAX >> 20)),
        _ => unreadable(format!("cannot be read: {why}")),
    })?;
    let folder = path.value.parent().unwrap_or(Path::new(""));
    let all = parse(&text, folder);
    let all =
        all.map_err(|(line, why)| path.error(format!("`{shown}`, line {line}: {why}"), "in this file"))?;
    Ok(Identities::Listed(all.into()))
}

/// The identities of a text, or the line that is wrong and why. What stands in a line may be secret and is not repeated.
fn parse(text: &str, folder: &Path) -> Result<Vec<Identity>, (usize, String)> {
    let mut lines = text.lines().zip(1..).filter(|(line, _)| !line.trim().is_empty());
    let (head, at) = lines.next().ok_or_else(|| (1, "the file is empty".to_owned()))?;
    let columns = columns(head).map_err(|why| (at, why))?;
    let (mut all, mut seen) = (Vec::new(), BTreeMap::new());
    for (line, at) in lines {
        let identity = identity(&columns, line, folder).map_err(|why| (at, why))?;
        if let Some(first) = seen.insert(identity.name.clone(), at) {
            return Err((at, format!("`{}` is in line {first}, too", identity.name)));
        }
        all.push(identity);
        if all.len() as u64 > *DEVICES.end() {
            return Err((at, format!("more than {} identities", DEVICES.end())));
        }
    }
    if all.is_empty() { Err((at, "nobody is in the file".to_owned())) } else { Ok(all) }
}

fn columns(head: &str) -> Result<Vec<&'static str>, String> {
    let known = |name: &str| {
        let name = name.trim().trim_start_matches('\u{feff}');
        let column = COLUMNS.iter().copied().find(|column| *column == name);
        // A file without a head has a secret where a name should be.
        column.ok_or_else(|| format!("the first line names the columns, of {}", COLUMNS.join(", ")))
    };
    let columns = head.split(',').map(known).collect::<Result<Vec<_>, _>>()?;
    let has = |name: &str| columns.iter().filter(|column| **column == name).count();
    if let Some(twice) = COLUMNS.iter().find(|name| has(name) > 1) {
        return Err(format!("two columns `{twice}`"));
    }
    match (has("user") + has("imsi"), has("k") == has("opc"), has("certificate") <= has("key")) {
        (1, true, true) => Ok(columns),
        (1, false, _) => Err("`k` needs `opc`, and `opc` needs `k`".to_owned()),
        (1, ..) => Err("`certificate` needs `key`".to_owned()),
        _ => Err("either a column `user` or a column `imsi`".to_owned()),
    }
}

fn identity(columns: &[&'static str], line: &str, folder: &Path) -> Result<Identity, String> {
    let fields = fields(line).ok_or("a quote is not closed")?;
    if fields.len() != columns.len() {
        return Err(format!(
            "the number of its fields is {}, and that of the columns {}",
            fields.len(),
            columns.len()
        ));
    }
    let get = |name: &str| {
        let place = columns.iter().position(|column| *column == name)?;
        Some(fields[place].as_str()).filter(|field| !field.is_empty())
    };
    let secret = |name: &str| get(name).map(|text| Secret::from(text.as_bytes()));
    let hex = |name: &str| match get(name) {
        None => Ok(None),
        Some(text) => key(text.as_bytes()).map(Some).ok_or(format!("`{name}` is not 32 hexadecimal digits")),
    };
    let path = |name: &str| get(name).map(|path| folder.join(path));
    let (certificate, key) = match (path("certificate"), path("key")) {
        (Some(certificate), Some(key)) => (Some([certificate, key]), None),
        (None, key) => (None, key),
        (Some(_), None) => return Err("a `certificate` without `key`".to_owned()),
    };
    Ok(Identity {
        name: get("user").or(get("imsi")).ok_or("no name")?.to_owned(),
        password: secret("password"),
        psk: secret("psk"),
        card: hex("k")?.zip(hex("opc")?).map(|(k, opc)| [k, opc]),
        certificate,
        key,
    })
}

/// RFC 4180 §2: fields between commas, in quotes if they contain one; a quote in quotes is doubled. `None`: a quote is open.
fn fields(line: &str) -> Option<Vec<String>> {
    let (mut fields, mut field, mut is_quoted) = (Vec::new(), String::new(), false);
    let mut letters = line.trim_end_matches('\r').chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '"' if is_quoted && letters.peek() == Some(&'"') => {
                letters.next();
                field.push('"');
            }
            '"' if is_quoted || field.trim().is_empty() => is_quoted = !is_quoted,
            ',' if !is_quoted => fields.push(std::mem::take(&mut field)),
            other => field.push(other),
        }
    }
    fields.push(field);
    (!is_quoted).then(|| fields.into_iter().map(|field| field.trim().to_owned()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Vec<Identity>, (usize, String)> {
        parse(text, Path::new("/lab"))
    }

    #[test]
    fn a_file_has_users_cards_and_certificates() {
        let users = read("user,password\nann,\"a, \"\"b\"\"\"\n\nbob,c\n").unwrap();
        assert_eq!(users[0].password, Some(Secret::from(&b"a, \"b\""[..])));
        assert_eq!((users.len(), users[1].name.as_str()), (2, "bob"));
        let cards =
            read(&format!("imsi,k,opc\n001010000000001,{},{}\n", "0".repeat(32), "f".repeat(32))).unwrap();
        assert_eq!(cards[0].card, Some([Secret::new(vec![0; 16]), Secret::new(vec![255; 16])]));
        let with_certificates = read("user,certificate,key\nann,a.pem,b.pem\n").unwrap();
        assert_eq!(with_certificates[0].certificate, Some(["/lab/a.pem", "/lab/b.pem"].map(PathBuf::from)));
        let with_keys = read("user,key\nann,a.key\nbob,\n").unwrap();
        assert_eq!((&with_keys[0].key, &with_keys[1].key), (&Some("/lab/a.key".into()), &None));
    }

    #[test]
    fn a_wrong_line_is_named_and_not_shown() {
        for (text, line, why) in [
            ("", 1, "the file is empty"),
            ("user,password\n", 1, "nobody is in the file"),
            ("ann,secret\n", 1, "the first line names the columns"),
            ("user,user\n", 1, "two columns `user`"),
            ("password\nx\n", 1, "either a column `user` or a column `imsi`"),
            ("imsi,k\n", 1, "`k` needs `opc`"),
            ("user,certificate\n", 1, "`certificate` needs `key`"),
            ("user,certificate,key\nann,a.pem,\n", 2, "a `certificate` without `key`"),
            ("user,password\nann\n", 2, "the number of its fields is 1, and that of the columns 2"),
            ("user,password\n\"ann,x\n", 2, "a quote is not closed"),
            ("user,password\nann,x\nbob,y\nann,z\n", 4, "`ann` is in line 2, too"),
            ("imsi,k,opc\n1,xx,yy\n", 2, "`k` is not 32 hexadecimal digits"),
            ("user,password\n,x\n", 2, "no name"),
        ] {
            let (at, told) = read(text).unwrap_err();
            assert!(
                at == line && told.starts_with(why) && !told.contains("secret"),
                "{text:?}: {at}: {told}"
            );
        }
    }
}

//! `keytoll decode`: a capture as ladders, one for each conversation.

mod html;
pub(crate) mod json;

use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::Path;
use std::process::ExitCode;

use flate2::bufread::MultiGzDecoder;
use keytoll_decode::decode::Decoded;
use keytoll_decode::ladder::{self, Ladder};
use keytoll_decode::read::ReadError;
use keytoll_decode::tables::Keys;
use keytoll_decode::{Conversation, Outcome};
use keytoll_report::page;
use keytoll_rigs::FAMILIES;
use miette::{Report, miette};

use crate::args::{CaptureArgs, DecodeArgs};
use crate::outputs::PAGE;
use crate::screen::{self, ENVIRONMENT, Page, Usage, note, print, print_json};

/// Prints the contents of a capture.
pub(crate) fn decode(args: &DecodeArgs) -> Result<ExitCode, Report> {
    let page = Page::open(args.html.as_deref(), &PAGE)?;
    let decoded = read(&args.from)?;
    let chosen = chosen(&decoded, &args.conversations)?;
    if args.json {
        print_json(&json::Document::of(&decoded, &chosen))?;
    } else if args.list {
        print(&list(&chosen))?;
    } else {
        let ladder = Ladder::new(args.width.unwrap_or_else(screen::width));
        for &(number, conversation) in &chosen {
            let mut text = Vec::new();
            ladder.draw(number, conversation, &mut text).map_err(|error| miette!("{error}"))?;
            text.push(b'\n');
            print(&String::from_utf8_lossy(&text))?;
        }
    }
    if !args.json {
        print(&summary(&decoded))?;
    }
    let name = args.from.capture.display().to_string();
    page.map_or(Ok(()), |page| page.write(|out| page::write(&html::page(&name, &decoded, &chosen), out)))?;
    Ok(whole(&decoded, ExitCode::SUCCESS))
}

/// The exit code after the readable part was shown: that of a damaged file, if the file was not read to its end.
pub(crate) fn whole(decoded: &Decoded, code: ExitCode) -> ExitCode {
    if decoded.error.is_some() { ENVIRONMENT.into() } else { code }
}

/// Reads a capture with its keys, and writes notes about both to stderr.
pub(crate) fn read(from: &CaptureArgs) -> Result<Decoded, Report> {
    let keys = match &from.keys {
        Some(directory) => keys(directory)?,
        None => Keys::none(FAMILIES),
    };
    let path = &from.capture;
    let has_keys = keys.count() > 0;
    let decoded = keytoll_decode::decode::decode(input(path)?, keys).map_err(|error| unread(path, &error))?;
    warn(path, &decoded);
    if let (Some(directory), true, 0) = (&from.keys, has_keys, decoded.opened) {
        let (directory, path) = (directory.display(), path.display());
        note(&format!("no key of {directory} opens anything in {path}: they may be of another capture\n"));
    }
    Ok(decoded)
}

/// The capture's bytes; `-` is standard input.
fn input(path: &Path) -> Result<Box<dyn BufRead>, Report> {
    if path == Path::new("-") {
        return unpacked(path, io::stdin().lock());
    }
    if path.is_dir() {
        return Err(a_directory(path));
    }
    let file = File::open(path).map_err(|error| unopened(path, &error))?;
    unpacked(path, BufReader::new(file))
}

/// A capture that is packed with gzip is unpacked while it is read.
fn unpacked(path: &Path, mut packed: impl BufRead + 'static) -> Result<Box<dyn BufRead>, Report> {
    // RFC 1952 §2.3.1.
    const GZIP: [u8; 2] = [0x1f, 0x8b];
    let beginning = packed.fill_buf().map_err(|error| unopened(path, &error))?;
    match beginning.starts_with(&GZIP) {
        true => Ok(Box::new(BufReader::new(MultiGzDecoder::new(packed)))),
        false => Ok(Box::new(packed)),
    }
}

fn keys(directory: &Path) -> Result<Keys, Report> {
    let hint = "`keytoll run --pcap` writes such a directory";
    if !directory.is_dir() {
        let message = format!("there is no directory `{}` with key tables", directory.display());
        return Err(Usage::hint(message, hint).into());
    }
    let keys = Keys::read(FAMILIES, directory).map_err(|error| Usage::hint(error.to_string(), hint))?;
    if let Some(first) = keys.first_unusable() {
        let others = match keys.unusable() {
            1 => String::new(),
            count => format!("; it is the first of {count} such lines"),
        };
        note(&format!("cannot use {first}{others}\n"));
    }
    Ok(keys)
}

/// Names a capture of the run, if the directory is that of a run with captures.
fn a_directory(path: &Path) -> Report {
    let first = path.join("capture/000.pcapng");
    let hint = match first.is_file() {
        true => format!("this run has captures, such as `{}`", first.display()),
        false => "name a pcap or pcapng file".to_owned(),
    };
    Usage::because(format!("`{}` is a directory, not a capture", path.display()), hint).into()
}

fn unopened(path: &Path, error: &io::Error) -> Report {
    let why = if path.exists() { error.to_string() } else { "it does not exist".to_owned() };
    let message = format!("cannot open `{}`: {why}", path.display());
    Usage::hint(message, "name a pcap or pcapng file").into()
}

fn unread(path: &Path, error: &ReadError) -> Report {
    let message = match error {
        ReadError::Malformed { offset: 0, .. } if error.is_cut_short() => {
            format!("`{}` is empty or too short for a capture", path.display())
        }
        _ => format!("cannot read `{}`: {error}", path.display()),
    };
    Usage::hint(message, "tcpdump, tshark and `keytoll run --pcap` write captures").into()
}

fn warn(path: &Path, decoded: &Decoded) {
    if let Some(error) = &decoded.error {
        let why = if error.is_cut_short() { "the file is cut short" } else { "the file is damaged" };
        let frames = decoded.frames;
        note(&format!("{}: {why}, {error}; this is what the {frames} frames before say\n", path.display()));
    }
    if decoded.left_out > 0 {
        note(&format!("{} messages were too many to keep\n", decoded.left_out));
    }
}

type Chosen<'a> = Vec<(usize, &'a Conversation)>;

/// The chosen conversations, with their numbers from 1; all of them without a choice.
fn chosen<'a>(decoded: &'a Decoded, numbers: &[usize]) -> Result<Chosen<'a>, Report> {
    let count = decoded.conversations.len();
    if let Some(wrong) = numbers.iter().find(|number| !(1..=count).contains(*number)) {
        let message = format!("there is no conversation {wrong}: the capture has {count}");
        return Err(Usage::hint(message, "`keytoll decode --list` shows them").into());
    }
    let numbered = (1..).zip(&decoded.conversations);
    Ok(numbered.filter(|(number, _)| numbers.is_empty() || numbers.contains(number)).collect())
}

/// One line for each conversation.
fn list(chosen: &Chosen<'_>) -> String {
    let rows = chosen.iter().map(|(number, conversation)| {
        let messages = conversation.entries.len();
        vec![number.to_string(), format!("{messages} messages"), ladder::title(conversation)]
    });
    screen::table(&rows.collect::<Vec<_>>()) + "\n"
}

/// How many conversations there are, and what became of them.
fn sentence(decoded: &Decoded) -> String {
    let of = |wanted: fn(&Outcome) -> bool| {
        decoded.conversations.iter().filter(|conversation| wanted(&conversation.judgement.outcome)).count()
    };
    let established = of(|outcome| matches!(outcome, Outcome::Established(_)));
    let failed = of(|outcome| matches!(outcome, Outcome::Failed { .. }));
    let unanswered = of(|outcome| matches!(outcome, Outcome::Unanswered(_)));
    let (frames, all) = (decoded.frames, decoded.conversations.len());
    format!(
        "{frames} frames, {all} conversations: {established} succeeded, {failed} failed, {unanswered} without answer, \
         {} without an end here",
        all - established - failed - unanswered
    )
}

/// The totals of the capture.
fn summary(decoded: &Decoded) -> String {
    let mut text = screen::paragraph(&sentence(decoded));
    for (number, conversation) in (1..).zip(&decoded.conversations) {
        if matches!(conversation.judgement.outcome, Outcome::Failed { .. } | Outcome::Unanswered(_)) {
            let outcome = ladder::outcome(conversation).unwrap_or_default();
            text.push_str(&screen::paragraph(&format!("  conversation {number}: {outcome}")));
        }
    }
    if decoded.skipped.total() > 0 {
        let kinds = decoded.skipped.kinds().into_iter().map(|(what, count)| format!("{count} {what}"));
        let kinds = kinds.collect::<Vec<_>>().join(", ");
        let skipped = decoded.skipped.total();
        text.push_str(&screen::paragraph(&format!("{skipped} packets not looked into: {kinds}")));
    }
    text
}

//! A conversation as a ladder: a rail for each role, an arrow for each message, readable in 100 columns and without colour.
//!
//! ```text
//!        ms       +ms  UE       GW       AAA     bytes  #frame
//!     0.000            |------->|        |        1172  #1 IKE_SA_INIT request 0
//!                      |        |        |              SA(aes128-sha256-prfsha256-modp2048), KE(modp2048), Nonce
//!     2.345     2.345  |<-------|        |         484  #2 IKE_SA_INIT response 0, after 2.345 ms
//! ```
//!
//! `- - ->` was sent before, `---x` never arrives, `. . .>` is a copy that the network made.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{self, Write};

use keytoll_engine::trace::{Fate, Node};
use keytoll_family::{Conversation, Entry, Outcome, Part, Sealed};
use keytoll_net::{Addr, Host};

/// Columns that a ladder takes at least, whatever is asked.
const WIDTH_MIN: usize = 80;
/// From one rail to the next.
const RAIL_STEP: usize = 9;
/// The columns of a time at least: up to a hundred seconds.
const TIME_MIN: usize = 9;
/// Bytes and packets, with the blanks around them.
const BYTES: usize = 1 + 9 + 2;

/// Draws conversations.
#[derive(Debug, Clone, Copy)]
pub struct Ladder {
    width: usize,
}

impl Ladder {
    /// Ladders of so many columns.
    pub fn new(width: usize) -> Self {
        Self { width: width.max(WIDTH_MIN) }
    }

    /// Draws a conversation with its head and its foot.
    pub fn draw(&self, number: usize, conversation: &Conversation, out: &mut impl Write) -> io::Result<()> {
        self.head(number, conversation, out)?;
        let rails = Rails::of(conversation);
        let start_ns = conversation.entries.first().map_or(0, |entry| entry.first_ns);
        let times = rails.times;
        writeln!(out, "\n{:>times$} {:>times$}  {} {:>9}  #frame", "ms", "+ms", rails.names(), "bytes")?;
        let mut before_ns = None;
        for (place, entry) in conversation.entries.iter().enumerate() {
            self.entry(conversation, place, entry, (start_ns, before_ns), &rails, out)?;
            before_ns = Some(entry.at_ns);
        }
        writeln!(out)?;
        let sealed = conversation.judgement.sealed.as_ref().map(Sealed::told);
        for line in exchanges(conversation).into_iter().chain(sealed).chain(traffic(conversation)) {
            writeln!(out, "  {line}")?;
        }
        Ok(())
    }

    fn head(&self, number: usize, conversation: &Conversation, out: &mut impl Write) -> io::Result<()> {
        for line in wrap(&format!("Conversation {number}: {}", title(conversation)), self.width) {
            writeln!(out, "{line}")?;
        }
        let mut say = |what: &str, text: String| -> io::Result<()> {
            for (index, line) in wrap(&text, self.width - 10).iter().enumerate() {
                writeln!(out, "  {:<6}  {line}", if index == 0 { what } else { "" })?;
            }
            Ok(())
        };
        let ids = &conversation.judgement.ids;
        if !ids.ids.is_empty() {
            let each: Vec<&str> = ids.ids.iter().map(|(_, id)| id.as_str()).collect();
            say(ids.label, each.join(" "))?;
        }
        for (&node, addrs) in &conversation.hosts {
            let name = node.name().to_uppercase();
            say(&name, host(conversation, node, addrs))?;
        }
        let about = &conversation.about;
        let suites = [(conversation.kind.suite_of, &about.suite), ("", &about.child_suite)];
        let suites = suites.iter().filter_map(|(name, suite)| Some(format!("{name} {}", suite.as_deref()?)));
        let mut facts: Vec<String> = suites.map(|suite| suite.trim().to_owned()).collect();
        facts.extend(about.address.map(|address| format!("inner address {address}")));
        facts.extend(about.sealed.then(|| "encrypted payloads stay closed without their keys".to_owned()));
        if !facts.is_empty() {
            say("uses", facts.join("; "))?;
        }
        Ok(())
    }

    fn entry(
        &self,
        conversation: &Conversation,
        place: usize,
        entry: &Entry,
        (start_ns, before_ns): (u64, Option<u64>),
        rails: &Rails,
        out: &mut impl Write,
    ) -> io::Result<()> {
        let time = ms(entry.at_ns.saturating_sub(start_ns));
        let delta = before_ns.map(|before| ms(entry.at_ns.saturating_sub(before))).unwrap_or_default();
        let lines = self.text(conversation, place, entry, start_ns, rails);
        let times = rails.times;
        for (index, line) in lines.iter().enumerate() {
            let left = match index {
                0 => format!("{time:>times$} {delta:>times$}  {} {:>9}", rails.arrow(entry), size(entry)),
                _ => format!("{:times$} {:times$}  {} {:>9}", "", "", rails.plain(), ""),
            };
            writeln!(out, "{left}  {line}")?;
        }
        Ok(())
    }

    /// Name and marks, then what it carries, then what should be known.
    fn text(
        &self,
        conversation: &Conversation,
        place: usize,
        entry: &Entry,
        start_ns: u64,
        rails: &Rails,
    ) -> Vec<String> {
        let width = self.width.saturating_sub(2 * rails.times + 3 + rails.width() + BYTES);
        let mut lines = wrap(&headline(entry, start_ns, rails), width);
        // What is repeated was shown before.
        if entry.repeats.is_none() && !entry.is_copy() {
            let parts = entry.parts.iter().map(Part::to_string).collect::<Vec<_>>().join(", ");
            lines.extend(wrap(&parts, width));
        }
        for remark in entry.remarks.iter().filter(|_| entry.repeats.is_none()) {
            lines.extend(wrap(&format!("! {remark}"), width));
        }
        if let Some(failure) = entry.failure.as_deref().filter(|_| entry.repeats.is_none()) {
            lines.extend(wrap(&format!("!! {failure}"), width));
        }
        if entry.unanswered && rails.repeats.is_last(entry, place) {
            lines.push("!! NO ANSWER in this capture".to_owned());
        }
        if conversation.judgement.outcome == Outcome::Established(place) {
            lines.push("== established".to_owned());
        }
        lines
    }
}

/// What is sent again: when each message passed first, and where it passed last.
#[derive(Default)]
struct Repeats {
    first_ns: BTreeMap<u64, u64>,
    last_place: BTreeMap<u64, usize>,
}

impl Repeats {
    fn of(conversation: &Conversation) -> Self {
        let mut repeats = Self::default();
        for (place, entry) in conversation.entries.iter().enumerate() {
            if entry.repeats.is_none() {
                repeats.first_ns.insert(entry.frame, entry.at_ns);
            }
            repeats.last_place.insert(entry.repeats.unwrap_or(entry.frame), place);
        }
        repeats
    }

    fn is_last(&self, entry: &Entry, place: usize) -> bool {
        self.last_place.get(&entry.repeats.unwrap_or(entry.frame)).is_none_or(|last| *last == place)
    }
}

fn headline(entry: &Entry, start_ns: u64, rails: &Rails) -> String {
    let mut text = format!("#{} {}", entry.frame, entry.name);
    if entry.more > 0 {
        write!(text, ": {} more packets", entry.more).expect("a string takes everything");
    }
    if let Some(after) = entry.answers_after_ns {
        write!(text, ", after {} ms", ms(after)).expect("a string takes everything");
    }
    match entry.fate {
        Some((Fate::Lost, _)) => text.push_str(", LOST on its way"),
        Some((Fate::QueueFull, _)) => text.push_str(", DROPPED: the queue is full"),
        Some((Fate::Corrupted, _)) => text.push_str(", CORRUPTED on its way"),
        Some((Fate::Duplicate, _)) => text.push_str(", a copy that the network made"),
        _ => {}
    }
    if let Some(frame) = entry.repeats {
        let when = rails.repeats.first_ns.get(&frame).map(|first| ms(first.saturating_sub(start_ns)));
        text.push_str(", SENT AGAIN");
        text.push_str(&when.map(|when| format!(" (first at {when})")).unwrap_or_default());
    }
    text
}

/// The rails of a conversation: its roles, and where they stand.
struct Rails {
    nodes: Vec<Node>,
    /// Columns of its longest time.
    times: usize,
    repeats: Repeats,
}

impl Rails {
    fn of(conversation: &Conversation) -> Self {
        let begin_ns = conversation.entries.first().map_or(0, |entry| entry.first_ns);
        let end_ns = conversation.entries.last().map_or(0, |entry| entry.at_ns);
        let longest = ms(end_ns.saturating_sub(begin_ns)).len();
        let nodes = conversation.hosts.keys().copied().collect();
        Self { nodes, times: longest.max(TIME_MIN), repeats: Repeats::of(conversation) }
    }

    fn width(&self) -> usize {
        (self.nodes.len().max(1) - 1) * RAIL_STEP + 1
    }

    fn names(&self) -> String {
        let names = self.nodes.iter().map(|node| format!("{:<RAIL_STEP$}", node.name().to_uppercase()));
        let names: String = names.collect();
        let width = self.width();
        format!("{:<width$}", names.trim_end())
    }

    fn plain(&self) -> String {
        let rails = vec!["|"; self.nodes.len()];
        rails.join(&" ".repeat(RAIL_STEP - 1))
    }

    fn arrow(&self, entry: &Entry) -> String {
        let place = |node: Node| self.nodes.iter().position(|rail| *rail == node).unwrap_or(0);
        let (from, to) = (place(entry.ends.0), place(entry.ends.1));
        let mut line: Vec<char> = self.plain().chars().collect();
        let (left, right) = (from.min(to) * RAIL_STEP, from.max(to) * RAIL_STEP);
        for (at, place) in line.iter_mut().enumerate().take(right).skip(left + 1) {
            *place = stroke(entry, at - left);
        }
        match (from < to, entry.is_lost()) {
            (true, false) if right > 0 => line[right - 1] = '>',
            (false, false) if left + 1 < line.len() => line[left + 1] = '<',
            _ => lose(&mut line, from < to, left, right),
        }
        line.into_iter().collect()
    }
}

/// A line for what is new, dashes for what is repeated, dots for what nobody sent.
fn stroke(entry: &Entry, at: usize) -> char {
    match (entry.is_copy(), entry.repeats.is_some(), at.is_multiple_of(2)) {
        (true, _, true) | (_, true, true) => ' ',
        (true, _, false) => '.',
        _ => '-',
    }
}

/// An arrow that ends on its way.
fn lose(line: &mut [char], rightwards: bool, left: usize, right: usize) {
    let middle = usize::midpoint(left, right);
    let range = if rightwards { middle + 1..right } else { left + 1..middle };
    line[range].fill(' ');
    line[middle] = 'x';
}

/// `IKEv2, EAP-TTLS, established after 11.234 ms`
pub fn title(conversation: &Conversation) -> String {
    let about = &conversation.about;
    let words = [
        Some(conversation.kind.title.to_string()),
        about.inner_method.as_ref().map(|method| method.title.clone()).or_else(|| about.auth_method.clone()),
        about.user.clone(),
        outcome(conversation),
    ];
    words.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

/// What a conversation came to, and when.
pub fn outcome(conversation: &Conversation) -> Option<String> {
    let start_ns = conversation.beginning()?.first_ns;
    let after = |at: usize| ms(conversation.entries[at].at_ns.saturating_sub(start_ns));
    Some(match &conversation.judgement.outcome {
        Outcome::Established(at) => format!("{} after {} ms", conversation.kind.success, after(*at)),
        Outcome::Failed { by, why, at } => {
            format!("FAILED after {} ms: {why}, says the {}", after(*at), role(*by))
        }
        Outcome::Unanswered(at) => format!("NO ANSWER to {}", conversation.entries[*at].name),
        Outcome::Unknown if conversation.kind.has_end => "its end is not in this capture".to_owned(),
        Outcome::Unknown => return None,
    })
}

const fn role(node: Node) -> &'static str {
    match node {
        Node::Ue => "device",
        Node::Gw => "gateway",
        Node::Aaa => "AAA server",
        Node::Hss => "HSS",
        Node::Ap => "access point",
    }
}

/// Addresses and names of a role.
fn host(conversation: &Conversation, node: Node, addrs: &[Addr]) -> String {
    let mut hosts: Vec<(Host, Vec<u16>)> = Vec::new();
    let mut shown: Vec<String> = Vec::new();
    for addr in addrs {
        if let Addr::Mac(_) = addr {
            shown.push(addr.to_string());
            continue;
        }
        match hosts.iter_mut().find(|(host, _)| *host == addr.host()) {
            Some((_, ports)) => ports.extend(addr.port()),
            None => hosts.push((addr.host(), addr.port().into_iter().collect())),
        }
    }
    let hosts = hosts.iter().map(|(host, ports)| {
        let ports: Vec<String> = ports.iter().map(u16::to_string).collect();
        let many = if ports.len() == 1 { "port" } else { "ports" };
        if ports.is_empty() { host.to_string() } else { format!("{host} {many} {}", ports.join(" ")) }
    });
    shown.extend(hosts);
    let mut text = shown.join(", ");
    let about = &conversation.about;
    let name = match node {
        Node::Ue => about.user.as_ref(),
        Node::Gw => about.gateway.as_ref(),
        _ => None,
    };
    text.push_str(&name.map(|name| format!("; {name}")).unwrap_or_default());
    text.push_str(&about.vendors.get(&node).map(|vendor| format!("; {vendor}")).unwrap_or_default());
    text
}

/// What became of each kind of exchange: `phase 1: 2 established; quick mode: 3 established, 1 refused`.
fn exchanges(conversation: &Conversation) -> Option<String> {
    let exchanges = &conversation.judgement.exchanges;
    let told = exchanges.iter().map(|(name, ends)| {
        let ends = ends.named().into_iter().filter(|(_, count)| *count > 0);
        let ends: Vec<String> = ends.map(|(end, count)| format!("{count} {end}")).collect();
        (!ends.is_empty()).then(|| format!("{name}: {}", ends.join(", ")))
    });
    (!exchanges.is_empty()).then(|| told.flatten().collect::<Vec<_>>().join("; "))
}

/// What went over each link.
fn traffic(conversation: &Conversation) -> Vec<String> {
    crate::counts::of(&conversation.entries)
        .iter()
        .map(|((link, protocol), count)| {
            format!(
                "{} {}: {} messages, {} packets, {} bytes, {} sent again",
                link.name(),
                protocol.name(),
                count.messages,
                count.packets,
                count.bytes,
                count.retransmissions
            )
        })
        .collect()
}

fn size(entry: &Entry) -> String {
    match entry.packets {
        1 => entry.wire_bytes.to_string(),
        packets => format!("{} ({packets})", entry.wire_bytes),
    }
}

/// Milliseconds with the microseconds behind them.
pub(crate) fn ms(ns: u64) -> String {
    format!("{}.{:03}", ns / 1_000_000, ns / 1000 % 1000)
}

/// Text in lines of at most `width` columns, broken at blanks; a word that is longer is cut.
fn wrap(text: &str, width: usize) -> Vec<String> {
    let width = width.max(20);
    let mut lines: Vec<String> = Vec::new();
    let mut line = String::new();
    for word in text.split(' ').filter(|word| !word.is_empty()) {
        let mut word: Vec<char> = word.chars().collect();
        let used = line.chars().count();
        if used > 0 && used + 1 + word.len() > width {
            lines.push(std::mem::take(&mut line));
        } else if used > 0 {
            line.push(' ');
        }
        while line.chars().count() + word.len() > width {
            let rest = word.split_off(width - line.chars().count());
            line.extend(word);
            lines.push(std::mem::take(&mut line));
            word = rest;
        }
        line.extend(word);
    }
    if !line.is_empty() {
        lines.push(line);
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_wrapped_and_long_words_are_cut() {
        assert_eq!(wrap("one two three four five six", 20), ["one two three four", "five six"]);
        assert_eq!(wrap(&"x".repeat(45), 20), ["x".repeat(20), "x".repeat(20), "x".repeat(5)]);
        assert_eq!(wrap("", 20), [""; 0]);
    }
}

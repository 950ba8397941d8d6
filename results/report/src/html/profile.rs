//! A profile as a page: the operations of a node as bars in the order of the messages, the skeleton beside the full run, and
//! for packets the stages stacked as in paper 004's Figure 4.

use std::io::{self, Write};

use keytoll_analysis::profile::{
    Column, Estimate, NodeTotal, PacketColumn, Packets, Processing, Profile, Skeleton, Stage,
};
use keytoll_analysis::summary::Median;

use super::{begin, end, escaped, glossary, table};
use crate::chart::{Bar, Chart};
use crate::number::{plain, ranged};
use crate::{packets as packets_screen, profile as profile_screen, words};

/// Writes the page of profiles, one for each method.
///
/// # Errors
/// When it cannot be written.
pub fn profiles(profiles: &[Profile], mut out: impl Write) -> io::Result<()> {
    let names: Vec<String> =
        profiles.iter().map(|profile| format!("{} at {}", profile.method, profile.node)).collect();
    begin(&names.join(", "), &mut out)?;
    for profile in profiles {
        writeln!(out, "<p>{}</p>", escaped(&profile_screen::headline(profile)))?;
        glossary(words::of_profile(profile), &mut out)?;
        for (place, column) in profile.columns.iter().enumerate() {
            section(profile, place, column, &mut out)?;
        }
        nodes(profile, &mut out)?;
        notes(&profile.notes, &mut out)?;
    }
    end(&mut out)
}

/// Writes the page of packets through a tunnel.
///
/// # Errors
/// When it cannot be written.
pub fn packets(packets: &Packets, mut out: impl Write) -> io::Result<()> {
    begin(&format!("ESP, packets of {} bytes", packets.packet_bytes), &mut out)?;
    writeln!(out, "<p>{}</p>", escaped(&packets_screen::headline(packets)))?;
    stages(packets, &mut out)?;
    totals(packets, &mut out)?;
    packets.columns.iter().try_for_each(|column| stage_table(column, &mut out))?;
    notes(&packets.notes, &mut out)?;
    end(&mut out)
}

fn notes(notes: &[String], out: &mut impl Write) -> io::Result<()> {
    writeln!(out, r#"<div class="notes">"#)?;
    notes.iter().try_for_each(|note| writeln!(out, "<p>{}</p>", escaped(note)))?;
    writeln!(out, "</div>")
}

/// The median in microseconds.
fn us(ms: &Estimate) -> Median {
    ms.median().times(1e3)
}

fn text(of: &Estimate) -> String {
    ranged(of.median())
}

/// The meaning of the whiskers of a profile.
const INTERVAL: &str = "95 % interval of the median";

fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

/// One suite: its operations, then the full run with its skeleton.
fn section(profile: &Profile, place: usize, column: &Column, out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "<h2>{}</h2>", escaped(&profile_screen::suite(column)))?;
    let title = format!("Operations of {} in the order of the messages, µs", profile.node);
    let cells = profile.lines.iter().filter_map(|line| Some((line, line.cells.get(place)?.as_ref()?)));
    let bars = cells.clone().map(|(line, cell)| {
        let time = us(&cell.ms);
        Bar {
            label: format!("{}, {}", line.message, profile_screen::operation(line)),
            parts: vec![("crypto", line.operation.as_str(), time.value)],
            interval: time.interval,
            text: ranged(time),
        }
    });
    let node = column.node(&profile.node);
    let rest = node.map(|node| whole_bar("the rest", "rest", us(&node.rest_ms)));
    let key = &[("crypto", "crypto"), ("rest", "everything else")];
    let bars = bars.chain(rest).collect();
    Chart { title: &title, unit: "µs", key, whiskers: INTERVAL, bars }.write(out)?;
    if let Some(skeleton) = &column.skeleton {
        beside(profile, skeleton, out)?;
    }
    let operations = cells.map(|(line, cell)| {
        vec![
            line.message.clone(),
            profile_screen::operation(line),
            cell.algorithm.clone(),
            plain(cell.count),
            ranged(us(&cell.ms)),
            cell.ms.n.to_string(),
            plain(cell.cycles / 1e3),
            percent(cell.share),
        ]
    });
    let sums = node.into_iter().flat_map(|node| profile_screen::TOTALS.map(|total| sum_line(node, total)));
    let caption = format!("Operations of {} with {}", profile.node, profile_screen::suite(column));
    table(&caption, &OPERATION_HEAD, operations.chain(sums), out)
}

const OPERATION_HEAD: [&str; 8] =
    ["message", "operation", "algorithm", "times", "µs", "n", "kcycles", "share"];

fn sum_line(node: &NodeTotal, (label, of): profile_screen::TotalsLine) -> Vec<String> {
    let (ms, share) = (of(node), of(node).p50 / node.total_ms.p50);
    let words = [label, "", "", ""].map(str::to_owned).into_iter();
    let cycles = plain(node.total_cycles * share / 1e3);
    words.chain([ranged(us(ms)), ms.n.to_string(), cycles, percent(share)]).collect()
}

fn whole_bar(label: &str, class: &'static str, time: Median) -> Bar<'static> {
    Bar {
        label: label.to_owned(),
        parts: vec![(class, "time", time.value)],
        interval: time.interval,
        text: ranged(time),
    }
}

/// Paper 004's Table 2 as bars: full, skeleton, and the cost of cryptography by both methods.
fn beside(profile: &Profile, skeleton: &Skeleton, out: &mut impl Write) -> io::Result<()> {
    let title = format!("Full and skeleton at {}, µs", profile.node);
    let sides = &skeleton.node;
    let bars = vec![
        whole_bar("full", "computation", us(&sides.full_ms)),
        whole_bar("skeleton", "rest", us(&sides.skeleton_ms)),
        whole_bar("crypto by subtraction", "crypto", us(&sides.by_subtraction_ms)),
        whole_bar("crypto by addition", "crypto", us(&sides.by_addition_ms)),
    ];
    Chart { title: &title, unit: "µs", key: &[], whiskers: INTERVAL, bars }.write(out)
}

/// Every node's totals.
fn nodes(profile: &Profile, out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "<h2>Every node</h2>")?;
    let head = ["suite", "node", "total µs", "operations µs", "rest µs", "n", "crypto share"];
    let line = |column: &Column, node: &NodeTotal| {
        let times = [&node.total_ms, &node.crypto_ms, &node.rest_ms].map(|ms| ranged(us(ms)));
        let words = [profile_screen::suite(column), node.node.clone()];
        let last = [node.total_ms.n.to_string(), percent(node.crypto_share)];
        words.into_iter().chain(times).chain(last).collect()
    };
    let lines =
        profile.columns.iter().flat_map(|column| column.nodes.iter().map(move |node| line(column, node)));
    table("What an authentication costs each node", &head, lines, out)
}

/// The colour class of a stage; stages of one kind have the same in both directions.
fn class(stage: &str) -> &'static str {
    match stage {
        "decrypt" | "encrypt" => "crypto",
        "verify" | "authenticate" => "integrity",
        "SA lookup" => "lookup",
        "policy lookup" | "selector check" => "policy",
        "header" | "decapsulate" | "encapsulate" => "framing",
        _ => "rest",
    }
}

const STAGES: [(&str, &str); 6] = [
    ("crypto", "decrypt, encrypt"),
    ("integrity", "verify, authenticate"),
    ("lookup", "SA lookup"),
    ("policy", "policy lookup, selector check"),
    ("framing", "header, decapsulate, encapsulate"),
    ("rest", "replay check"),
];

/// Figure 4 for every suite: both directions, full and skeleton.
fn stages(packets: &Packets, out: &mut impl Write) -> io::Result<()> {
    for (way, of) in WAYS {
        let title = format!("{way}, stage by stage, ns");
        let bars = packets.columns.iter().flat_map(|column| {
            [("full", &column.full), ("skeleton", &column.skeleton)].map(|(name, processing)| {
                stacked(format!("{}, {name}", packets_screen::suite(column)), of(processing))
            })
        });
        let bars = bars.collect();
        Chart { title: &title, unit: "ns", key: &STAGES, whiskers: INTERVAL, bars }.write(out)?;
    }
    Ok(())
}

/// A direction of a packet: its name, and its stages.
type Way = (&'static str, fn(&Processing) -> &[Stage]);

const WAYS: [Way; 2] =
    [("Inbound", |processing| &processing.inbound), ("Outbound", |processing| &processing.outbound)];

fn stacked(label: String, stages: &[Stage]) -> Bar<'_> {
    let parts = stages.iter().map(|stage| (class(&stage.stage), stage.stage.as_str(), stage.us.p50 * 1e3));
    let sum: f64 = stages.iter().map(|stage| stage.us.p50 * 1e3).sum();
    Bar { label, parts: parts.collect(), interval: None, text: plain(sum) }
}

/// Table 3.
fn totals(packets: &Packets, out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "<h2>Full, skeleton and native</h2>")?;
    let head =
        ["suite", "full µs", "skeleton µs", "native µs", "crypto µs", "n", "crypto of IPsec", "kcycles"];
    let line = |column: &PacketColumn| {
        let PacketColumn { full, skeleton, crypto_us, crypto_share, .. } = column;
        let times = [&full.total_us, &skeleton.total_us, &packets.native_us, crypto_us].map(text);
        let cycles = plain(full.total_us.p50 * 1e-9 * packets.core_hz);
        let last = [full.total_us.n.to_string(), percent(*crypto_share), cycles];
        [packets_screen::suite(column)].into_iter().chain(times).chain(last).collect()
    };
    let caption =
        "A request and its answer with every suite, the same without cryptography, and without IPsec";
    table(caption, &head, packets.columns.iter().map(line), out)
}

/// The stages of a suite, full and skeleton.
fn stage_table(column: &PacketColumn, out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "<h2>{}</h2>", escaped(&packets_screen::suite(column)))?;
    let head = ["way", "stage", "full ns", "skeleton ns", "n", "cycles", "share of its way"];
    let line = |way: &str, stage: &Stage, skeleton: &[Stage]| {
        let beside = skeleton.iter().find(|other| other.stage == stage.stage);
        let ns = |us: &Estimate| ranged(us.median().times(1e3));
        vec![
            way.to_owned(),
            stage.stage.clone(),
            ns(&stage.us),
            beside.map_or_else(|| "–".to_owned(), |other| ns(&other.us)),
            stage.us.n.to_string(),
            plain(stage.cycles),
            percent(stage.share),
        ]
    };
    let lines = WAYS.iter().flat_map(|&(way, of)| {
        let skeleton = of(&column.skeleton);
        of(&column.full).iter().map(move |stage| line(way, stage, skeleton))
    });
    table(&format!("Stages of a packet with {}", packets_screen::suite(column)), &head, lines, out)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn whole(write: impl FnOnce(&mut Vec<u8>) -> io::Result<()>) -> String {
        let mut out = Vec::new();
        write(&mut out).unwrap();
        let page = String::from_utf8(out).unwrap();
        super::super::tests::assert_closed(&page);
        super::super::tests::assert_headed(&page);
        assert!(page.starts_with("<!DOCTYPE html>") && page.ends_with("</html>\n"));
        page
    }

    #[test]
    fn every_operation_has_a_bar_and_the_skeleton_stands_beside_the_whole() {
        let (one, two) = (profile_screen::tests::with_skeleton(), profile_screen::tests::without_skeleton());
        let bars = |page: &str| page.matches(r#"<i class="interval"#).count();
        let page = whole(|out| profiles(std::slice::from_ref(&one), out));
        // Four operations and the rest; full, skeleton and the cost of cryptography by two methods.
        assert_eq!(bars(&page), 5 + 4);
        assert!(page.contains("crypto by subtraction") && page.contains("A note on how it was measured."));
        let both = whole(|out| profiles(&[one, two], out));
        assert_eq!(bars(&both), 10 + 4);
    }

    #[test]
    fn stages_are_stacked_for_every_suite_both_ways() {
        let page = whole(|out| packets(&packets_screen::tests::packets(), out));
        // Two suites, full and skeleton, two stages each way.
        assert_eq!(page.matches(" title=\"").count() - page.matches("<abbr").count(), 2 * 2 * 2 * 2);
        assert!(page.contains("3des-md5 (broken), skeleton") && page.contains("SA lookup 40 ns"), "{page}");
    }
}

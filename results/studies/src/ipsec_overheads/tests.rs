//! The study over hand-written numbers: like the paper's, and made wrong one at a time.

use super::published::{OPERATIONS, What};
use super::*;
use crate::{Basis, Finding, Material, Supplement, Verdict};
use keytoll_analysis::profile::{
    Cell, Column, Estimate, Line, NodeTotal, PacketColumn, Packets, Processing, Profile, Sides, Skeleton,
    Stage,
};
use keytoll_analysis::summary::{FORMAT, Summary};

fn summary() -> Summary {
    let (title, seed) = ("test".to_owned(), "1".to_owned());
    Summary {
        format: FORMAT,
        title,
        seed,
        complete: true,
        provenance: None,
        rows: Vec::new(),
        beside: Vec::new(),
    }
}

/// The mean is far off, as if one measurement had been disturbed: nothing may depend on it.
fn median(p50: f64) -> Estimate {
    let (low, high) = (Some(p50 * 0.999), Some(p50 * 1.001));
    Estimate { p50, p50_ci95_low: low, p50_ci95_high: high, mean: p50 * 7.0, n: 25, ..Estimate::default() }
}

/// The line of a profile for a line of Table 1.
fn line_of(what: What) -> (&'static str, &'static str, &'static str) {
    use super::published::Phase::{One, Two};
    match what {
        What::Agreement(One) => ("P1, R2", "D-H agreement", "sa-init"),
        What::Agreement(Two) => ("P2, R1", "D-H agreement", "create-child"),
        What::Keys => ("P1, I3", "PRF", "sa-init"),
        What::Hashes => ("P1, R3", "PRF", "auth"),
        What::Decryption(One) => ("P1, I3", "decryption", "auth"),
        What::Decryption(Two) => ("P2, I1", "decryption", "create-child"),
        What::Encryption(One) => ("P1, R3", "encryption", "auth"),
        What::Encryption(Two) => ("P2, R1", "encryption", "create-child"),
        What::Verification => ("P1, I3", "signature check", "auth"),
        What::Signature => ("P1, R3", "signature", "auth"),
        What::HashesAndKeys => ("P2, I2", "PRF", "create-child"),
    }
}

fn has(way: Way, what: What) -> bool {
    way != Way::MainPsk || !matches!(what, What::Signature | What::Verification)
}

fn line(way: Way, what: What, ms: [f64; 3]) -> Option<Line> {
    let (message, operation, phase) = line_of(what);
    let cell = |ms: f64| Cell {
        algorithm: "one".into(),
        count: 1.0,
        ms: median(ms),
        cycles: ms * 1e6,
        share: ms / 373.0,
    };
    has(way, what).then(|| Line {
        message: message.into(),
        operation: operation.into(),
        purpose: String::new(),
        phase: phase.into(),
        cells: ms.map(|ms| Some(cell(ms))).into(),
    })
}

fn skeleton(way: Way, cipher: Cipher) -> Skeleton {
    let full = published::total_ms(way, cipher).value;
    let skeleton = published::skeleton_ms(cipher).value - if way == Way::AggressiveRsa { 5.0 } else { 0.0 };
    let sides = Sides {
        full_ms: median(full),
        skeleton_ms: median(skeleton),
        by_subtraction_ms: median(full - skeleton),
        by_addition_ms: median((full - skeleton) * 0.97),
        difference: -0.03,
        agrees: true,
        skeleton_crypto_ms: median(0.01),
        skeleton_crypto_share: 0.0001,
    };
    Skeleton { node: sides.clone(), all: sides, contributions: Vec::new() }
}

fn column(way: Way, cipher: Cipher) -> Column {
    let crypto = match way {
        Way::MainPsk => published::operations_total_ms(cipher).value - 80.0,
        _ => published::operations_total_ms(cipher).value,
    };
    let node = |node: &str, crypto: f64| {
        let total = crypto / (published::crypto_percent(way).value / 100.0);
        NodeTotal {
            node: node.into(),
            total_ms: median(total),
            crypto_ms: median(crypto),
            rest_ms: median(total - crypto),
            crypto_share: crypto / total,
            total_cycles: total * 1e6,
        }
    };
    Column {
        suite: format!("{}md5-modp1536", cipher.prefix()),
        mark: "broken".into(),
        n: 25,
        nodes: vec![node("ue", crypto * 0.92), node("gw", crypto)],
        skeleton: Some(skeleton(way, cipher)),
    }
}

fn profile(way: Way) -> Profile {
    let of = |operation: &published::Operation| {
        line(way, operation.what, Cipher::ALL.map(|cipher| operation.ms(cipher).value))
    };
    Profile {
        format: 1,
        provenance: None,
        method: way.method().into(),
        node: "gw".into(),
        network: "loopback".into(),
        columns: Cipher::ALL.map(|cipher| column(way, cipher)).into(),
        lines: OPERATIONS.iter().filter_map(of).collect(),
        notes: Vec::new(),
    }
}

fn processing(total: f64, cipher: f64) -> Processing {
    let stage = |name: &str, us: f64, share| Stage { stage: name.into(), us: median(us), cycles: us, share };
    Processing {
        total_us: median(total),
        inbound_us: median(total / 2.0),
        echo_us: median(46.0),
        outbound_us: median(total / 2.0),
        inbound: vec![stage("verify", 20.0, 0.3), stage("decrypt", cipher, 0.58)],
        outbound: vec![stage("encrypt", cipher, 0.55), stage("authenticate", 20.0, 0.3)],
    }
}

fn packets() -> Packets {
    let column = |cipher: Cipher| {
        let full = published::esp_full_us(cipher).value;
        PacketColumn {
            suite: format!("{}md5", cipher.prefix()),
            mark: "broken".into(),
            full: processing(full, if cipher == Cipher::TripleDes192 { 86.0 } else { 34.0 }),
            skeleton: processing(published::esp_skeleton_us().value, 0.1),
            crypto_us: median(full - published::esp_skeleton_us().value),
            crypto_share: published::esp_crypto_percent(cipher).value / 100.0,
        }
    };
    Packets {
        clock_step_us: Some(0.01),
        format: 1,
        provenance: None,
        packet_bytes: 736,
        core_hz: 1.66e9,
        native_us: median(published::esp_native_us().value),
        columns: Cipher::ALL.map(column).into(),
        notes: Vec::new(),
    }
}

/// A supplement with the paper's numbers.
fn as_the_papers() -> Supplement {
    Supplement { profiles: Way::ALL.map(profile).into(), packets: Some(packets()), ..Supplement::default() }
}

fn found(supplement: &Supplement) -> Vec<Finding> {
    findings::findings(&Material { summary: &summary(), supplement })
}

/// The verdict on one finding after a change.
fn verdict(name: &str, change: impl FnOnce(&mut Supplement)) -> Verdict {
    let mut supplement = as_the_papers();
    change(&mut supplement);
    found(&supplement).into_iter().find(|finding| finding.name == name).unwrap().verdict
}

#[test]
fn numbers_like_the_papers_confirm_it() {
    for finding in found(&as_the_papers()) {
        assert_eq!(finding.verdict, Verdict::Holds, "{finding:#?}");
        assert!(!finding.evidence.is_empty(), "{}", finding.name);
    }
}

#[test]
fn without_measurements_nothing_is_judged_and_a_note_says_so() {
    let supplement = Supplement::default();
    let findings = found(&supplement);
    assert!(findings.iter().all(|finding| finding.verdict == Verdict::CannotBeJudged), "{findings:#?}");
    let notes = notes::notes(&Material { summary: &summary(), supplement: &supplement });
    assert!(
        notes.last().unwrap().starts_with("Not measured in this run: main mode, signatures;"),
        "{notes:?}"
    );
}

fn scale_lines(supplement: &mut Supplement, operation: &str, factor: f64) {
    let lines = supplement.profiles[0].lines.iter_mut().filter(|line| line.operation == operation);
    lines
        .flat_map(|line| line.cells.iter_mut().flatten())
        .for_each(|cell| cell.ms = median(cell.ms.p50 * factor));
}

#[test]
fn each_finding_can_fail() {
    let not = Verdict::DoesNotHold;
    assert_eq!(verdict("the-signature-costs-the-server-most", |s| scale_lines(s, "signature", 0.1)), not);
    assert_eq!(verdict("key-agreement-comes-second", |s| scale_lines(s, "D-H agreement", 0.001)), not);
    assert_eq!(verdict("symmetric-cryptography-is-small", |s| scale_lines(s, "encryption", 200.0)), not);
    assert_eq!(verdict("a-shared-key-saves-two-signatures", |s| scale_lines(s, "signature", 3.0)), not);
    let crypto = |place: usize, column: usize, factor: f64| {
        move |s: &mut Supplement| {
            for node in &mut s.profiles[place].columns[column].nodes {
                node.crypto_ms = median(node.crypto_ms.p50 * factor);
            }
        }
    };
    assert_eq!(verdict("the-cipher-makes-little-difference", crypto(0, 0, 2.0)), Verdict::HoldsInPart);
    assert_eq!(verdict("aggressive-mode-changes-no-cryptography", crypto(2, 1, 2.0)), Verdict::HoldsInPart);
    assert_eq!(verdict("cryptography-is-sixty-per-cent", crypto(1, 0, 4.0)), Verdict::HoldsInPart);
    let sides = |place: usize, change: fn(&mut Sides)| {
        move |s: &mut Supplement| {
            let columns = s.profiles[place].columns.iter_mut();
            columns.for_each(|column| change(&mut column.skeleton.as_mut().unwrap().all));
        }
    };
    let slower = sides(2, |sides| sides.skeleton_ms = median(sides.skeleton_ms.p50 + 100.0));
    assert_eq!(verdict("aggressive-mode-gains-little", slower), not);
    let apart = sides(0, |sides| sides.by_addition_ms = median(sides.by_addition_ms.p50 * 2.0));
    assert_eq!(verdict("subtraction-agrees-with-addition", apart), not);
    let quick = sides(0, |sides| sides.full_ms = median(1.0));
    assert_eq!(verdict("ike-costs-far-more-than-a-packet", quick), not);
    let packets = |change: fn(&mut PacketColumn)| {
        move |s: &mut Supplement| s.packets.as_mut().unwrap().columns.iter_mut().for_each(change)
    };
    let hashing = packets(|column| {
        column.full.inbound[0].us = median(900.0);
        column.full.outbound[1].us = median(900.0);
    });
    assert_eq!(verdict("the-cipher-costs-esp-most", hashing), not);
    let alike = packets(|column| {
        column.full.inbound[1].us = median(34.0);
        column.full.outbound[0].us = median(34.0);
    });
    assert_eq!(verdict("aes256-is-faster-than-3des", alike), not);
    let all = packets(|column| column.crypto_us = median(column.full.total_us.p50));
    assert_eq!(verdict("half-to-a-third-of-esp-is-cryptography", all), not);
}

#[test]
fn measured_is_beside_published() {
    let supplement = as_the_papers();
    let tables = tables::tables(&Material { summary: &summary(), supplement: &supplement });
    let first = &tables[0];
    assert_eq!(first.lines.len(), OPERATIONS.len() + 2);
    for line in &first.lines {
        let [Some(ours), Some(theirs)] = &line.cells[..] else { panic!("{}: {:?}", line.label, line.cells) };
        assert_eq!((ours.basis, theirs.basis.is_published()), (Basis::Measured, true), "{}", line.label);
        assert!(
            (ours.value - theirs.value).abs() < 1e-9,
            "{}: {} and {}",
            line.label,
            ours.value,
            theirs.value
        );
    }
    let totals = tables.iter().find(|table| table.title.contains("lock-step")).unwrap();
    assert_eq!(totals.lines.len(), 12);
    assert!(totals.lines[3..].iter().all(|line| line.cells.iter().all(Option::is_some)));
}

#[test]
fn only_published_numbers_have_a_source() {
    let supplement = as_the_papers();
    let tables = tables::tables(&Material { summary: &summary(), supplement: &supplement });
    for figure in tables.iter().flat_map(|table| &table.lines).flat_map(|line| &line.cells).flatten() {
        assert_eq!(figure.basis.is_published(), figure.source.is_some(), "{figure:?}");
    }
    for table in &tables {
        for line in &table.lines {
            assert_eq!(line.cells.len(), table.columns.len(), "{}: {}", table.title, line.label);
        }
    }
}

#[test]
fn only_the_operations_of_a_phase_belong_to_it() {
    let mut supplement = as_the_papers();
    let stray = Line {
        message: "INFORMATIONAL_V1 request".into(),
        operation: "signature".into(),
        purpose: String::new(),
        phase: "informational".into(),
        cells: supplement.profiles[0].lines[0].cells.clone(),
    };
    let material = |supplement: &Supplement| {
        let summary = summary();
        let material = Material { summary: &summary, supplement };
        measured::Measured(&material).operation(Way::MainRsa, Cipher::Aes128, What::Signature).unwrap().value
    };
    let before = material(&supplement);
    supplement.profiles[0].lines.push(stray);
    assert_eq!(material(&supplement), before);
}

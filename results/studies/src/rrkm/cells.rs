//! New keys: what they take of each station and of the access point, and the paper's day of a hundred stations.

use super::published::{self, HASHES_A_DAY_S, KEYS, KEYS_A_DAY, KEYS_S, MIPS_HZ};
use super::tables::{assembled, counted};
use super::{EAP_TLS, HASHED_BYTES, Kind, Method, RRKM, Side, WPA2_PSK};
use crate::claim::Claim;
use crate::doubtful::Doubtful;
use crate::{Cell, Evidence, Figure, Finding, Line, Supplement, Table, Verdict};
use keytoll_analysis::primitives::{PrimitiveCost, summarise};
use keytoll_analysis::study::OperationSum;
use keytoll_trace::primitive::Timings;

/// A day has so many periods of a minute.
const PERIODS_A_DAY: f64 = 1440.0;
/// The paper's stations.
const STATIONS: f64 = 100.0;

/// Its tables.
pub(super) fn tables(supplement: &Supplement) -> Vec<Table> {
    let found =
        [RRKM, EAP_TLS, WPA2_PSK].into_iter().filter_map(|method| Some((method, cell(supplement, method)?)));
    let found: Vec<(Method, &Cell)> = found.collect();
    let rekeying = found.iter().map(|&(method, cell)| rekeying(method, cell));
    let tables =
        rekeying.chain([frames_of_keys(&found), hashes(supplement), time(supplement), day(supplement)]);
    tables.collect()
}

fn cell(supplement: &Supplement, method: Method) -> Option<&Cell> {
    supplement.cells.iter().find(|cell| cell.method == method.method)
}

/// A cell in the paper's terms.
trait Counts {
    fn operations(&self, side: Side) -> &[OperationSum];

    /// For each station and period.
    fn each(&self, total: f64) -> f64;

    /// How many operations of a kind a new key takes at a side: all but those of the data frames, each of which takes one.
    fn count(&self, side: Side, kind: Kind) -> f64;

    /// The hashes of new keys at the access point: how many, and their time.
    fn hashes(&self) -> (u64, u64);
}

impl Counts for Cell {
    fn operations(&self, side: Side) -> &[OperationSum] {
        match side {
            Side::AccessPoint => &self.access_point,
            Side::Station => &self.all_stations,
        }
    }

    fn each(&self, total: f64) -> f64 {
        total / (self.station_count.max(1) * self.period_count.max(1)) as f64
    }

    fn count(&self, side: Side, kind: Kind) -> f64 {
        let of_kind = self.operations(side).iter().filter(|sum| Kind::of(&sum.operation) == Some(kind));
        let all = of_kind.map(|sum| sum.count).fold(0, u64::saturating_add);
        let data = if all >= self.data_frames { self.data_frames } else { 0 };
        self.each((all - data) as f64)
    }

    fn hashes(&self) -> (u64, u64) {
        let rekeying = self.access_point.iter().filter(|sum| sum.phase == "rekeying");
        rekeying.fold((0, 0), |(count, ns), sum| (count + sum.count, ns + sum.ns))
    }
}

/// Table 4-2, Re-key, for one method.
fn rekeying(method: Method, cell: &Cell) -> Table {
    let cells = |kind| {
        let paper = published::rekey_count(method, kind).map(Figure::from);
        Side::ALL
            .into_iter()
            .flat_map(|side| [Some(counted(cell.count(side, kind))), paper.clone()])
            .collect()
    };
    let lines = Kind::ALL.map(|kind| Line { label: kind.label().to_owned(), cells: cells(kind) });
    let is_there = |line: &Line| line.cells.iter().flatten().any(|figure| figure.value > 0.0);
    let title = format!("Table 4-2, Re-key: operations for each station and period, {}", method.label);
    assembled(
        &title,
        "operations",
        &["AP", "paper", "STA", "paper"],
        lines.into_iter().filter(is_there).collect(),
    )
}

fn frames_of_keys(found: &[(Method, &Cell)]) -> Table {
    let line = |&(method, cell): &(Method, &Cell)| Line {
        label: method.label.to_owned(),
        cells: [cell.eapol_frames, cell.management_frames]
            .map(|frames| Some(counted(cell.each(frames as f64))))
            .to_vec(),
    };
    let title = "Frames of new keys, for each station and period";
    assembled(title, "frames", &["EAPOL", "management"], found.iter().map(line).collect())
}

fn hashes(supplement: &Supplement) -> Table {
    let line = |cell: &Cell| {
        let (count, _) = cell.hashes();
        let a_day = cell.each(count as f64) * STATIONS * PERIODS_A_DAY;
        Line {
            label: format!("{} periods", cell.period_count),
            cells: vec![Some(counted(count as f64)), Some(counted(a_day)), Some(KEYS_A_DAY.into())],
        }
    };
    let title = "Hashes of an access point with 100 stations and a new key a minute, simulated";
    let lines = cell(supplement, RRKM).map(line).into_iter().collect();
    assembled(title, "hashes", &["simulated", "a day", "paper"], lines)
}

/// The time of a day's hashes on the paper's device: computed from the time of one here, and simulated.
fn times(supplement: &Supplement) -> [(&'static str, Option<Doubtful>); 2] {
    let timings = supplement.primitives.as_ref();
    let slower = timings.map(|timings| timings.machine.core_hz / MIPS_HZ);
    let one_s = timings.and_then(hash_ns).zip(slower).map(|(hash, slower)| hash.times(slower / 1e9));
    let computed = one_s.map(|one| one.times(KEYS_A_DAY.value));
    let simulated = cell(supplement, RRKM).and_then(|cell| {
        let (_, ns) = cell.hashes();
        let a_day_s = cell.each(ns as f64) * STATIONS * PERIODS_A_DAY * slower? / 1e9;
        // The cell charges one price, which is as uncertain as the measured hash.
        let certain = Doubtful::from(a_day_s);
        (ns > 0).then(|| one_s.map_or(certain, |one| one.times(a_day_s / one.value)))
    });
    [("computed", computed), ("simulated", simulated)]
}

/// The time of one hash of a key on this machine.
fn hash_ns(timings: &Timings) -> Option<Doubtful> {
    let measured = summarise(timings).primitives;
    let is_hash = |cost: &&PrimitiveCost| cost.operation == "hash" && cost.bytes == Some(HASHED_BYTES as u64);
    Some(measured.iter().find(is_hash)?.median().into())
}

fn time(supplement: &Supplement) -> Table {
    let line = |(label, seconds): (&str, Option<Doubtful>)| {
        Some(Line {
            label: label.to_owned(),
            cells: vec![Some(seconds?.into()), Some(HASHES_A_DAY_S.into())],
        })
    };
    let of_a_day = times(supplement).into_iter().filter_map(line);
    let title = "Time of a day's 144 000 hashes with 125 MHz";
    assembled(title, "s", &["measured", "paper"], of_a_day.chain(time_of_keys(supplement)).collect())
}

/// The paper's measurement from which the day follows.
fn time_of_keys(supplement: &Supplement) -> Option<Line> {
    let [(_, computed), _] = times(supplement);
    let all = computed?.times(f64::from(KEYS) / KEYS_A_DAY.value);
    let label = format!("{KEYS} keys, computed");
    Some(Line { label, cells: vec![Some(all.into()), Some(KEYS_S.into())] })
}

fn day(supplement: &Supplement) -> Table {
    let found = cell(supplement, RRKM);
    let lines = found.map(|cell| {
        let counts = [
            ("data, sent", cell.data_frames),
            ("data, arrived", cell.arrived_packets),
            ("lost on the air", cell.lost_frames),
            ("discarded", cell.discards),
            ("EAPOL", cell.eapol_frames),
            ("management", cell.management_frames),
        ];
        counts
            .map(|(label, count)| Line { label: label.to_owned(), cells: vec![Some(counted(count as f64))] })
            .to_vec()
    });
    let periods = found.map_or(0, |cell| cell.period_count);
    let title = format!(
        "Frames of 100 stations with RRKM, a datagram a second each, in {periods} of the day's 1440 periods"
    );
    assembled(&title, "frames", &["simulated"], lines.unwrap_or_default())
}

/// What the paper says about new keys.
pub(super) fn findings(supplement: &Supplement) -> Vec<Finding> {
    vec![
        rrkm_takes_one_hash(supplement),
        rrkm_loses_no_frame(supplement),
        rrkm_takes_no_message(supplement),
        the_day_takes_less_than_a_second(supplement),
        eap_tls_takes_an_hmac_and_rc4(supplement),
    ]
}

/// Each count of a new key beside the printed one.
fn as_printed(supplement: &Supplement, method: Method) -> Vec<(Option<bool>, Evidence)> {
    let Some(cell) = cell(supplement, method) else { return Vec::new() };
    let of_side = |side: Side| {
        Kind::ALL.into_iter().filter_map(move |kind| {
            let printed = published::rekey_count(method, kind).map_or(0.0, |printed| printed.value);
            let count = cell.count(side, kind);
            let evidence = Evidence::new(format!("{}, {}", side.name(), kind.label()), count, "");
            (count > 0.0 || printed > 0.0).then_some((Some((count - printed).abs() < 1e-9), evidence))
        })
    };
    Side::ALL.into_iter().flat_map(of_side).collect()
}

fn rrkm_takes_one_hash(supplement: &Supplement) -> Finding {
    Claim {
        name: "re-keying-takes-one-hash",
        claim: "The only extra effort of RRKM's key management is a hash on both sides.",
        source: "§4.2.2, Table 4-2",
        taken_as: "for each station and period one hash at the access point and one at the station, and no other operation",
    }
    .of_cases(as_printed(supplement, RRKM))
}

fn eap_tls_takes_an_hmac_and_rc4(supplement: &Supplement) -> Finding {
    Claim {
        name: "eap-tls-re-keys-by-hmac-and-rc4",
        claim: "With EAP-TLS, a new key of the group takes one HMAC and one WEP.",
        source: "§4.3, Table 4-2",
        taken_as: "each count for each station and new key is the printed one, and there is no other operation",
    }
    .of_cases(as_printed(supplement, EAP_TLS))
}

fn rrkm_loses_no_frame(supplement: &Supplement) -> Finding {
    let cases = cell(supplement, RRKM).map(|cell| {
        let missing = cell.data_frames - cell.arrived_packets.min(cell.data_frames);
        let count = |count: u64| (Some(count == 0), count as f64);
        [("data frames that did not arrive", missing), ("discarded", cell.discards)].map(|(what, value)| {
            let (case, value) = count(value);
            (case, Evidence::new(what, value, ""))
        })
    });
    Claim {
        name: "re-keying-loses-no-frame",
        claim: "Data transfer is seamless.",
        source: "introduction of chapter 4",
        taken_as: "every data frame of the simulated day arrives, is decrypted with the station's key of its period, and none is \
                   discarded",
    }
    .of_cases(cases.into_iter().flatten())
}

/// A station asks for the access point's timer now and then.
const TIMER_FRAMES_A_DAY: f64 = 10.0;

fn rrkm_takes_no_message(supplement: &Supplement) -> Finding {
    let cases = cell(supplement, RRKM).map(|cell| {
        let a_day = cell.each(cell.management_frames as f64) * PERIODS_A_DAY;
        [
            (Some(cell.eapol_frames == 0), Evidence::new("EAPOL frames", cell.eapol_frames as f64, "")),
            (
                Some(a_day <= TIMER_FRAMES_A_DAY),
                Evidence::new("management frames for a station's clock", a_day, "a day and station"),
            ),
        ]
    });
    Claim {
        name: "re-keying-takes-no-message",
        claim: "Re-keying by RRKM takes a hash and nothing else.",
        source: "Table 4-2; that it says nothing is ours",
        taken_as: "no EAPOL frame, and at most ten frames a day and station for its clock",
    }
    .of_cases(cases.into_iter().flatten())
}

fn the_day_takes_less_than_a_second(supplement: &Supplement) -> Finding {
    let known = times(supplement).into_iter().filter_map(|(what, seconds)| Some((what, seconds?)));
    let known: Vec<(&str, Doubtful)> = known.collect();
    let cases: Vec<Option<bool>> = known.iter().map(|(_, seconds)| seconds.is_at_most(1.0)).collect();
    let evidence = known.iter().map(|(what, seconds)| seconds.evidence(*what, "s with 125 MHz"));
    Claim {
        name: "a-day-of-hashes-takes-less-than-a-second",
        claim: "144 000 new keys a day do not even take a second.",
        source: "§4.2.2",
        taken_as: "their hashes, SHA-1 of this machine slowed down to 125 MHz, take at most a second: computed from what one takes, and as the meter of the simulated access point charges them",
    }
    .judged(Verdict::of_doubtful(&cases), evidence.collect())
}

/// Notes for readers.
pub(super) fn notes(supplement: &Supplement) -> Vec<String> {
    let simulated = cell(supplement, RRKM).map(|cell| {
        format!(
            "{} stations and their access point share a channel of 802.11b; {} periods of {} s of the day's 1440 were simulated (15 for \
             each of `--samples`, all with the shipped 100), in {:.1} s of CPU time. Every frame is encrypted and decrypted with the \
             run's cryptography; every operation is counted, and charged its time at 125 MHz.",
            cell.station_count, cell.period_count, cell.period_s, cell.simulated_in_s
        )
    });
    let told = REKEYING.map(str::to_owned);
    simulated.into_iter().chain(repeated(supplement)).chain(told).collect()
}

/// A note if the access point repeated itself.
fn repeated(supplement: &Supplement) -> Option<String> {
    let wpa2 = cell(supplement, WPA2_PSK)?;
    let frames = wpa2.each(wpa2.eapol_frames as f64);
    let text = format!(
        "With WPA2 the {} stations are told of the new key at once, and most wait for the channel longer than the access point does for \
         an answer: it repeats itself, so that a new key takes {frames:.1} frames and not 2, and operations with them.",
        wpa2.station_count
    );
    (frames > 2.05).then_some(text)
}

const REKEYING: [&str; 3] = [
    "New keys: IEEE 802.11 alone has none. With RRKM both sides hash the key of each station when a period ends, by their own clocks; \
     a station asks for the access point's timer once or twice a day. The group's key, which nobody uses here, is hashed when it is \
     needed. With EAP-TLS and WPA2 the access point sends each station a new key of the group every minute: with dynamic WEP in one \
     EAPOL-Key frame that has no answer, with WPA2 in two.",
    "That one EAPOL-Key frame takes a second RC4 on either side, which the paper does not count: it is a data frame, and encrypted as \
     every other one. WPA2's group key handshake: an HMAC for each frame made and each one checked, AES for the key and for both frames.",
    "The paper's \"simple hash\" took 688 cycles of its MIPS; which one it was is not told. Ours is SHA-1 of 15 bytes; `rrkm_hash` has \
     others.",
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::timed::{timing, timings};

    fn sum(phase: &str, operation: &str, count: u64) -> OperationSum {
        let (phase, operation, algorithm) = (phase.to_owned(), operation.to_owned(), "one".to_owned());
        OperationSum { phase, operation, algorithm, count, ns: 250 * count }
    }

    /// Ten periods of a hundred stations with these operations at both sides.
    fn of(method: Method, operations: &[OperationSum]) -> Cell {
        Cell {
            method: method.method.to_owned(),
            station_count: 100,
            period_s: 60,
            period_count: 10,
            data_frames: 60_000,
            arrived_packets: 60_000,
            eapol_frames: 0,
            management_frames: 0,
            lost_frames: 0,
            discards: 0,
            access_point: operations.to_vec(),
            all_stations: operations.to_vec(),
            simulated_in_s: 1.0,
        }
    }

    fn rrkm() -> Cell {
        of(RRKM, &[sum("rekeying", "hash", 1000), sum("traffic", "stream", 60_000)])
    }

    fn supplement(cells: Vec<Cell>) -> Supplement {
        let hash = timing("hash", "sha1", Some(HASHED_BYTES as u64), &[200.0; 6]);
        Supplement { cells, primitives: Some(timings(vec![hash])), ..Supplement::default() }
    }

    fn verdict(supplement: &Supplement, name: &str) -> Verdict {
        findings(supplement).into_iter().find(|finding| finding.name == name).unwrap().verdict
    }

    #[test]
    fn ten_periods_are_a_part_of_the_day() {
        let tables = tables(&supplement(vec![rrkm()]));
        let values = |title: &str, line: usize| {
            let table = tables.iter().find(|table| table.title.contains(title)).unwrap();
            table.lines[line].cells.iter().map(|cell| cell.as_ref().unwrap().value).collect::<Vec<_>>()
        };
        assert_eq!(values("Re-key", 0), [1.0; 4]);
        assert_eq!(values("Hashes of", 0), [1000.0, 144_000.0, 144_000.0]);
        // The example's machine has 4 GHz: 32 times as long.
        let seconds = [0, 1, 2].map(|line| (values("Time of", line)[0] * 1e6).round() / 1e6);
        assert_eq!(seconds, [144_000.0 * 200e-9 * 32.0, 144_000.0 * 250e-9 * 32.0, 10_000.0 * 200e-9 * 32.0]);
        assert_eq!(values("Time of", 2)[1], 0.055);
        assert!(tables.iter().any(|table| table.title.contains("in 10 of the day's 1440 periods")));
    }

    #[test]
    fn what_is_as_printed_holds_and_a_lost_frame_is_told() {
        let whole = supplement(vec![rrkm()]);
        for name in ["re-keying-takes-one-hash", "re-keying-loses-no-frame", "re-keying-takes-no-message"] {
            assert_eq!(verdict(&whole, name), Verdict::Holds, "{name}");
        }
        let lossy = supplement(vec![Cell { arrived_packets: 59_999, eapol_frames: 1000, ..rrkm() }]);
        assert_eq!(verdict(&lossy, "re-keying-loses-no-frame"), Verdict::HoldsInPart);
        assert_eq!(verdict(&lossy, "re-keying-takes-no-message"), Verdict::HoldsInPart);
        let twice = of(RRKM, &[sum("rekeying", "hash", 2000)]);
        assert_eq!(verdict(&supplement(vec![twice]), "re-keying-takes-one-hash"), Verdict::DoesNotHold);
    }

    #[test]
    fn a_second_of_hashes_is_too_much() {
        let name = "a-day-of-hashes-takes-less-than-a-second";
        assert_eq!(verdict(&supplement(vec![rrkm()]), name), Verdict::HoldsInPart, "0.92 s and 1.15 s");
        let quick = Supplement { cells: Vec::new(), ..supplement(Vec::new()) };
        assert_eq!(verdict(&quick, name), Verdict::Holds);
        assert_eq!(verdict(&Supplement::default(), name), Verdict::CannotBeJudged);
    }

    #[test]
    fn dynamic_wep_encrypts_the_frame_too() {
        let eap_tls = of(
            EAP_TLS,
            &[
                sum("wep-keys", "prf", 1000),
                sum("wep-keys", "stream", 1000),
                sum("traffic", "stream", 61_000),
            ],
        );
        let supplement = supplement(vec![eap_tls]);
        assert_eq!(verdict(&supplement, "eap-tls-re-keys-by-hmac-and-rc4"), Verdict::HoldsInPart);
        let once = of(EAP_TLS, &[sum("wep-keys", "prf", 1000), sum("wep-keys", "stream", 61_000)]);
        let supplement = Supplement { cells: vec![once], ..Supplement::default() };
        assert_eq!(verdict(&supplement, "eap-tls-re-keys-by-hmac-and-rc4"), Verdict::Holds);
    }

    #[test]
    fn an_access_point_that_repeats_itself_is_explained() {
        let wpa2 = |eapol_frames| Cell { eapol_frames, ..of(WPA2_PSK, &[]) };
        let repeats = |frames| repeated(&supplement(vec![wpa2(frames)])).is_some();
        assert_eq!([2000, 4000].map(repeats), [false, true]);
    }
}

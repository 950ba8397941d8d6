//! Comparisons of rows that are made up.

use keytoll_document::condition::{self, Resolved};

use super::*;

fn name(method: &str, crypto: &str) -> RowName {
    let [network, topology, world] = ["wifi-11g", "raw", "sim"].map(str::to_owned);
    RowName {
        method: method.to_owned(),
        variant: String::new(),
        network,
        topology,
        world,
        crypto: crypto.to_owned(),
    }
}

fn row(method: &str, delays: impl IntoIterator<Item = f64>) -> MeasuredRow {
    let delays: Vec<f64> = delays.into_iter().collect();
    let n = delays.len() as u64;
    let values =
        vec![Values { measure: "delay_ms".to_owned(), values: delays, judged_by: JudgedBy::Authentications }];
    MeasuredRow { name: name(method, "real"), n, failed: 0, values }
}

fn run(place: &str, rows: Vec<MeasuredRow>) -> Run<MeasuredRow> {
    let (machine, seed) = ("a processor".to_owned(), "1".to_owned());
    Run { place: place.to_owned(), machine, seed, repeats_seed: 0, other_load: None, complete: true, rows }
}

/// Twenty values around this one, none of them the same.
fn around(middle: f64) -> Vec<f64> {
    (0..20).map(|step| middle + (f64::from(step) - 9.5) / 10.0).collect()
}

fn verdicts(comparison: &Comparison) -> Vec<(String, Verdict)> {
    let all = comparison
        .pairs
        .iter()
        .flat_map(|pair| pair.contrasts.iter().map(|it| (pair.b.method.clone(), it.verdict)));
    all.collect()
}

#[test]
fn two_runs_are_compared_row_by_row() {
    let a = run("a", vec![row("psk", around(10.0)), row("rsa", around(20.0)), row("old", around(1.0))]);
    let b = run("b", vec![row("rsa", around(20.1)), row("psk", around(12.0)), row("new", around(1.0))]);
    let found = runs(&a, &b);
    assert_eq!(
        verdicts(&found),
        [("psk".to_owned(), Verdict::More), ("rsa".to_owned(), Verdict::NotToldApart)]
    );
    let psk = &found.pairs[0].contrasts[0];
    assert!((psk.ratio.unwrap() - 1.2).abs() < 1e-9 && psk.superiority_share > 0.9, "{psk:?}");
    let (low, high) = (psk.ratio_ci95_low.unwrap(), psk.ratio_ci95_high.unwrap());
    assert!(1.1 < low && low < 1.2 && 1.2 < high && high < 1.3, "{low} {high}");
    let alone: Vec<_> = found.alone.iter().map(|it| (it.run.as_str(), it.row.as_str())).collect();
    assert_eq!(alone, [("a", "old, wifi-11g, raw"), ("b", "new, wifi-11g, raw")]);
    assert_eq!(found.notes, [""; 0]);
}

#[test]
fn what_was_run_otherwise_is_compared_and_told() {
    let a = run("a", vec![row("psk", around(10.0))]);
    let mut b = run("b", vec![row("psk", around(10.0))]);
    b.rows[0].name = name("psk", "table");
    b.machine = "another".to_owned();
    b.complete = false;
    let notes = runs(&a, &b).notes.join(" ");
    for words in
        ["b is not complete", "sim, real crypto against sim, table crypto", "a processor and another"]
    {
        assert!(notes.contains(words), "{words}: {notes}");
    }
}

#[test]
fn rows_of_a_run_are_compared_with_the_first_or_the_named_one() {
    let all = run("a", vec![row("psk", around(10.0)), row("rsa", around(9.0)), row("md5", around(10.0))]);
    let first = rows(&all, None).unwrap();
    assert_eq!(
        verdicts(&first),
        [("rsa".to_owned(), Verdict::Less), ("md5".to_owned(), Verdict::NotToldApart)]
    );
    let named = rows(&all, Some("rsa")).unwrap();
    assert_eq!(verdicts(&named).into_iter().map(|it| it.0).collect::<Vec<_>>(), ["psk", "md5"]);
    assert!(rows(&all, Some("dsa")).unwrap_err().to_string().contains("no row `dsa`"));
}

#[test]
fn many_comparisons_need_more_to_tell_rows_apart() {
    // About 3 %, which is told apart alone and not as one of ten.
    let shifted: Vec<f64> = around(10.42);
    let alone = rows(&run("a", vec![row("base", around(10.0)), row("x", shifted.clone())]), None).unwrap();
    let contrast = &alone.pairs[0].contrasts[0];
    assert!(contrast.p_value.unwrap() < 0.05 && contrast.verdict == Verdict::More, "{contrast:?}");
    let many = std::iter::once(row("base", around(10.0)))
        .chain((0..10).map(|it| row(&format!("x{it}"), shifted.clone())));
    let many = rows(&run("a", many.collect()), None).unwrap();
    let of_many = &many.pairs[0].contrasts[0];
    assert_eq!(of_many.verdict, Verdict::NotToldApart);
    assert!(
        (of_many.p_value_holm.unwrap() - (10.0 * contrast.p_value.unwrap()).min(1.0)).abs() < 1e-12,
        "{of_many:?}"
    );
}

#[test]
fn equal_counts_are_equal() {
    let found = rows(&run("a", vec![row("a", [4.0; 9]), row("b", [4.0; 5])]), None).unwrap();
    let contrast = &found.pairs[0].contrasts[0];
    assert_eq!(
        (contrast.verdict, contrast.ratio, contrast.ratio_ci95_low),
        (Verdict::Equal, Some(1.0), None)
    );
}

#[test]
fn a_run_that_is_compared_with_itself_is_told_from_its_rows_and_from_chance() {
    let a = run("a", vec![row("psk", around(10.0)), row("rsa", [4.0; 9])]);
    let itself = runs(&a, &a);
    assert_eq!(
        verdicts(&itself),
        [("psk".to_owned(), Verdict::Identical), ("rsa".to_owned(), Verdict::Equal)]
    );
    assert!(!itself.is_of_rows() && itself.notes[0].contains("it is the same run"), "{itself:?}");
    assert!(rows(&a, None).unwrap().is_of_rows());
    // The same values in another order are those of another run.
    let reversed = run("b", vec![row("psk", around(10.0).into_iter().rev()), row("rsa", [4.0; 9])]);
    let other = runs(&a, &reversed);
    assert_eq!((other.pairs[0].contrasts[0].verdict, other.notes.len()), (Verdict::NotToldApart, 0));
    // Three against twenty may be chance, and how many there were is told.
    let few = runs(&a, &run("b", vec![row("psk", [9.9, 10.0, 10.1])]));
    let contrast = &few.pairs[0].contrasts[0];
    assert_eq!((contrast.verdict, contrast.a.n, contrast.b.n), (Verdict::NotToldApart, 20, 3));
}

#[test]
fn only_a_difference_that_is_no_chance_meets_a_condition() {
    let a = run("a", vec![row("psk", around(10.0)), row("rsa", around(10.0))]);
    let b = run("b", vec![row("psk", around(11.5)), row("rsa", around(10.05))]);
    let found = runs(&a, &b);
    let met = |text: &str| {
        let breaches = threshold::breaches(&condition(text), &found, [&a, &b]);
        breaches.into_iter().map(|breach| breach.rows[1].clone()).collect::<Vec<_>>()
    };
    assert_eq!(met("delay_ms.p50 > +5%"), ["psk, wifi-11g, raw"]);
    assert_eq!(met("delay_ms.p50 > +15%"), [""; 0], "a part of the interval is below");
    assert_eq!(met("delay_ms.p50 > +20%"), [""; 0]);
    assert_eq!(met("delay_ms.mean > +0.1%"), ["psk, wifi-11g, raw"], "half a percent of rsa may be chance");
    assert_eq!(met("delay_ms.p95 < -1%"), [""; 0]);
    assert_eq!(met("cpu_us.gw.p95 > +1%"), [""; 0], "nobody has measured it");
    assert_eq!(met("delay.max > 11 ms"), ["psk, wifi-11g, raw"], "the second row alone");
    let same = runs(&a, &a);
    let found = threshold::breaches(&condition("delay_ms.p50 > -5%"), &same, [&a, &a]);
    assert_eq!(found.len(), 2, "no difference at all is more than -5 %");
    let found = threshold::breaches(&condition("delay_ms.p50 > +0%"), &same, [&a, &a]);
    assert_eq!(found, [], "no difference is none");
    let few = [run("a", vec![row("psk", [10.0; 5])]), run("b", vec![row("psk", [20.0; 5])])];
    let found =
        threshold::breaches(&condition("delay_ms.p50 > +10%"), &runs(&few[0], &few[1]), [&few[0], &few[1]]);
    assert_eq!(found, [], "five values have no interval");
}

#[test]
fn where_nothing_could_be_measured_a_condition_is_met() {
    let a = run("a", vec![row("psk", around(10.0))]);
    let mut b = run("b", vec![row("psk", [])]);
    b.rows[0] = MeasuredRow { n: 20, failed: 20, values: Vec::new(), ..b.rows[0].clone() };
    let told = |a: &Run<MeasuredRow>, b: &Run<MeasuredRow>, text: &str| {
        let breaches = threshold::breaches(&condition(text), &runs(a, b), [a, b]);
        breaches.into_iter().map(|breach| breach.measured.unwrap()).collect::<Vec<_>>()
    };
    for text in ["delay.p95 > 300 ms", "delay.p95 < 1 ms", "delay.p95 > +10 %"] {
        assert_eq!(told(&a, &b, text), ["nothing to measure"], "{text}");
    }
    assert_eq!(told(&b, &a, "delay.p50 > 9 ms"), ["10 ms"], "a limit is about the second row alone");
    assert_eq!(told(&b, &a, "delay.p50 > +10 %"), ["nothing to compare with in the first row"]);
    // Where all succeeded, the value is missed if the same row had one before.
    (b.rows[0].failed, b.rows[0].n) = (0, 20);
    assert_eq!(told(&a, &b, "delay.p50 > 9 ms"), ["nothing to measure"]);
    assert_eq!(told(&a, &b, "cpu_us.gw.p50 > 9 us"), [""; 0], "nobody has measured it");
}

fn condition(text: &str) -> Resolved {
    let fields = threshold::fields(["delay_ms", "cpu_us.gw"]);
    condition::Condition::read(text).and_then(|read| read.resolve(&fields, true)).unwrap()
}

#[test]
fn extremes_are_compared_with_limits_alone() {
    assert!(threshold::check(&condition("delay.max > +10 %")).unwrap_err().contains("by chance"));
    assert_eq!(threshold::check(&condition("delay.max > 10 s")), Ok(()));
    assert_eq!(threshold::check(&condition("delay.p99 > +10 %")), Ok(()));
    assert!(threshold::check(&condition("cpu_us.gw.p99 > +10 %")).unwrap_err().contains("`cpu_us.gw.p50`"));
    assert_eq!(threshold::check(&condition("cpu_us.gw.p99 > 10 ms")), Ok(()));
    assert_eq!(threshold::check(&condition("cpu_us.gw.mean > +10 %")), Ok(()));
}

/// A row with its CPU time measured in blocks of three.
fn timed(work: f64, blocks: u32) -> MeasuredRow {
    let time = |sample: u32| {
        let value = work * (1.0 + f64::from(sample * 7 % 10) / 1000.0);
        blocks::Timed { run: 0, block: sample / 3, reference: 22.0, value }
    };
    let times: Vec<_> = (0..3 * blocks).map(time).collect();
    let values = times.iter().map(|time| time.value).collect();
    let judged_by = JudgedBy::Blocks(BlockValue::Least, times);
    let cpu = Values { measure: "cpu_us.gw".to_owned(), values, judged_by };
    MeasuredRow { values: vec![cpu], ..row("psk", [1.0]) }
}

#[test]
fn cpu_times_are_judged_by_blocks_and_beyond_the_tolerance() {
    let of = |a: MeasuredRow, b: MeasuredRow| runs(&run("a", vec![a]), &run("b", vec![b]));
    let verdict = |found: &Comparison| found.pairs[0].contrasts[0].verdict;
    assert_eq!(verdict(&of(timed(100.0, 8), timed(100.8, 8))), Verdict::NotToldApart);
    let more = of(timed(100.0, 8), timed(108.0, 8));
    assert_eq!((verdict(&more), more.notes.len()), (Verdict::More, 0));
    assert_eq!(verdict(&of(timed(108.0, 8), timed(100.0, 8))), Verdict::Less);
    let few = of(timed(100.0, 8), timed(200.0, 3));
    assert_eq!((verdict(&few), few.pairs[0].contrasts[0].p_value), (Verdict::CannotBeJudged, None));
    assert!(few.notes[0].starts_with("1 of 1 CPU times cannot be judged"), "{:?}", few.notes);
}

/// Two runs of one build differed in 43 of 90 CPU times while compilers ran.
#[test]
fn cpu_times_of_a_busy_machine_have_a_note() {
    let of = |other_load| Run { other_load, ..run("a", vec![timed(100.0, 8)]) };
    let notes = |a, b| runs(&of(a), &Run { place: "b".to_owned(), ..of(b) }).notes;
    assert!(notes(Some(4.1), Some(6.2)).iter().any(|note| note.contains("load average 4.1 and 6.2")));
    assert!(notes(None, Some(6.2)).iter().any(|note| note.contains("load average 6.2 at")));
    assert!(!notes(None, None).iter().any(|note| note.contains("load average")));
}

#[test]
fn a_condition_on_a_change_of_cpu_time_is_met_only_by_blocks() {
    let met = |a: MeasuredRow, b: MeasuredRow, text: &str| {
        let (a, b) = (run("a", vec![a]), run("b", vec![b]));
        let breaches = threshold::breaches(&condition(text), &runs(&a, &b), [&a, &b]);
        breaches.into_iter().map(|breach| breach.measured.unwrap_or_default()).collect::<Vec<_>>()
    };
    assert_eq!(met(timed(100.0, 8), timed(108.0, 8), "cpu_us.gw.p50 > +5%"), [""]);
    assert_eq!(met(timed(100.0, 8), timed(103.0, 8), "cpu_us.gw.p50 > +5%"), [""; 0]);
    assert_eq!(
        met(timed(100.0, 8), timed(102.0, 8), "cpu_us.gw.p50 > +1%"),
        [""; 0],
        "accidents of a process"
    );
    assert_eq!(met(timed(100.0, 8), timed(108.0, 8), "cpu_us.gw.p50 > +1%"), [""]);
    assert_eq!(met(timed(100.0, 8), timed(120.0, 3), "cpu_us.gw.p50 > +5%"), ["cannot be judged"]);
}

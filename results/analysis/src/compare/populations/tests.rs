//! Comparisons of populations that are made up.

use std::time::Duration;

use keytoll_census::Census;
use keytoll_document::condition;

use super::*;
use crate::compare::{Contrast, runs, threshold};

const fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

/// A thousand attempts in ten seconds, of which one in so many fails, none of 1; delays around this one, and a node busy for a millisecond each.
fn census(delay_ms: u64, failing: u64, node: &str) -> Census {
    let mut census = Census::new();
    census.add_node(node, 2);
    census.planned(ms(10_000));
    for number in 0..1000 {
        let at = ms(number * 10);
        census.offered(at);
        census.begun(at, at);
        let done = at + ms(delay_ms + number * 7 % 20);
        match number % failing {
            1 => census.failed(done, "timeout"),
            _ => census.established(at, done),
        }
        census.busy(node, done, ms(1));
    }
    census.end(ms(20_000));
    census
}

fn row(method: &str, world: &str, census: &Census) -> CountedRow {
    let topology = if world == LIVE { "" } else { "raw" };
    let [method, variant, network, topology, world, crypto] =
        [method, "", "lan", topology, world, "real"].map(str::to_owned);
    CountedRow::new(RowName { method, variant, network, topology, world, crypto }, census.account())
}

fn run(place: &str, rows: Vec<CountedRow>) -> CountedRun {
    let (machine, seed) = ("a processor".to_owned(), "1".to_owned());
    Run { place: place.to_owned(), machine, seed, repeats_seed: 0, other_load: None, complete: true, rows }
}

fn figure<'a>(comparison: &'a Comparison, measure: &str) -> &'a Figure {
    let figures = &comparison.pairs[0].figures;
    figures.iter().find(|figure| figure.measure == measure).unwrap_or_else(|| panic!("{figures:?}"))
}

#[test]
fn delays_are_compared_by_their_histograms_and_shares_by_counts() {
    let a = run("a", vec![row("psk", "sim", &census(100, 100, "gw"))]);
    let b = run("b", vec![row("psk", "sim", &census(120, 5, "gw"))]);
    let found = runs(&a, &b);
    let Contrast { a: side, superiority_share, verdict, .. } = &found.pairs[0].contrasts[0];
    assert_eq!((side.n, *verdict), (990, Verdict::More));
    assert!(*superiority_share > 0.99 && (side.value_p50 - 110.0).abs() < 1.0, "{side:?}");
    let p99 = figure(&found, "delay_ms.p99");
    assert!(
        (p99.ratio.unwrap() - 139.0 / 119.0).abs() < 0.01 && p99.verdict == Some(Verdict::More),
        "{p99:?}"
    );
    let has = |measure: &str| found.pairs[0].figures.iter().any(|figure| figure.measure == measure);
    assert!(has("delay_ms.p95") && !has("delay_ms.p99.9"), "800 say nothing of one in a thousand");
    let share = figure(&found, "established_share");
    assert_eq!((share.value_a, share.value_b, share.verdict), (0.99, 0.8, Some(Verdict::Less)));
    let (low, high) = (share.ratio_ci95_low.unwrap(), share.ratio_ci95_high.unwrap());
    assert!(low > 0.78 && low < 0.80 && high > 0.82 && high < 0.84, "{low} {high}");
    let busy = figure(&found, "utilisation_share.gw");
    assert_eq!((busy.value_a, busy.verdict, busy.ratio_ci95_low), (1.0 / 40.0, None, None));
    assert_eq!(figure(&found, "offered_per_s").ratio, Some(1.0));
}

#[test]
fn the_same_population_twice_cannot_be_told_apart() {
    let a = run("a", vec![row("psk", "sim", &census(100, 100, "gw"))]);
    let found = runs(&a, &a);
    assert_eq!(found.pairs[0].contrasts[0].verdict, Verdict::Identical);
    assert_eq!(figure(&found, "delay_ms.p99").verdict, Some(Verdict::Equal));
    let b = run("b", vec![row("psk", "sim", &census(100, 90, "gw"))]);
    let other = runs(&a, &b);
    assert_eq!(other.pairs[0].contrasts[0].verdict, Verdict::NotToldApart);
    assert_eq!(figure(&other, "failed_share").verdict, Some(Verdict::NotToldApart));
}

#[test]
fn a_load_is_compared_with_the_one_population_whatever_its_names() {
    let sim = run("sim", vec![row("ikev2-psk", "sim", &census(100, 100, "gw"))]);
    let load = run("load", vec![row("IKEv2 shared key", "live", &census(100, 100, "target"))]);
    let found = runs(&sim, &load);
    assert_eq!(unlike(&sim, &load), None);
    // A millisecond each, a hundred in a second on two cores: until the last success, and not until the end.
    let busy = figure(&found, "utilisation_share.gw");
    assert!((busy.value_a - 0.05).abs() < 0.001 && busy.ratio == Some(1.0), "{busy:?}");
    assert!(found.notes.iter().any(|note| note.contains("compared with gw")), "{:?}", found.notes);
    let many = run("many", vec![sim.rows[0].clone(), row("ikev2-rsa", "sim", &census(9, 9, "gw"))]);
    assert_eq!(unlike(&many, &load).unwrap(), "a load is one population, and `many` has 2");
    assert_eq!(unlike(&many, &many), None);
}

#[test]
fn conditions_are_about_points_shares_and_numbers() {
    let a = run("a", vec![row("psk", "sim", &census(100, 100, "gw"))]);
    let b = run("b", vec![row("psk", "sim", &census(120, 5, "gw"))]);
    let found = runs(&a, &b);
    let met = |text: &str| {
        let read = condition::Condition::read(text).and_then(|read| read.resolve(&fields(&found), true));
        !threshold::breaches(&read.unwrap(), &found, [&a, &b]).is_empty()
    };
    for (text, is_met) in [
        ("delay.p99 > +10%", true),
        ("delay_ms.p99 > +30%", false),
        ("delay.p99 > 130 ms", true),
        ("failed > 10 %", true),
        ("failed > 30 %", false),
        ("established < -10 %", true),
        ("rate < 90/s", true),
        ("utilisation.gw > +1 %", false),
        ("cpu.gw > +20 %", true),
        ("amplification > 1", false),
    ] {
        assert_eq!((text, met(text)), (text, is_met));
    }
}

#[test]
fn what_was_nothing_before_meets_conditions_unless_it_may_be_chance() {
    let of = |failing| run("run", vec![row("psk", "sim", &census(100, failing, "gw"))]);
    let (none, few, many) = (of(1), of(1000), of(20));
    let told = |a: &CountedRun, b: &CountedRun, text: &str| {
        let found = runs(a, b);
        let read = condition::Condition::read(text).and_then(|read| read.resolve(&fields(&found), true));
        let breaches = threshold::breaches(&read.unwrap(), &found, [a, b]);
        breaches.into_iter().map(|it| it.measured.unwrap_or_default()).collect::<Vec<_>>()
    };
    assert_eq!(told(&none, &many, "failed > +10 %"), ["5 %, from 0"]);
    assert_eq!(told(&none, &few, "failed > +10 %"), [""; 0], "one of a thousand may be chance");
    assert_eq!(told(&few, &many, "failed > +10 %"), [""], "fifty of a thousand after one are none");
    assert_eq!(told(&none, &none, "failed > +10 %"), [""; 0]);
    let share = figure(&runs(&none, &many), "failed_share").clone();
    assert_eq!((share.ratio, share.ratio_ci95_high, share.verdict), (None, None, Some(Verdict::More)));
    assert!(share.ratio_ci95_low.unwrap() > 5.0, "{share:?}");
}

#[test]
fn a_population_of_which_nobody_succeeds_meets_conditions_of_delays() {
    let mut failing = Census::new();
    failing.add_node("gw", 2);
    failing.planned(ms(10_000));
    failing.offered(ms(1));
    failing.begun(ms(1), ms(1));
    failing.failed(ms(9), "timeout");
    failing.end(ms(20_000));
    let a = run("a", vec![row("psk", "sim", &census(100, 1, "gw"))]);
    let b = run("b", vec![row("psk", "sim", &failing)]);
    let found = runs(&a, &b);
    for text in ["delay.p99 > 300 ms", "delay.p99 < 1 ms", "delay.p50 > +10 %"] {
        let read = condition::Condition::read(text).and_then(|read| read.resolve(&fields(&found), true));
        let breaches = threshold::breaches(&read.unwrap(), &found, [&a, &b]);
        assert_eq!(breaches[0].measured.as_deref(), Some("nothing to measure"), "{text}");
    }
}

/// Numbers of somebody else's file are no reason to end.
#[test]
fn counts_whose_sum_no_number_holds_are_compared() {
    let mut account = census(100, 100, "gw").account();
    account.delays_us = vec![[1000, u64::MAX], [2000, u64::MAX]];
    let row = CountedRow::new(RowName::default(), account);
    let many = run("many", vec![row]);
    assert_eq!(runs(&many, &many).pairs[0].contrasts[0].a.n, u64::MAX);
}

//! Weights, grades, scores, and what a change of a weight does, each beside what is printed or follows.

use keytoll_ranking::Ranking;
use keytoll_ranking::outcome::{Change, Weight};

use super::published;
use super::ranked::{self, Rankings, label, mean_grade, of_performance, place, sweep};
use super::{MAINS, VARIED, WEIGHTS_OF};
use crate::hip_dex_aka::{METHODS, Method, Speed};
use crate::{Basis, Figure, Line, Table};

/// All of them, in the order of the slides.
pub(super) fn tables(rankings: &Rankings) -> Vec<Table> {
    let first = [weights(rankings), grades(rankings), means(rankings), scores(rankings), ranks(rankings)];
    let figures = VARIED.into_iter().flat_map(|main| [curve(rankings, main), changes(rankings, main)]);
    first.into_iter().chain(figures).filter(|table| !table.lines.is_empty()).collect()
}

/// A number that follows from those on the slides.
fn followed(basis: Basis, value: f64, source: &str) -> Figure {
    Figure { source: Some(source.to_owned()), ..Figure::of_run(basis, value, None) }
}

const ALL_SEVEN: &str = "least squares over seven experts, of whom the slides print four and the others follow from the printed weights";
const FOUR: &str = "least squares over the four printed experts";
const RANKED: &str = "the printed weights and grades, and of performance the printed rules with the slides' values as far as these are \
                      printed or follow";

fn measured(value: f64) -> Figure {
    Figure::of_run(Basis::Measured, value, None)
}

fn reconstructed(value: f64) -> Figure {
    followed(Basis::Reconstructed, value, RANKED)
}

fn table(title: String, unit: &str, columns: &[&str], lines: Vec<Line>) -> Table {
    let columns = columns.iter().map(|&column| column.to_owned()).collect();
    Table { title, unit: unit.to_owned(), columns, lines }
}

fn weights(rankings: &Rankings) -> Table {
    let opinion = rankings.paper.opinions.first();
    let cells = |main: &str| {
        let all = opinion.and_then(|opinion| opinion.weights.get(main));
        let four = opinion.and_then(|opinion| opinion.printed.as_ref()?.get(main));
        vec![
            all.map(|weight| followed(Basis::Reconstructed, WEIGHTS_OF * weight, ALL_SEVEN)),
            four.map(|weight| followed(Basis::Derived, WEIGHTS_OF * weight, FOUR)),
            published::weight(main).map(Figure::from),
        ]
    };
    let lines = MAINS.map(|main| Line { label: main.to_owned(), cells: cells(main) });
    let columns = ["seven experts", "the four printed", "paper"];
    table("Weights of the main criteria, of 10 000".to_owned(), "of 10 000", &columns, lines.to_vec())
}

/// Grades of performance: ours on fitted CPUs, and what follows from the slides' values.
fn grades(rankings: &Rankings) -> Table {
    let Some(ours) = rankings.judged() else { return table(String::new(), "", &[], Vec::new()) };
    let cells = |criterion: &Weight, theirs: &Weight| {
        let of_method = |method: Method| {
            let published = ranked::origin(theirs, method);
            let theirs = ranked::grade(theirs, method).zip(published);
            let theirs = theirs.map(|(grade, from)| followed(graded(from.basis), grade, from.source));
            [ranked::grade(criterion, method).map(measured), theirs]
        };
        METHODS.into_iter().flat_map(of_method).collect()
    };
    let lines = of_performance(ours)
        .zip(of_performance(&rankings.paper))
        .map(|(ours, theirs)| Line { label: ours.name.clone(), cells: cells(ours, theirs) });
    let columns: Vec<&str> = METHODS.iter().flat_map(|method| [method.label, "paper"]).collect();
    let title = "Performance grades by the printed rules, on fitted CPUs";
    table(title.to_owned(), "grades", &columns, lines.collect())
}

/// A grade of a printed value is no printed grade: the formula is not printed.
fn graded(basis: Basis) -> Basis {
    if basis == Basis::Reconstructed { basis } else { Basis::Derived }
}

fn means(rankings: &Rankings) -> Table {
    let of = |ranking: &Ranking, main, method| mean_grade(ranking, main, method);
    let cells = |method: Method| {
        let ours = rankings.judged().and_then(|ranking| of(ranking, "performance", method)).map(measured);
        let theirs = of(&rankings.paper, "performance", method).map(reconstructed);
        let printed = ["security", "deployment", "extra"].map(|main| {
            let source = "the mean of the grades on the slides \"Grade assignment\"";
            of(&rankings.paper, main, method).map(|grade| followed(Basis::Derived, grade, source))
        });
        [ours, theirs].into_iter().chain(printed).collect()
    };
    let columns = ["performance", "paper", "security", "deployment", "extra"];
    table("Mean grades by main criterion".to_owned(), "grades", &columns, of_methods(cells))
}

fn scores(rankings: &Rankings) -> Table {
    by_speed(rankings, "Scores", "of 1", |ranking, method| Some(place(ranking, method)?.score))
}

fn ranks(rankings: &Rankings) -> Table {
    by_speed(rankings, "Order of the methods", "places", |ranking, method| {
        Some(place(ranking, method)?.rank as f64)
    })
}

/// A line for every method, a column for the CPUs of every speed.
fn by_speed(rankings: &Rankings, title: &str, unit: &str, of: fn(&Ranking, Method) -> Option<f64>) -> Table {
    const SPEEDS: [Speed; 3] = [Speed::Calibrated, Speed::Clocks, Speed::Host];
    let cells = |method: Method| {
        let ours = SPEEDS.map(|speed| of(rankings.at(speed)?, method).map(measured));
        ours.into_iter().chain([of(&rankings.paper, method).map(reconstructed)]).collect()
    };
    let columns = ["fitted", "testbed clock", "here", "paper"];
    table(title.to_owned(), unit, &columns, of_methods(cells))
}

fn of_methods(cells: impl Fn(Method) -> Vec<Option<Figure>>) -> Vec<Line> {
    METHODS.map(|method| Line { label: method.label.to_owned(), cells: cells(method) }).to_vec()
}

/// One of the three figures: the scores while a weight goes from 0 to 1.
fn curve(rankings: &Rankings, main: &str) -> Table {
    let points = rankings.judged().and_then(|ranking| sweep(ranking, main));
    let points = points.iter().flat_map(|sweep| sweep.curve.iter().step_by(2));
    let lines = points.map(|point| {
        let score = |method| point.scores.get(&ranked::name(method)).copied().map(measured);
        Line { label: format!("weight {:.1}", point.weight), cells: METHODS.map(score).to_vec() }
    });
    let title = format!("Sensitivity analysis (weight of {main} criteria): scores of this run");
    table(title, "of 1", &METHODS.map(|method| method.label), lines.collect())
}

/// Where places change on that figure, here and with what is known of the slides.
fn changes(rankings: &Rankings, main: &str) -> Table {
    let of =
        |ranking: &Ranking| sweep(ranking, main).map(|sweep| sweep.crossings.clone()).unwrap_or_default();
    let ours = rankings.judged().map(of).unwrap_or_default();
    let theirs = of(&rankings.paper);
    let mut all: Vec<&Change> = ours.iter().collect();
    all.extend(theirs.iter().filter(|change| ours.iter().all(|other| !is_same(change, other))));
    all.sort_by(|one, other| one.at.total_cmp(&other.at));
    let find = |among: &[Change], change: &Change| {
        among.iter().find(|other| is_same(change, other)).map(|found| found.at)
    };
    let line = |change: &&Change| Line {
        label: format!("{} before {} above", label(&change.above), label(&change.below)),
        cells: vec![find(&ours, change).map(measured), find(&theirs, change).map(reconstructed)],
    };
    let weight = published::weight(main).map_or(0.0, |weight| weight.value / WEIGHTS_OF);
    let title =
        format!("Sensitivity analysis (weight of {main} criteria, printed {weight}): where places change");
    table(title, "of 1", &["here", "paper"], all.iter().map(line).collect())
}

fn is_same(one: &Change, other: &Change) -> bool {
    (&one.above, &one.below) == (&other.above, &other.below)
}

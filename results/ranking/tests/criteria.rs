//! Criteria files with the summary of a run: `data/hip-dex-aka.json` is that of `keytoll study hip-dex-aka` on a machine of November
//! 2026, with the rows over Wi-Fi, the members that a ranking reads, and six digits of each number.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::fmt::Write;

use keytoll_analysis::summary::SummaryRow;
use keytoll_analysis::{Named, Summary, summary};
use keytoll_document::DocumentError;
use keytoll_ranking::file::BUILTIN;
use keytoll_ranking::methods::{METHODS, Method};
use keytoll_ranking::weighed::{By, Chosen, Origin};
use keytoll_ranking::{Criteria, Options, Ranking, rank};

pub(crate) fn run() -> Summary {
    summary::parse(include_str!("data/hip-dex-aka.json")).unwrap()
}

fn options() -> Options {
    Options { method: &METHODS[0], weights: Chosen::default(), draws: 2000, seed: 1 }
}

fn epc() -> Criteria {
    Criteria::find("epc-2012").unwrap()
}

fn ranked(options: &Options) -> Ranking {
    rank(&epc(), &run(), options).unwrap()
}

fn weights(by: By) -> Vec<f64> {
    let weights = Chosen { by, given: Vec::new() };
    let ranking = ranked(&Options { weights, ..options() });
    ranking.criteria.iter().take(4).map(|criterion| criterion.weight).collect()
}

#[track_caller]
fn close(found: &[f64], expected: &[f64]) {
    for (one, other) in found.iter().zip(expected) {
        assert!((one - other).abs() < 5e-5, "{found:?} is not {expected:?}");
    }
}

#[test]
fn every_built_in_file_is_valid_and_there() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../criteria");
    let files = std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().file_name());
    let stem = |name: std::ffi::OsString| name.to_str().unwrap().strip_suffix(".toml").map(str::to_owned);
    let mut files: Vec<_> = files.filter_map(stem).collect();
    files.sort();
    let mut names: Vec<_> = BUILTIN.iter().map(|builtin| builtin.name.to_owned()).collect();
    names.sort();
    assert_eq!(files, names);
    for name in names {
        Criteria::find(&name).unwrap();
    }
}

#[test]
fn the_papers_weights_are_stated_and_follow_from_its_experts() {
    const PAPER: [f64; 4] = [0.3075, 0.207, 0.2785, 0.207];
    close(&weights(By::Preferred), &PAPER);
    close(&weights(By::Experts), &PAPER);
    close(&weights(By::Printed), &[0.1662, 0.1976, 0.4700, 0.1662]);
    close(&weights(By::Equal), &[0.25; 4]);
    let [opinion] = &ranked(&options()).opinions[..] else { panic!("the main criteria alone") };
    let values = |of: &Named<f64>| of.iter().map(|(_, value)| *value).collect::<Vec<_>>();
    close(&values(&opinion.weights), &PAPER);
    close(&values(opinion.printed.as_ref().unwrap()), &[0.1662, 0.1976, 0.4700, 0.1662]);
    assert!(
        opinion.experts.iter().all(|expert| expert.contradiction_steps < 1e-12),
        "a star agrees with itself"
    );
    assert!(opinion.experts.iter().all(|expert| expert.residual_steps > 0.5), "{opinion:?}");
}

#[test]
fn the_paper_is_ranked_by_a_run() {
    let ranking = ranked(&options());
    let mut text = String::new();
    for place in &ranking.alternatives {
        writeln!(text, "{} {} {:.4}", place.rank, place.name, place.score).unwrap();
    }
    for criterion in &ranking.criteria {
        let grades = criterion.grades.iter().flat_map(Named::iter);
        let grades: Vec<_> = grades.map(|(_, grade)| grade.to_string()).collect();
        writeln!(text, "{} {:.4} {}", criterion.name, criterion.share, grades.join(" ")).unwrap();
    }
    insta::assert_snapshot!(text);
}

#[test]
fn a_seed_gives_the_same_ranking_to_the_last_digit() {
    assert_eq!(ranked(&options()), ranked(&options()));
    let other = ranked(&Options { seed: 2, ..options() });
    assert_ne!(ranked(&options()).acceptability, other.acceptability);
}

#[test]
fn changes_of_places_are_where_the_ranking_changes() {
    let ranking = ranked(&options());
    let best = &ranking.alternatives[0].name;
    for sweep in ranking.sensitivity.iter().filter(|sweep| sweep.winner_keeps_to < 1.0) {
        let winner = |weight: f64| {
            let given = vec![(sweep.criterion.clone(), weight)];
            let weights = Chosen { by: By::Preferred, given };
            ranked(&Options { weights, draws: 1, ..options() }).alternatives[0].name.clone()
        };
        assert_eq!(&winner(sweep.winner_keeps_to - 1e-6), best, "{}", sweep.criterion);
        assert_ne!(&winner((sweep.winner_keeps_to + 1e-6).min(1.0)), best, "{}", sweep.criterion);
    }
}

#[test]
fn given_weights_leave_the_rest_to_the_others() {
    let given = vec![("security".to_owned(), 0.5), ("delay".to_owned(), 1.0)];
    let ranking = ranked(&Options { weights: Chosen { by: By::Preferred, given }, ..options() });
    let named = |name: &str| ranking.criteria.iter().find(|criterion| criterion.name == name).unwrap();
    assert_eq!((named("security").weight, named("security").origin), (0.5, Origin::Given));
    close(&[named("deployment").weight], &[0.2785 / 0.6925 / 2.0]);
    assert_eq!((named("delay").weight, named("cpu-ue").weight), (1.0, 0.0));
    let sum: f64 = ranking.criteria.iter().take(4).map(|criterion| criterion.weight).sum();
    assert!((sum - 1.0).abs() < 1e-12);
}

#[test]
fn every_method_ranks_all() {
    for method in METHODS {
        let ranking = ranked(&Options { method, draws: 100, ..options() });
        assert_eq!(ranking.alternatives.len(), 6);
        assert!(ranking.alternatives.is_sorted_by(|one, other| one.score >= other.score), "{}", method.name);
    }
    let orders = ranked(&options()).methods;
    assert_eq!(orders[0].order, orders[2].order, "AHP and weighted product have one order");
    assert!(Method::named("electre").is_none());
}

/// The mistake and where it is.
fn told(error: &DocumentError) -> String {
    let place = error.location().map_or(String::new(), |(_, line, _)| format!("line {line}: "));
    let hint = error.advice().map_or(String::new(), |hint| format!(" ({hint})"));
    format!("{place}{error}{hint}\n")
}

/// A small valid file.
const SMALL: &str = r#"title = "small"
[[alternative]]
name = "a"
method = "hip-dex"
[[alternative]]
name = "b"
method = "ikev2-psk"
[[criterion]]
name = "x"
grades = { a = 1, b = 2 }
[[criterion]]
name = "y"
measure = "cpu-cycles"
node = "ue"
reference = "b"
better_max = 3
worse_max = 2
"#;

fn mistake(from: &str, to: &str) -> String {
    assert!(SMALL.contains(from), "{from}");
    let text = SMALL.replacen(from, to, 1);
    match Criteria::parse("test", &text).and_then(|criteria| rank(&criteria, &run(), &options())) {
        Err(error) => told(&error),
        Ok(_) => panic!("{from} -> {to} is accepted"),
    }
}

#[test]
fn a_small_file_ranks() {
    let ranking = rank(&Criteria::parse("test", SMALL).unwrap(), &run(), &options()).unwrap();
    assert_eq!(ranking.alternatives[0].name, "a");
    assert_eq!(ranking.criteria[1].origin, Origin::Equal);
}

#[test]
fn each_mistake_is_one_sentence() {
    let experts = |compare: &str| {
        format!(
            "[[criterion]]\nname = \"z\"\ngrades = {{ a = 1, b = 2 }}\n[[expert]]\nname = \"e\"\ncompare = {compare}\n[[criterion]]\nname = \"y\""
        )
    };
    let changes = [
        ("title = \"small\"", "titel = 1".to_owned()),
        ("title = \"small\"", String::new()),
        ("name = \"b\"", "name = \"a\"".to_owned()),
        ("grades = { a = 1, b = 2 }", String::new()),
        ("grades = { a = 1, b = 2 }", "grades = { a = 1 }".to_owned()),
        ("grades = { a = 1, b = 2 }", "grades = { a = 1, b = 2, c = 3 }".to_owned()),
        ("grades = { a = 1, b = 2 }", "grades = { a = inf, b = 2 }".to_owned()),
        ("grades = { a = 1, b = 2 }", "grades = { a = nan, b = 2 }".to_owned()),
        ("grades = { a = 1, b = 2 }", "values = { a = 1, b = 2 }".to_owned()),
        ("grades = { a = 1, b = 2 }", "values = { a = 1, b = -2 }\nthresholds = [0]".to_owned()),
        ("grades = { a = 1, b = 2 }", "values = { a = 1, b = 2 }\nthresholds = [2, 1]".to_owned()),
        (
            "grades = { a = 1, b = 2 }",
            "values = { a = 0, b = 2 }\nreference = \"a\"\nbetter_max = 1\nworse_max = 1".to_owned(),
        ),
        ("grades = { a = 1, b = 2 }", "grades = { a = 1, b = 2 }\nmeasure = \"delay\"".to_owned()),
        ("grades = { a = 1, b = 2 }", "grades = { a = 1, b = 2 }\nthresholds = [1]".to_owned()),
        ("grades = { a = 1, b = 2 }", "grades = { a = 1, b = 2 }\nweight = 0.5".to_owned()),
        ("grades = { a = 1, b = 2 }", "grades = { a = 1, b = 2 }\nweight = 1.5".to_owned()),
        ("grades = { a = 1, b = 2 }", "grades = { a = 1, b = 2 }\nimportance = \"shall\"".to_owned()),
        ("grades = { a = 1, b = 2 }", "grades = { a = 1, b = 2 }\nunder = \"y\"".to_owned()),
        ("name = \"y\"", "name = \"y\"\nunder = \"x\"".to_owned()),
        ("measure = \"cpu-cycles\"", "measure = \"cpu-cycle\"".to_owned()),
        ("node = \"ue\"", String::new()),
        ("node = \"ue\"", "node = \"aaa\"".to_owned()),
        ("node = \"ue\"", "node = \"aaa\"\nabsent = 0".to_owned()),
        ("node = \"ue\"", "node = \"ue\"\nnetworks = [\"hspa-2010\"]".to_owned()),
        ("node = \"ue\"", "node = \"ue\"\ntopologies = [\"flat\", \"round\"]".to_owned()),
        ("node = \"ue\"", "node = \"ue\"\nlinks = [\"ue-gw\"]".to_owned()),
        ("node = \"ue\"", "node = \"ue\"\nthresholds = [1]".to_owned()),
        ("reference = \"b\"", "reference = \"psk\"".to_owned()),
        ("reference = \"b\"", "reference = 0".to_owned()),
        ("better_max = 3", String::new()),
        ("method = \"ikev2-psk\"", "method = \"ikev1-psk\"".to_owned()),
        ("method = \"ikev2-psk\"", "method = \"ikev2-psk\"\nvariant = \"suite=x\"".to_owned()),
        ("[[criterion]]\nname = \"y\"", experts("[]")),
        ("[[criterion]]\nname = \"y\"", experts("[[\"x\", \"y\"]]")),
        ("[[criterion]]\nname = \"y\"", experts("[[\"x\", \"y\", 9]]")),
        ("[[criterion]]\nname = \"y\"", experts("[[\"x\", \"u\", 1]]")),
        ("[[criterion]]\nname = \"y\"", experts("[[\"x\", \"x\", 1]]")),
        ("[[criterion]]\nname = \"y\"", experts("[[\"x\", \"z\", 1]]")),
    ];
    let told: String = changes.iter().map(|(from, to)| mistake(from, to)).collect();
    insta::assert_snapshot!(told);
}

#[test]
fn weights_that_cannot_be_are_refused() {
    let refused = |by: By, given: &[(&str, f64)]| {
        let given = given.iter().map(|(name, weight)| ((*name).to_owned(), *weight)).collect();
        let criteria = Criteria::parse("test", SMALL).unwrap();
        let options = Options { weights: Chosen { by, given }, ..options() };
        told(&rank(&criteria, &run(), &options).unwrap_err())
    };
    let told = [
        refused(By::Experts, &[]),
        refused(By::Printed, &[]),
        refused(By::Preferred, &[("x", 0.8), ("y", 0.7)]),
        refused(By::Preferred, &[("x", 0.2), ("y", 0.3)]),
        refused(By::Preferred, &[("z", 0.2)]),
    ];
    insta::assert_snapshot!(told.concat());
}

/// Criteria without alternatives rank all methods of a run, each relative to the best.
#[test]
fn any_run_is_ranked_by_what_was_measured() {
    let ranking = rank(&Criteria::find("measured").unwrap(), &run(), &options()).unwrap();
    assert_eq!(ranking.alternatives.len(), 6);
    for criterion in &ranking.criteria {
        let grades = || criterion.grades.as_ref().unwrap().iter().map(|(_, grade)| *grade);
        assert_eq!(grades().fold(f64::NEG_INFINITY, f64::max), 0.0, "{} has a best", criterion.name);
        assert!((criterion.weight - 1.0 / 6.0).abs() < 1e-12 && criterion.origin == Origin::Equal);
    }
    let delay = &ranking.criteria[0];
    let (values, grades) = (delay.values.as_ref().unwrap(), delay.grades.as_ref().unwrap());
    let least = values.iter().map(|(_, value)| *value).fold(f64::INFINITY, f64::min);
    for ((name, value), (_, grade)) in values.iter().zip(grades.iter()) {
        assert!((grade - (least / value).log2().max(-8.0)).abs() < 1e-12, "{name}");
    }
    assert_eq!(ranking.alternatives[0].name.split(' ').next(), Some("hip-dex"), "{:?}", ranking.alternatives);
}

#[test]
fn what_was_not_measured_alike_is_not_ranked() {
    let refused =
        |run: &Summary| told(&rank(&Criteria::find("measured").unwrap(), run, &options()).unwrap_err());
    let mut short = run();
    short.rows.pop();
    assert!(refused(&short).contains("were not measured in the same settings"), "{}", refused(&short));
    short.rows.truncate(4);
    assert!(refused(&short).contains("one alternative alone cannot be ranked"), "{}", refused(&short));
    let without = "title = \"x\"\n[[criterion]]\nname = \"y\"\ngrades = { a = 1 }\n";
    let mistake = told(&Criteria::parse("test", without).unwrap_err());
    assert!(mistake.contains("`grades` needs alternatives"), "{mistake}");
}

/// A run of somebody else may have any number of rows.
#[test]
fn more_methods_than_anybody_compares_are_refused_without_looking_at_all() {
    let criteria = Criteria::find("measured").unwrap();
    let mut many = run();
    let row = many.rows[0].clone();
    let variant = |number: usize| SummaryRow { variant: format!("chain={number}"), ..row.clone() };
    many.rows = (0..100).map(variant).collect();
    assert_eq!(rank(&criteria, &many, &options()).unwrap().alternatives.len(), 100);
    many.rows = (0..20_000).map(variant).collect();
    let refused = told(&rank(&criteria, &many, &options()).unwrap_err());
    let why = "the run has more than 100 methods with their variants, and no more are ranked (a file of your own with `[[alternative]]` says what is ranked)";
    assert!(refused.contains(why), "{refused}");
}

/// Whatever is in a file and in a run.
mod any {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn no_text_is_a_panic(cut in 0..SMALL.len(), length in 0_usize..40, other in ".{0,12}") {
            let end = (cut + length).min(SMALL.len());
            let text = format!("{}{other}{}", &SMALL[..cut], &SMALL[end..]);
            if let Ok(criteria) = Criteria::parse("any", &text) {
                let ranking = rank(&criteria, &run(), &Options { draws: 10, ..options() });
                if let Ok(ranking) = ranking {
                    prop_assert!(ranking.alternatives.iter().all(|place| place.score.is_finite()));
                }
            }
        }

        #[test]
        fn the_greatest_numbers_give_finite_scores(
            grades in prop::array::uniform2(-20.0..=20.0_f64),
            gamma in 0.01..=8.0_f64,
            method in 0..METHODS.len(),
        ) {
            let given = format!("grades = {{ a = {:?}, b = {:?} }}\ngamma = {gamma:?}", grades[0], grades[1]);
            let text = SMALL.replace("grades = { a = 1, b = 2 }", &given);
            let options = Options { method: &METHODS[method], draws: 10, ..options() };
            let ranking = rank(&Criteria::parse("any", &text).unwrap(), &run(), &options).unwrap();
            prop_assert!(ranking.alternatives.iter().all(|place| place.score.is_finite()));
            prop_assert!(ranking.tornado.iter().all(|bar| bar.less.is_finite() && bar.more.is_finite()));
        }
    }
}

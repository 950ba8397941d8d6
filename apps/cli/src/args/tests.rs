//! What command lines mean.

use super::*;
use clap::CommandFactory;
use keytoll_scenario::catalogue::List;

#[test]
fn the_command_line_is_consistent() {
    Cli::command().debug_assert();
}

#[test]
fn every_list_of_the_catalogue_can_be_asked_for() {
    for list in List::ALL.map(List::name).into_iter().chain([STUDIES_LIST]) {
        assert!(Cli::try_parse_from(["keytoll", "list", list]).is_ok(), "{list}");
    }
}

#[test]
fn results_go_to_a_directory_named_as_the_scenario() {
    let out = |line: &str| match Cli::try_parse_from(line.split(' ')).unwrap().verb {
        Verb::Run(args) => args.out_dir(),
        other => panic!("{other:?}"),
    };
    assert_eq!(out("keytoll run"), Path::new("runs/quickstart"));
    assert_eq!(out("keytoll run my/storm.toml"), Path::new("runs/storm"));
    assert_eq!(out("keytoll run my/storm.toml --out here"), Path::new("here"));
}

#[test]
fn switches_reach_the_plan_and_win_over_sets() {
    let line = "keytoll run lossy --seed 7 --samples 3 --crypto null --exponents full --set samples=9 \
                --set title=T";
    let Verb::Run(args) = Cli::try_parse_from(line.split(' ')).unwrap().verb else { panic!("not run") };
    let plan = args.scenario.plan().unwrap();
    assert_eq!((plan.seed, plan.samples, plan.title.as_str()), (7, 3, "T"));
    assert_eq!((plan.crypto.name(), plan.exponents.name()), ("null", "full"));
}

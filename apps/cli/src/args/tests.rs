//! Tests of command lines.

use super::*;
use clap::CommandFactory;
use keytoll_scenario::catalogue::List;

#[test]
fn the_command_line_is_consistent() {
    Cli::command().debug_assert();
}

#[test]
fn every_list_of_the_catalogue_can_be_requested() {
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
fn a_log_filter_has_known_levels_and_targets() {
    let refused = |filter: &str| {
        let parsed = Cli::try_parse_from(["keytoll", "gateway", "gw.toml", "--log", filter]);
        parsed.err().map(|error| error.to_string())
    };
    for filter in ["info", "off", "fact=trace", "warn, fact=debug", "info,fact=debug,keytoll=error"] {
        assert_eq!(refused(filter), None, "{filter}");
    }
    for filter in
        ["", "info,", ",", "loud", "3", "info,facts=debug", "hyper=info", "fact", "fact=", "fact=loud"]
    {
        let said = refused(filter).unwrap_or_default();
        assert!(said.contains("is no level; expected `off`, `error`, `warn`"), "{filter}: {said}");
        assert!(said.contains("with the targets `fact`, `keytoll`"), "{filter}: {said}");
    }
}

#[test]
fn switches_change_the_plan_and_exclude_a_set_of_the_same_key() {
    let plan = |line: &str| {
        let Verb::Run(args) = Cli::try_parse_from(line.split(' ')).unwrap().verb else { panic!("not run") };
        args.scenario.plan()
    };
    let line = "keytoll run suites --seed 7 --samples 3 --crypto null --exponents full --set title=T";
    let taken = plan(line).unwrap();
    assert_eq!((taken.seed, taken.samples, taken.title.as_str()), (7, 3, "T"));
    assert_eq!((taken.crypto.name(), taken.exponents.name()), ("null", "full"));
    let refused = plan(&format!("{line} --set samples=9")).unwrap_err();
    assert_eq!(refused.to_string(), "`samples` is set twice");
}

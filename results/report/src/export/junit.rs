//! JUnit's XML, as CI servers read it: a suite of cases, each passed, failed, skipped, or without a result because of an error.

use std::fmt::Write as _;

const HEAD: &str = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuite name=\"";

/// Whether a file that begins like this is ours: the names of our suites begin with `keytoll`.
pub fn is_one(beginning: &[u8]) -> bool {
    beginning.starts_with(format!("{HEAD}keytoll ").as_bytes())
}

/// Some cases.
#[derive(Debug, Clone, PartialEq)]
pub struct Suite {
    /// Its name.
    pub name: String,
    /// How long it took, in seconds, if that is known.
    pub time_s: Option<f64>,
    /// Its cases.
    pub cases: Vec<Case>,
}

/// A case.
#[derive(Debug, Clone, PartialEq)]
pub struct Case {
    /// What it is a case of.
    pub class: String,
    /// Its name.
    pub name: String,
    /// What became of it.
    pub outcome: Outcome,
    /// What else there is to say.
    pub told: String,
}

/// What became of a case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// As it should.
    Passed,
    /// Not so, and why.
    Failed(String),
    /// The test itself was impossible, and why.
    Error(String),
    /// There was nothing to judge by, and why.
    Skipped(String),
}

impl Suite {
    /// The whole file.
    pub fn text(&self) -> String {
        let count = |is: fn(&Outcome) -> bool| self.cases.iter().filter(|case| is(&case.outcome)).count();
        let failures = count(|outcome| matches!(outcome, Outcome::Failed(_)));
        let errors = match count(|outcome| matches!(outcome, Outcome::Error(_))) {
            0 => String::new(),
            count => format!(" errors=\"{count}\""),
        };
        let skipped = match count(|outcome| matches!(outcome, Outcome::Skipped(_))) {
            0 => String::new(),
            count => format!(" skipped=\"{count}\""),
        };
        let time = self.time_s.map_or_else(String::new, |time_s| format!(" time=\"{time_s}\""));
        let mut text = format!(
            "{HEAD}{}\" tests=\"{}\" failures=\"{failures}\"{errors}{skipped}{time}>\n",
            escaped(&self.name),
            self.cases.len()
        );
        self.cases.iter().for_each(|case| case.write(&mut text));
        text + "</testsuite>\n"
    }
}

impl Case {
    fn write(&self, text: &mut String) {
        let [class, name, told] = [&self.class, &self.name, &self.told].map(|text| escaped(text));
        let became = match &self.outcome {
            Outcome::Passed => String::new(),
            Outcome::Failed(why) => format!("    <failure message=\"{}\"/>\n", escaped(why)),
            Outcome::Error(why) => format!("    <error message=\"{}\"/>\n", escaped(why)),
            Outcome::Skipped(why) => format!("    <skipped message=\"{}\"/>\n", escaped(why)),
        };
        let told =
            if told.is_empty() { String::new() } else { format!("    <system-out>{told}</system-out>\n") };
        let head = format!("  <testcase classname=\"{class}\" name=\"{name}\"");
        // Writing to a string cannot fail.
        let _ = match became.is_empty() && told.is_empty() {
            true => writeln!(text, "{head}/>"),
            false => writeln!(text, "{head}>\n{became}{told}  </testcase>"),
        };
    }
}

/// XML 1.0 §2.2 has no control characters but tab and line ends, and these no place in an attribute.
fn escaped(text: &str) -> String {
    let text = super::fit(text);
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cases_pass_fail_or_are_skipped() {
        let case = |name: &str, outcome, told: &str| Case {
            class: "a".to_owned(),
            name: name.to_owned(),
            outcome,
            told: told.to_owned(),
        };
        let cases = vec![
            case("b < \"c\"\u{ffff}", Outcome::Passed, ""),
            case("d", Outcome::Failed("e & f".to_owned()), ""),
            case("g", Outcome::Skipped("h".to_owned()), "i"),
            case("j", Outcome::Error("k".to_owned()), ""),
        ];
        insta::assert_snapshot!(Suite { name: "all".to_owned(), time_s: Some(1.5), cases }.text());
    }
}

//! Parses the output of `swanctl --list-sas --raw`, reduced to what tests need: the SAs, their states, and their byte counters.
//!
//! One line for each IKE SA: `list-sa event {c {uniqueid=1 … state=ESTABLISHED … child-sas {net-1 {… state=INSTALLED
//! … bytes-in=252 … bytes-out=252 …}}}}`.

/// An IKE SA with its children.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct IkeSa {
    /// `ESTABLISHED`, `CONNECTING`, …
    pub state: String,
    /// Its CHILD SAs.
    pub children: Vec<ChildSa>,
}

/// A CHILD SA.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ChildSa {
    /// `INSTALLED`, `REKEYING`, …
    pub state: String,
    /// Inner bytes received.
    pub bytes_in: u64,
    /// Inner bytes sent.
    pub bytes_out: u64,
}

/// Parses the output of `--list-sas --raw`.
pub fn read(raw: &str) -> Vec<IkeSa> {
    raw.lines().filter(|line| line.starts_with("list-sa event {")).filter_map(ike_sa).collect()
}

fn ike_sa(line: &str) -> Option<IkeSa> {
    let (head, children) = line.split_once("child-sas {").unwrap_or((line, ""));
    Some(IkeSa { state: value(head, "state")?, children: children.split('{').filter_map(child_sa).collect() })
}

fn child_sa(body: &str) -> Option<ChildSa> {
    let number = |key| value(body, key).and_then(|text| text.parse().ok()).unwrap_or_default();
    Some(ChildSa {
        state: value(body, "state")?,
        bytes_in: number("bytes-in"),
        bytes_out: number("bytes-out"),
    })
}

fn value(text: &str, key: &str) -> Option<String> {
    let found = text.split_whitespace().find_map(|word| word.strip_prefix(key)?.strip_prefix('='))?;
    Some(found.trim_end_matches('}').to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_established_sa_with_its_child_is_parsed() {
        let raw = "list-sa event {c {uniqueid=1 version=2 state=ESTABLISHED local-id=CN=a b tasks-active=[x y] \
                   child-sas {net-1 {name=net uniqueid=1 state=INSTALLED mode=TUNNEL bytes-in=252 packets-in=3 \
                   bytes-out=84 local-ts=[10.98.2.0/24]}}}}\nlist-sas reply {}\n";
        let child = ChildSa { state: "INSTALLED".into(), bytes_in: 252, bytes_out: 84 };
        assert_eq!(read(raw), [IkeSa { state: "ESTABLISHED".into(), children: vec![child] }]);
    }

    #[test]
    fn an_sa_without_children_and_no_sa_at_all() {
        let raw = "list-sa event {c {uniqueid=2 state=CONNECTING child-sas {}}}\n";
        assert_eq!(read(raw), [IkeSa { state: "CONNECTING".into(), children: vec![] }]);
        assert_eq!(read("list-sas reply {}\n"), []);
    }
}

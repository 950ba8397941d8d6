//! The paper's printed numbers.

use crate::Figure;
use crate::published::Published;

/// The paper's groups, in its order.
pub(super) const GROUPS: [&str; 3] = ["modp1024", "modp3072", "ecp384"];

/// Mean, least, greatest and standard deviation.
type Statistics = [f64; 4];

/// Table 1, in seconds.
const EXCHANGE_S: [(&str, Statistics); 3] = [
    ("modp1024", [0.0172, 0.017, 0.019, 0.001]),
    ("modp3072", [0.0718, 0.07, 0.072, 0.001]),
    ("ecp384", [0.007, 0.007, 0.007, 0.0]),
];

/// Table 2, in Mbit/s.
const THROUGHPUT: [(&str, Statistics); 4] = [
    ("plain", [31.67, 29.0, 37.5, 2.32]),
    ("modp1024", [19.81, 15.6, 23.5, 2.52]),
    ("modp3072", [17.3, 14.8, 20.7, 1.49]),
    ("ecp384", [23.39, 19.8, 27.6, 2.24]),
];

/// Microseconds of Table 1.
pub(super) fn exchange_us(group: &str) -> Option<[Figure; 4]> {
    let (_, statistics) = EXCHANGE_S.iter().find(|(of, _)| *of == group)?;
    Some(statistics.map(|seconds| printed(seconds * 1e6, "Table 1")))
}

/// Table 2; `plain` for no IPsec.
pub(super) fn throughput_mbit_s(group: &str) -> Option<[Figure; 4]> {
    let (_, statistics) = THROUGHPUT.iter().find(|(of, _)| *of == group)?;
    Some(statistics.map(|mbit_s| printed(mbit_s, "Table 2")))
}

fn printed(value: f64, source: &'static str) -> Figure {
    Published::printed((value * 1e6).round() / 1e6, source).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// §4.2: 26 %, 37 % and 45 % lower than plain.
    #[test]
    fn the_papers_percentages_follow_from_its_table() {
        let mean = |group| throughput_mbit_s(group).unwrap()[0].value;
        let loss = |group| ((1.0 - mean(group) / mean("plain")) * 100.0).round();
        assert_eq!(["ecp384", "modp1024", "modp3072"].map(loss), [26.0, 37.0, 45.0]);
        assert_eq!(exchange_us("modp1024").unwrap()[0].value, 17_200.0);
    }
}

//! A table of costs from primitives measured at several sizes: a straight line through their means.

use keytoll_trace::cost_table::{CostTable, OperationPrice};
use keytoll_trace::primitive::{Timing, Timings};

use super::values;
use crate::stats::{Line, Welford};

/// The price of every measured operation and algorithm.
pub fn table(timings: &Timings) -> CostTable {
    let Timings { keytoll_version, measured_unix_s, machine, library, .. } = timings;
    let mut table = CostTable::new(keytoll_version, *measured_unix_s, machine.clone(), library);
    let mut rest = &timings.timings[..];
    while let Some(first) = rest.first() {
        let sizes = rest.iter().take_while(|timing| is_same(first, timing)).count();
        table.costs.extend(price(&rest[..sizes]));
        rest = &rest[sizes..];
    }
    table
}

/// Whether two differ in size only.
fn is_same(a: &Timing, b: &Timing) -> bool {
    (&a.operation, &a.algorithm, &a.exponents) == (&b.operation, &b.algorithm, &b.exponents)
}

/// None if nothing was measured.
fn price(sizes: &[Timing]) -> Option<OperationPrice> {
    let first = sizes.first()?;
    let points: Option<Vec<(f64, f64)>> =
        sizes.iter().map(|it| Some((it.bytes? as f64, values(it).mean()?))).collect();
    let all: Vec<_> = sizes.iter().map(values).collect();
    let (fixed_ns, ns_per_byte) = match points.as_deref().and_then(line_through_ends) {
        Some(line) => (line.intercept, line.slope),
        None => (all.first()?.mean()?, 0.0),
    };
    let spread = |values: &Welford| Some(values.stddev()? / values.mean()?);
    Some(OperationPrice {
        operation: first.operation.clone(),
        algorithm: first.algorithm.clone(),
        exponents: first.exponents.clone(),
        fixed_ns: rounded(fixed_ns),
        ns_per_byte: rounded(ns_per_byte),
        n: all.iter().map(Welford::n).sum(),
        spread: all.iter().filter_map(spread).fold(0.0, f64::max),
    })
}

/// The line from the smallest to the largest size, never falling and never below zero: the error of a long message must not
/// affect the price of a short one.
fn line_through_ends(points: &[(f64, f64)]) -> Option<Line> {
    let (small, large) = (points.first()?, points.last()?);
    let line = Line::through(&[*small, *large])?;
    let slope = line.slope.max(0.0);
    Some(Line { slope, intercept: (small.1 - slope * small.0).max(0.0) })
}

/// Rounded to picoseconds, the meter's unit.
fn rounded(ns: f64) -> f64 {
    (ns * 1000.0).round() / 1000.0
}

#[cfg(test)]
mod tests {
    use super::super::tests::{timing, timings};
    use super::*;

    fn prices(measured: Vec<Timing>) -> Vec<(String, f64, f64)> {
        let costs = table(&timings(measured)).costs;
        costs
            .into_iter()
            .map(|it| (it.operation + " " + &it.algorithm, it.fixed_ns, it.ns_per_byte))
            .collect()
    }

    #[test]
    fn lengths_of_one_operation_become_a_line() {
        let measured = vec![
            timing("hash", "sha1", Some(100), &[90.0, 110.0]),
            timing("hash", "sha1", Some(1100), &[600.0]),
            timing("hash", "md5", Some(100), &[50.0]),
            timing("agree", "x25519", None, &[16_000.0, 16_002.0]),
        ];
        let expected = [("hash sha1", 50.0, 0.5), ("hash md5", 50.0, 0.0), ("agree x25519", 16_001.0, 0.0)];
        assert_eq!(prices(measured), expected.map(|(name, fixed, byte)| (name.to_owned(), fixed, byte)));
    }

    #[test]
    fn no_line_falls() {
        let measured = vec![
            timing("sign", "rsa", Some(64), &[1000.0]),
            timing("sign", "rsa", Some(8192), &[990.0]),
            timing("mac", "md5", Some(100), &[10.0]),
            timing("mac", "md5", Some(200), &[100.0]),
        ];
        let expected = [("sign rsa", 1000.0, 0.0), ("mac md5", 0.0, 0.9)];
        assert_eq!(prices(measured), expected.map(|(name, fixed, byte)| (name.to_owned(), fixed, byte)));
    }
}

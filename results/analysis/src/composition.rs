//! What the CPU time of an authentication is made of: operation by operation at each node, so that the parts add up to the mean.

use std::collections::BTreeMap;

use crate::summary::SummaryRow;

/// The name of operations that have no name of their own here.
pub const OTHERS: &str = "other operations";
/// The name of what is no operation.
pub const REST: &str = "everything else";
/// The name of all that other makers' programs do, who do not tell operations apart.
const UNKNOWN: &str = "operations and everything else";

/// A part of the CPU time at a node.
#[derive(Debug, Clone, PartialEq)]
pub struct Part<'a> {
    /// The row.
    pub row: &'a SummaryRow,
    /// The node.
    pub node: &'a str,
    /// The operation, whatever its algorithm is, or one of the rests.
    pub name: String,
    /// Mean time on this machine in nanoseconds.
    pub ns: f64,
    /// Over how many authentications.
    pub n: u64,
}

/// The CPU time of rows by node and operation. So many operations have a name of their own, those that take most over all rows and nodes; the
/// rest of the operations are one part, and what is no operation is another.
pub fn cpu_by_operation<'a>(rows: &[&'a SummaryRow], most: usize) -> Vec<Part<'a>> {
    let named = greatest(rows, most);
    rows.iter().flat_map(|row| row.cpu.names().flat_map(|node| of_node(row, node, &named))).collect()
}

/// The names of parts, those that take most first, and what has no name of its own last.
pub fn names(parts: &[Part<'_>]) -> Vec<String> {
    let mut sums: BTreeMap<&str, f64> = BTreeMap::new();
    for part in parts {
        *sums.entry(&part.name).or_default() += part.ns;
    }
    let mut names: Vec<(&str, f64)> = sums.into_iter().collect();
    let place = |name: &str| [OTHERS, REST, UNKNOWN].iter().position(|last| *last == name);
    names.sort_by(|one, other| place(one.0).cmp(&place(other.0)).then(other.1.total_cmp(&one.1)));
    names.into_iter().map(|(name, _)| name.to_owned()).collect()
}

/// The operations that take most, the greatest first.
fn greatest(rows: &[&SummaryRow], most: usize) -> Vec<String> {
    let mut sums: BTreeMap<String, f64> = BTreeMap::new();
    let all = rows.iter().flat_map(|row| row.operations.iter()).flat_map(|(_, operations)| operations);
    for operation in all.filter(|operation| operation.is_in_authentication()) {
        *sums.entry(operation.operation.clone()).or_default() += operation.ns;
    }
    let mut names: Vec<(String, f64)> = sums.into_iter().filter(|(_, ns)| *ns > 0.0).collect();
    names.sort_by(|one, other| other.1.total_cmp(&one.1));
    names.into_iter().take(most).map(|(name, _)| name).collect()
}

fn of_node<'a>(row: &'a SummaryRow, node: &'a str, named: &[String]) -> Vec<Part<'a>> {
    let Some(cpu) = row.cpu.get(node) else { return Vec::new() };
    let part = |name: &str, ns: f64| Part { row, node, name: name.to_owned(), ns, n: cpu.n };
    let Some(operations) = row.operations.get(node) else {
        let name = if cpu.crypto_ns.is_some() { REST } else { UNKNOWN };
        return vec![part(name, cpu.ns)];
    };
    let sum_of = |is: &dyn Fn(&String) -> bool| -> f64 {
        let in_authentication = operations.iter().filter(|operation| operation.is_in_authentication());
        in_authentication.filter(|operation| is(&operation.operation)).map(|operation| operation.ns).sum()
    };
    let of_names = named.iter().map(|name| part(name, sum_of(&|other| other == name)));
    let others = part(OTHERS, sum_of(&|other| !named.contains(other)));
    let rest = part(REST, (cpu.ns - sum_of(&|_| true)).max(0.0));
    of_names.chain([others, rest]).filter(|part| part.ns > 0.0).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::summary::{Cpu, OperationMean};

    fn row(operations: &[(&str, f64)], cpu_ns: f64) -> SummaryRow {
        let of = |&(operation, ns): &(&str, f64)| OperationMean {
            part: Some("authentication".to_owned()),
            phase: "one".into(),
            operation: operation.into(),
            algorithm: format!("{ns}"),
            count: 1.0,
            ns,
        };
        let cpu = Cpu { ns: cpu_ns, n: 4, ..Cpu::default() };
        SummaryRow {
            cpu: [("gw".to_owned(), cpu)].into_iter().collect(),
            operations: [("gw".to_owned(), operations.iter().map(of).collect())].into_iter().collect(),
            ..SummaryRow::default()
        }
    }

    #[test]
    fn parts_add_up_to_the_mean_and_the_least_have_no_name() {
        let row = row(&[("sign", 60.0), ("agree", 5.0), ("sign", 20.0), ("prf", 3.0)], 100.0);
        let parts = cpu_by_operation(&[&row], 1);
        let shown: Vec<_> = parts.iter().map(|part| (part.name.as_str(), part.ns, part.n)).collect();
        assert_eq!(names(&parts), ["sign", OTHERS, REST]);
        assert_eq!(shown, [("sign", 80.0, 4), (OTHERS, 8.0, 4), (REST, 12.0, 4)]);
    }

    #[test]
    fn operations_after_an_authentication_are_no_part_of_it() {
        let mut row = row(&[("sign", 60.0), ("encrypt", 900.0)], 100.0);
        let operations = row.operations.get("gw").unwrap().clone();
        let [sign, encrypt] = <[OperationMean; 2]>::try_from(operations).unwrap();
        let after = OperationMean { part: Some("after".to_owned()), ..encrypt };
        row.operations = [("gw".to_owned(), vec![sign, after])].into_iter().collect();
        let parts = cpu_by_operation(&[&row], 7);
        let shown: Vec<_> = parts.iter().map(|part| (part.name.as_str(), part.ns)).collect();
        assert_eq!(shown, [("sign", 60.0), (REST, 40.0)]);
    }

    #[test]
    fn of_other_makers_programs_there_is_one_part() {
        let mut row = row(&[], 100.0);
        row.operations = crate::Named::default();
        let parts = cpu_by_operation(&[&row], 3);
        assert_eq!((parts.len(), parts[0].name.as_str(), parts[0].ns), (1, UNKNOWN, 100.0));
    }
}

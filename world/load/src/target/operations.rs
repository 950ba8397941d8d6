//! The operations of cryptography that a page tells of a node of ours: how often each ran, and over how many bytes.

use keytoll_crypto::{Amount, Place, Work};

use super::{label, whole};

/// How often each operation ran.
pub const OPERATIONS: &str = "keytoll_crypto_operations_total";
/// How many bytes each operation worked on.
pub const BYTES: &str = "keytoll_crypto_bytes_total";
/// The labels of both: the names of a cost table.
pub const LABELS: [&str; 2] = ["operation", "algorithm"];

/// What a page tells; none if it tells nothing. Operations that we do not know are left out: no page has more of them than we.
pub(super) fn of_page(page: &str) -> Option<Work> {
    let mut work = Work::default();
    page.lines().filter_map(told).for_each(|(place, amount)| work.add(place, amount));
    (!work.is_empty()).then_some(work)
}

fn told(line: &str) -> Option<(Place, Amount)> {
    let count = || whole(line, OPERATIONS).map(|(labels, count)| (labels, Amount { count, bytes: 0 }));
    let bytes = || whole(line, BYTES).map(|(labels, bytes)| (labels, Amount { count: 0, bytes }));
    let (labels, amount) = count().or_else(bytes)?;
    let [operation, algorithm] = LABELS.map(|name| label(labels, name));
    Some((Place::named(operation?, algorithm?)?, amount))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(name: &str, operation: &str, algorithm: &str, value: &str) -> String {
        format!("{name}{{operation=\"{operation}\",algorithm=\"{algorithm}\"}} {value}\n")
    }

    fn amounts(page: &str) -> Vec<(String, u64, u64)> {
        let named = |(place, amount): (Place, Amount)| {
            let (operation, algorithm) = place.name();
            (format!("{operation} {algorithm}"), amount.count, amount.bytes)
        };
        of_page(page).iter().flat_map(Work::amounts).map(named).collect()
    }

    #[test]
    fn operations_have_counts_and_bytes_whatever_else_is_told() {
        let page = line(OPERATIONS, "hash", "sha1", "3") + &line(BYTES, "hash", "sha1", "4e2");
        let all = page.clone()
            + "keytoll_crypto_operations_total{job=\"gw\", algorithm=\"x25519\" ,operation=\"agree\"} 2 1795305600\n"
            + &line("keytoll_crypto_operations", "hash", "sha1", "9")
            + &line("keytoll_crypto_operations_total_of_others", "hash", "sha1", "9");
        let hashes = || ("hash sha1".to_owned(), 3, 400);
        assert_eq!(amounts(&page), [hashes()]);
        assert_eq!(amounts(&all), [hashes(), ("agree x25519".to_owned(), 2, 0)]);
        let two = line(OPERATIONS, "hash", "sha1", "3") + &page;
        assert_eq!(
            amounts(&two),
            [("hash sha1".to_owned(), 6, 400)],
            "several processes of one page are summed"
        );
    }

    #[test]
    fn a_page_of_nonsense_has_no_operations() {
        for value in ["-1", "NaN", "+Inf", "1e17", "x", ""] {
            assert_eq!(of_page(&line(OPERATIONS, "hash", "sha1", value)), None, "{value}");
        }
        for labels in [
            "",
            "{}",
            "{operation=\"hash\"}",
            "{operation=hash,algorithm=sha1}",
            "{operation=\"hash\",algorithm=\"sha",
        ] {
            assert_eq!(of_page(&format!("{OPERATIONS}{labels} 1\n")), None, "{labels}");
        }
        let endless: String =
            (0..100_000).map(|number| line(OPERATIONS, &format!("hash{number}"), "sha1", "1")).collect();
        assert_eq!(of_page(&endless), None, "names that we do not know are not kept");
    }
}

//! The publications that other entries and the studies name by author and year.

use super::Entry;

/// Short name, authors and title, where and when.
const PAPERS: [[&str; 3]; 5] = [
    [
        "Faigl 2009",
        "Z. Faigl, S. Lindskog, A. Brunstrom: A Measurement Study on IKEv2 Authentication Performance in Wireless Networks",
        "not dated; its latest reference is of 2009",
    ],
    [
        "the RRKM thesis",
        "a thesis on Round-Robin Key Management for IEEE 802.11, chapter 4: Performance Analysis",
        "author and year are not in the text we have",
    ],
    [
        "Praptodiyono 2018",
        "S. Praptodiyono, M. Furqon, A. Maulana, I. H. Hasbullah, S. U. Rehman: Performance Analysis of Internet Key \
         Exchange Algorithms on IPSec Security Association Initiation",
        "MATEC Web of Conferences 218, 2018, which the text we have does not say",
    ],
    [
        "Faigl 2012",
        "Z. Faigl, J. Pellikka, L. Bokor, A. Gurtov: Performance and suitability analysis of HIP-based lightweight user \
         authentication method",
        "slides of BME-MIK and CWC; the year, 2012, is not in the text we have",
    ],
    [
        "Shue 2005",
        "C. Shue, Y. Shin, M. Gupta, J. Y. Choi: Analysis of IPSec Overheads for VPN Servers",
        "IEEE Workshop on Secure Network Protocols (NPSec), 2005, which the text we have does not say",
    ],
];

/// All of them as the list shows them.
pub(super) fn entries() -> Vec<Entry> {
    let entry = |[name, summary, source]: [&str; 3]| Entry {
        name: name.to_owned(),
        summary: summary.to_owned(),
        source: source.to_owned(),
        standing: "",
    };
    PAPERS.into_iter().map(entry).collect()
}

#[cfg(test)]
mod tests {
    use super::super::List;
    use super::*;

    #[test]
    fn whatever_a_list_cites_by_author_and_year_is_here() {
        let known: Vec<String> = entries().into_iter().map(|paper| paper.name).collect();
        let cites =
            |text: &str| ["Faigl", "Praptodiyono", "Shue", "RRKM"].iter().any(|name| text.contains(name));
        let sources = List::ALL.into_iter().filter(|list| *list != List::Papers).flat_map(List::entries);
        let citing: Vec<String> = sources.map(|entry| entry.source).filter(|source| cites(source)).collect();
        assert!(citing.len() >= 10, "{citing:?}");
        for source in citing {
            assert!(known.iter().any(|name| source.contains(name)), "{source}");
        }
    }

    #[test]
    fn no_source_is_a_number_or_a_path_that_users_do_not_have() {
        for entry in List::ALL.into_iter().flat_map(List::entries) {
            let Entry { name, source, .. } = entry;
            assert!(!source.contains("paper 0") && !source.contains(".md"), "{name}: {source}");
        }
    }
}

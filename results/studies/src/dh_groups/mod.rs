//! Paper 002: which Diffie-Hellman group suits IPsec with IKEv2. Read its §4; `reference/protocols.md` §4 explains why its order
//! of groups depends on the build of a library.

mod exchange;
mod published;
mod throughput;

use keytoll_trace::primitive::Timings;

use crate::{Finding, Material, Scenario, Sheet, Study, Table, Wants};

/// The study.
pub(crate) const STUDY: Study = Study {
    name: "dh-groups",
    title: "Diffie-Hellman groups: the time of a key exchange, and the throughput of the SA",
    source: SOURCE,
    scenario: Scenario {
        name: "dh-groups",
        text: include_str!("../../../../scenarios/studies/dh-groups.toml"),
    },
    wants: Wants { exchanges: EXCHANGES, ..Wants::NOTHING },
    tables,
    findings,
    notes,
};

fn tables(material: &Material<'_>) -> Vec<Table> {
    let exchanges = material.supplement.exchanges.as_ref().map(exchange::tables);
    let throughput = throughput::table(material.summary);
    exchanges.into_iter().flatten().chain((!throughput.lines.is_empty()).then_some(throughput)).collect()
}

fn findings(material: &Material<'_>) -> Vec<Finding> {
    let exchanges = material.supplement.exchanges.as_ref().map(exchange::findings);
    exchanges.into_iter().flatten().chain(throughput::findings(material.summary)).collect()
}

fn notes(material: &Material<'_>) -> Vec<String> {
    let exchanges = material.supplement.exchanges.as_ref().map(exchange::notes);
    exchanges.into_iter().flatten().chain(throughput::notes()).collect()
}

/// The paper.
const SOURCE: &str = "S. Praptodiyono, M. Furqon, A. Maulana, I. H. Hasbullah, S. U. Rehman: Performance Analysis of Internet Key \
     Exchange Algorithms on IPSec Security Association Initiation (2018), §4: strongSwan; the paper names neither its \
     machine nor its library";

/// Its Table 1 alone, which needs only primitives.
pub fn sheet(timings: &Timings) -> Sheet {
    Sheet {
        title: "Key exchange with each Diffie-Hellman group".to_owned(),
        source: SOURCE.to_owned(),
        tables: exchange::tables(timings),
        findings: exchange::findings(timings),
        notes: exchange::notes(timings),
        provenance: None,
    }
}

/// The number of key exchanges that the paper timed.
pub const EXCHANGES: u64 = 10;

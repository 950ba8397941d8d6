//! The columns of the long tables: name, unit, meaning. The tables have their names from here, and `docs/columns.md` is made of
//! it, so that no column is without.

use std::fmt::Write;

/// A column.
pub(super) struct Column {
    pub(super) name: &'static str,
    /// What its numbers are numbers of; empty where they are none, or names.
    unit: &'static str,
    meaning: &'static str,
}

const fn column(name: &'static str, unit: &'static str, meaning: &'static str) -> Column {
    Column { name, unit, meaning }
}

/// What names the row of the run, in every table.
pub(super) const IDENTITY: [Column; 6] = [
    column("method", "", "the method's name in the catalogue"),
    column("variant", "", "what differs from the method's default; empty for the default itself"),
    column("network", "", "the network's name"),
    column("topology", "", "the topology's name"),
    column("world", "", "`sim`, `live` or `captured`"),
    column("crypto", "", "`real`, `openssl`, `null`, `table` or `captured`"),
];

/// Of an authentication.
pub(super) const SAMPLE: [Column; 21] = [
    column("sample", "", "the authentication's number in the row, from 0"),
    column("triggered_at_ns", "ns", "when its trigger came, since the start of the row"),
    column("outcome", "", "`established`, `failed` or `unfinished`"),
    column("failure", "", "the node that found out, and why; empty if established"),
    column("delay_ns", "ns", "from the trigger to a usable SA at the device"),
    column("failed_after_ns", "ns", "from the trigger until the device knew that it had failed"),
    column(
        "first_packet_ns",
        "ns",
        "from the trigger until the packet that caused it came back through the SA",
    ),
    column("network_ns", "ns", "the part of the delay in which a datagram that arrived was under way"),
    column("computation_ns", "ns", "the part in which none was, and a node was computing"),
    column("waiting_ns", "ns", "the part in which neither was: timers ran, or a datagram was lost"),
    column(
        "messages",
        "messages",
        "protocol messages over all links until the outcome was known, retransmissions apart",
    ),
    column("packets", "packets", "IP packets after fragmentation, retransmissions and lost ones included"),
    column("bytes", "bytes", "bytes of these packets, IP headers included"),
    column("retransmissions", "messages", "messages sent again"),
    column("lost_packets", "packets", "packets lost or damaged, and those that a full queue refused"),
    column(
        "after_messages",
        "messages",
        "messages outside that span: deletes, liveness, rekeying; RADIUS accounting always",
    ),
    column("after_packets", "packets", "their IP packets"),
    column("after_bytes", "bytes", "bytes of these packets"),
    column("discards", "messages", "messages that arrived and could not be used, at all nodes"),
    column("charged", "", "`true` if computation takes virtual time"),
    column(
        "disturbed",
        "",
        "`true` if the driver lost the CPU meanwhile: computation and CPU times are not to be used",
    ),
];

/// Of an authentication on each link, behind `ue_gw_` and the like.
pub(super) const LINK: [Column; 4] = [
    column("messages", "messages", "protocol messages over this link, retransmissions apart"),
    column("packets", "packets", "IP packets after fragmentation, retransmissions and lost ones included"),
    column("bytes", "bytes", "bytes of these packets, IP headers included"),
    column("retransmissions", "messages", "messages sent again"),
];

/// Of an authentication at each node, behind `ue_` and the like.
pub(super) const NODE: [Column; 4] = [
    column("cpu_ns", "ns", "CPU time of this machine that the node took"),
    column("crypto_ns", "ns", "the part of it in crypto operations; other makers' programs do not tell"),
    column("heap_peak_bytes", "bytes", "highest heap use of the node so far"),
    column("idle_sa_bytes", "bytes", "heap that the idle SA pair keeps, where it was measured"),
];

/// Of what users sent after an authentication.
pub(super) const TRAFFIC: [Column; 7] = [
    column("traffic_up_bits_per_s", "bits per second", "new data of users that arrived at the gateway"),
    column(
        "traffic_down_bits_per_s",
        "bits per second",
        "the same at the device; of echoes the replies' data",
    ),
    column("traffic_packets_sent", "packets", "packets with data that were sent, those sent again included"),
    column("traffic_packets_repeated", "packets", "of these, sent again"),
    column("traffic_packets_lost", "packets", "of these, not arrived; of echoes, without a reply"),
    column("traffic_longest_gap_ns", "ns", "the longest time without new data"),
    column("traffic_rekeys", "rekeyings", "rekeyings meanwhile"),
];

/// Of a crypto operation of a row.
pub(super) const OPERATIONS: [Column; 8] = [
    column("node", "", "the node that computed"),
    column("phase", "", "the phase of the protocol, like `ike-sa-init`"),
    column("operation", "", "the operation, like `agree`"),
    column("algorithm", "", "the algorithm, like `x25519`"),
    column("count", "operations", "how often, over all authentications of the row"),
    column("ns_total", "ns", "time of all of them on this machine"),
    column("bytes_total", "bytes", "bytes that all of them worked on"),
    column("authentications", "authentications", "authentications of the row"),
];

/// Of a kind of message of a row.
pub(super) const MESSAGES: [Column; 11] = [
    column("order", "", "the place of its first appearance, from 1"),
    column("message", "", "the kind of message, like `IKE_AUTH request`"),
    column("payloads", "", "what the first of its kind carried"),
    column("direction", "", "sender and receiver, like `ue>gw`"),
    column("from", "", "the node that sent it"),
    column("to", "", "the node that it was sent to"),
    column("count", "messages", "how many over all authentications of the row, retransmissions apart"),
    column("bytes_mean", "bytes", "mean length of a message, without headers of lower layers"),
    column("retransmissions", "messages", "how often one was sent again"),
    column("part", "", "`authentication`, or `after` for what is outside it"),
    column("authentications", "authentications", "authentications of the row"),
];

/// The names of columns, with something before each.
pub(super) fn names<'a>(before: &'a str, columns: &'a [Column]) -> impl Iterator<Item = String> + 'a {
    columns.iter().map(move |column| format!("{before}{}", column.name))
}

/// What stands for the link in a name.
const ANY_LINK: &str = "LINK_";

/// What stands for the node in a name.
const ANY_NODE: &str = "NODE_";

const HEAD: &str = "# Columns of the long tables\n
An empty cell is not known, or was not measured; it is never a zero. Columns are only ever added, at the end. `LINK` stands for the
two ends of a link (`ue_gw`, `gw_aaa`, `aaa_hss`, `gw_hss`, `ue_ap`, `aaa_ap`), `NODE` for a node (`ue`, `gw`, `aaa`, `hss`, `ap`).
Made of `results/report/src/csv/columns.rs`: `UPDATE_COLUMNS=1 cargo test -p keytoll-report columns`.\n";

/// All of it, for people.
pub fn markdown() -> String {
    let samples = [("", &SAMPLE[..]), (ANY_LINK, &LINK), (ANY_NODE, &NODE), ("", &TRAFFIC)];
    let mut text = HEAD.to_owned();
    table("Every table begins with these, which name the row of the run", &[("", &IDENTITY)], &mut text);
    table("`samples.csv`: a row for each authentication", &samples, &mut text);
    table(
        "`operations.csv`: a row for each crypto operation of a row of the run",
        &[("", &OPERATIONS)],
        &mut text,
    );
    table(
        "`messages.csv`: a row for each kind of message of a row of the run",
        &[("", &MESSAGES)],
        &mut text,
    );
    text
}

fn table(title: &str, parts: &[(&str, &[Column])], text: &mut String) {
    let _ = write!(text, "\n## {title}\n\n| column | unit | what it is |\n|---|---|---|\n");
    for (before, columns) in parts {
        for Column { name, unit, meaning } in *columns {
            let _ = writeln!(text, "| `{before}{name}` | {unit} | {meaning} |");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_published_columns_are_these() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/columns.md");
        if std::env::var_os("UPDATE_COLUMNS").is_some() {
            std::fs::write(path, markdown()).unwrap();
        }
        assert_eq!(std::fs::read_to_string(path).unwrap(), markdown());
    }

    /// What is measured in a unit has it in its name; what is counted has the name of what is counted, or `count`.
    #[test]
    fn units_are_in_the_names() {
        let all = [&IDENTITY[..], &SAMPLE, &LINK, &NODE, &TRAFFIC, &OPERATIONS, &MESSAGES];
        for Column { name, unit, .. } in all.into_iter().flatten() {
            let has = |word: &str| name.split('_').any(|part| part == word);
            let is_named = match *unit {
                "" => !["ns", "bytes", "s", "count"].into_iter().any(has),
                "bits per second" => name.ends_with("_bits_per_s"),
                "ns" | "bytes" => has(unit),
                "messages" => has("messages") || has("retransmissions") || has("discards") || has("count"),
                "rekeyings" => has("rekeys"),
                counted => has(counted) || has("count"),
            };
            assert!(is_named, "{name} in {unit}");
        }
    }
}

//! A small run for the tests of this crate: two methods over two networks, one failure, one lost message.

use keytoll_analysis::metrics::{Samples, measure};
use keytoll_analysis::{Findings, RowFindings};
use keytoll_trace::manifest::{FORMAT, KIND, Machine, Manifest, ManifestRow};
use keytoll_trace::provenance::{Load, Provenance};
use keytoll_trace::{
    Cost, Fact, Fate, Link, Message, Name, Node, OperationCost, Part, Protocol, Record, SampleCost,
};

const MS: u64 = 1_000_000;

const IKE: Protocol = Protocol::new(&"ike");
const SA_INIT_REQUEST: Name = Name::new(&"IKE_SA_INIT request");
const SA_INIT_RESPONSE: Name = Name::new(&"IKE_SA_INIT response");
const AUTH_REQUEST: Name = Name::new(&"IKE_AUTH request");
const AUTH_RESPONSE: Name = Name::new(&"IKE_AUTH response");
const SA: Name = Name::new(&"SA");
const KE: Name = Name::new(&"KE");
const NONCE: Name = Name::new(&"Nonce");
const ID_I: Name = Name::new(&"IDi");
const ID_R: Name = Name::new(&"IDr");
const AUTH: Name = Name::new(&"AUTH");
const TS_I: Name = Name::new(&"TSi");
const TS_R: Name = Name::new(&"TSr");
const N: Name = Name::new(&"N");

/// Method, variant, network, one-way delay and computation per message, both in nanoseconds.
const ROWS: [(&str, &str, &str, u64, u64); 4] = [
    ("ikev2-psk", "", "wifi-11g", 3 * MS, MS / 20),
    ("ikev2-psk", "", "umts-r99-64", 300 * MS, MS / 20),
    ("ikev2-rsa2048", "chain=4,4", "wifi-11g", 4 * MS, 2 * MS),
    ("ikev2-rsa2048", "chain=4,4", "umts-r99-64", 500 * MS, 2 * MS),
];

/// The rows and the authentications of the example.
pub(crate) fn measured() -> (Vec<ManifestRow>, Vec<Samples>) {
    let samples = (0..ROWS.len()).map(|index| measure(records_of(index), costs_of(index)));
    (rows(), samples.collect())
}

fn rows() -> Vec<ManifestRow> {
    let rows = ROWS.into_iter().zip(0..);
    rows.map(|((method, variant, network, _, _), index)| row(index, method, variant, network)).collect()
}

/// The findings of the example.
pub(crate) fn findings() -> Findings {
    let (rows, samples) = measured();
    let found =
        rows.iter().zip(samples).map(|(row, samples)| RowFindings { row: row.clone(), tally: samples.tally });
    Findings::new(manifest(rows.clone()), found.collect())
}

fn manifest(rows: Vec<ManifestRow>) -> Manifest {
    let machine = Machine {
        cpu: "Example CPU @ 2 GHz".into(),
        kernel: "Linux 6.1".into(),
        cores: 2,
        ticks_hz: 2e9,
        core_hz: 3e9,
        host: Some("bench".into()),
        governor: None,
    };
    let provenance = Provenance {
        keytoll_commit: Some("1b27e3e1c1f1aa-dirty".into()),
        keytoll_build: Some("release".into()),
        crypto_library: Some("AWS-LC 1".into()),
        command: Some(["keytoll", "run", "<one>.toml"].map(str::to_owned).to_vec()),
        began_at: Some("2026-11-22T08:30:00Z".into()),
        ended_at: Some("2026-11-22T08:30:07Z".into()),
        load_at_begin: Some(Load::of([0.25, 0.5, 0.75])),
        load_at_end: Some(Load::of([1.5, 0.75, 0.8])),
        ..Provenance::of("0.1.0", machine)
    };
    Manifest {
        kind: KIND.into(),
        format: FORMAT,
        provenance,
        title: "example <one>".into(),
        study: None,
        seed: "42".into(),
        plan: "samples = 4\n".into(),
        complete: true,
        traced: true,
        rows,
        files: Vec::new(),
    }
}

fn row(index: u32, method: &str, variant: &str, network: &str) -> ManifestRow {
    ManifestRow {
        index,
        method: method.into(),
        variant: variant.into(),
        network: network.into(),
        topology: "raw".into(),
        world: "sim".into(),
        crypto: "real".into(),
        samples_planned: 4,
        trace: format!("trace/{index:03}.trace"),
        costs: format!("costs/{index:03}.costs"),
        notes: Vec::new(),
    }
}

/// The records of row `index`.
pub(crate) fn records_of(index: usize) -> Vec<Record> {
    let (_, _, _, one_way_ns, busy_ns) = ROWS[index];
    records(one_way_ns, busy_ns)
}

/// The costs of row `index`.
pub(crate) fn costs_of(index: usize) -> Vec<Cost> {
    costs(ROWS[index].4)
}

/// Sample 0 and 1 go well, 2 loses its first request, 3 is refused.
fn records(one_way_ns: u64, busy_ns: u64) -> Vec<Record> {
    let mut tape = Tape { records: Vec::new(), now: 0, sample: 0, one_way_ns, busy_ns };
    for sample in 0..4 {
        (tape.sample, tape.now) = (sample, u64::from(sample) * 10_000 * MS);
        tape.note(Node::Ue, Fact::Triggered);
        if sample == 2 {
            tape.send(Node::Ue, SA_INIT_REQUEST, &[SA, KE, NONCE], Fate::Lost, false);
            tape.now += 4_000 * MS;
            tape.send(Node::Ue, SA_INIT_REQUEST, &[SA, KE, NONCE], Fate::Delivered, true);
        } else {
            tape.send(Node::Ue, SA_INIT_REQUEST, &[SA, KE, NONCE], Fate::Delivered, false);
        }
        tape.send(Node::Gw, SA_INIT_RESPONSE, &[SA, KE, NONCE], Fate::Delivered, false);
        tape.send(Node::Ue, AUTH_REQUEST, &[ID_I, AUTH, SA, TS_I, TS_R], Fate::Delivered, false);
        let answer: &[Name] = if sample == 3 { &[N] } else { &[ID_R, AUTH, SA, TS_I, TS_R] };
        tape.send(Node::Gw, AUTH_RESPONSE, answer, Fate::Delivered, false);
        tape.compute(Node::Ue);
        tape.end(sample == 3);
    }
    tape.records
}

struct Tape {
    records: Vec<Record>,
    now: u64,
    sample: u32,
    one_way_ns: u64,
    busy_ns: u64,
}

impl Tape {
    fn note(&mut self, node: Node, fact: Fact) {
        self.records.push(Record { at_ns: self.now, node, sample: self.sample, fact });
    }

    fn compute(&mut self, node: Node) {
        // No two computations take the same time, so that intervals have a width.
        let busy_ns = self.busy_ns + self.busy_ns * u64::from(self.sample) / 10;
        self.now += busy_ns;
        self.note(node, Fact::Computed { busy_ns });
    }

    fn send(&mut self, from: Node, name: Name, parts: &[Name], fate: Fate, retransmission: bool) {
        self.compute(from);
        let message = Message {
            response: from == Node::Gw,
            id: u32::from(matches!(name, AUTH_REQUEST | AUTH_RESPONSE)),
            bytes: 300,
            retransmission,
            parts: parts.iter().copied().collect(),
            ..Message::new(IKE, name)
        };
        self.note(from, Fact::Sent(message));
        let (link, transit_ns) = (Link(Node::Ue, Node::Gw), self.one_way_ns);
        let protocol = IKE;
        self.note(from, Fact::Carried { link, protocol, packets: 1, bytes: 348, transit_ns, fate });
        self.now += if fate == Fate::Delivered { transit_ns } else { 0 };
    }

    fn end(&mut self, refused: bool) {
        if refused {
            self.note(Node::Gw, Fact::Failed { why: "AUTHENTICATION_FAILED".into() });
            return self.note(Node::Ue, Fact::Refused { why: "AUTHENTICATION_FAILED".into() });
        }
        self.note(Node::Ue, Fact::Usable);
        self.now += 2 * self.one_way_ns;
        self.note(Node::Ue, Fact::FirstPacket);
    }
}

fn costs(busy_ns: u64) -> Vec<Cost> {
    let clock = Cost::Clock { ticks_hz: 2e9, profile_hz: vec![(Node::Ue, 3e9), (Node::Gw, 3e9)] };
    let samples = (0..4).flat_map(|sample| {
        [Node::Ue, Node::Gw].map(|node| {
            let cpu_ns = busy_ns * 3 + u64::from(sample) * 1_000;
            let idle_sa_bytes = (node == Node::Gw).then_some(3_000);
            let heap_peak_bytes = 64 * 1024 + u64::from(sample);
            Cost::Sample(SampleCost {
                sample,
                node,
                cpu_ns,
                crypto_ns: cpu_ns / 2,
                heap_peak_bytes,
                idle_sa_bytes,
            })
        })
    });
    let operation = OperationCost {
        node: Node::Gw,
        phase: "ike-sa-init".into(),
        operation: "agree".into(),
        algorithm: "x25519".into(),
        count: 4,
        ns: 120_000,
        bytes: 128,
    };
    let operation = Cost::OperationIn(Part::Authentication, operation);
    std::iter::once(clock).chain(samples).chain([operation]).collect()
}

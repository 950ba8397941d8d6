//! Methods with EAP: what device, gateway, AAA server and HSS compute, beside the operations their meters saw.
//!
//! A row of the laboratory as `keytoll run` makes it: IKEv2, RADIUS, EAP and TLS over a network without delay, from the
//! echo that triggers the SA until its answer. Unlike the cases of `main`, the primitives are not replayed on the bare
//! library: they are what the `Metered` provider counted in the same steps, the door included. A round is the median
//! over a row's authentications; the table shows the rounds.

use std::collections::BTreeMap;

use keytoll_lab::{Cost, Credentials, Memory, Row, Stop};
use keytoll_native::clock;
use keytoll_trace::{Node, SampleCost};

use crate::figures::{Spread, repetitions};

/// A method with its options.
const CASES: [(&str, &str); 5] = [
    ("ikev2-eap-aka", "vector_batch = 1"),
    ("ikev2-eap-tls", "chain = 2\ntls = '1.2'"),
    ("ikev2-eap-tls", "chain = 2\ntls = '1.3'"),
    ("ikev2-eap-ttls-md5", "chain = 2\ntls = '1.3'"),
    ("ikev2-eap-peap-mschapv2", "chain = 2\ntls = '1.3'"),
];

const NODES: [(Node, &str); 4] =
    [(Node::Ue, "device"), (Node::Gw, "gateway"), (Node::Aaa, "AAA server"), (Node::Hss, "HSS")];

/// Measures and prints every case.
pub(crate) fn measure_all() {
    for (method, options) in CASES {
        measure(method, options);
    }
}

/// Medians of one row, in microseconds: what each node spent, and how much of it in primitives.
type Round = BTreeMap<Node, (f64, f64)>;

fn measure(method: &str, options: &str) {
    let (rounds, samples) = (repetitions(15, 1), repetitions(60, 2));
    let text =
        format!("methods = '{method}'\nnetworks = 'loopback'\nsamples = {samples}\n[options]\n{options}");
    let plan = keytoll_scenario::parse("bench", &text).expect("a literal scenario");
    let credentials = Credentials::prepare(&plan);
    let rounds: Vec<Round> = (0..rounds)
        .map(|_| {
            let mut memory = Memory::default();
            let mut row = Row::new(&plan, &plan.rows[0], &credentials, clock::core_hz());
            row.run(&mut memory, &|| {}, &Stop::new(false));
            round(&memory)
        })
        .collect();
    let column = |of: &dyn Fn(&Round) -> f64| Spread::of(rounds.iter().map(of).collect());
    let whole = |round: &Round| round.values().map(|(whole, _)| whole).sum::<f64>();
    let primitives = |round: &Round| round.values().map(|(_, primitives)| primitives).sum::<f64>();
    println!("{method} with {}, {} rounds of {samples}", options.replace('\n', ", "), rounds.len());
    println!("  {:40}{}", "whole authentication, all nodes", column(&whole));
    println!("  {:40}{}", "its primitives as metered", column(&primitives));
    println!("  {:40}{}", "ratio", column(&|round| whole(round) / primitives(round)));
    for (node, name) in NODES.into_iter().filter(|(node, _)| rounds[0].contains_key(node)) {
        let of = |part: fn(&(f64, f64)) -> f64| column(&|round| part(&round[&node])).median;
        let (whole, share) = (of(|node| node.0), 100.0 * of(|node| node.1 / node.0));
        println!("  {name:40}{whole:>19.2}, {share:.0} % of it in primitives");
    }
    println!();
}

fn round(memory: &Memory) -> Round {
    let of = |wanted: Node, part: fn(&SampleCost) -> u64| {
        let samples = memory.costs.iter().filter_map(|cost| match cost {
            Cost::Sample(sample) if sample.node == wanted => Some(part(sample) as f64 / 1e3),
            _ => None,
        });
        let samples = samples.collect::<Vec<_>>();
        (!samples.is_empty()).then(|| Spread::of(samples).median)
    };
    let both = |node| Some((of(node, |sample| sample.cpu_ns)?, of(node, |sample| sample.crypto_ns)?));
    NODES.into_iter().filter_map(|(node, _)| Some((node, both(node)?))).collect()
}

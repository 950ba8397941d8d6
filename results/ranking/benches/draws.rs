//! A hundred thousand Monte-Carlo draws of a decision as large as that of Faigl et al.: `cargo bench -p keytoll-ranking`.

use keytoll_ranking::acceptability::{Draws, Weights};
use keytoll_ranking::graded::{Basis, Doubt, Leaf, Reference, Valued};
use keytoll_ranking::grading::{Relative, Rounding, Rule};
use keytoll_ranking::hierarchy::{Hierarchy, Node};
use keytoll_ranking::methods::Method;

fn main() {
    divan::main();
}

const DRAWS: u32 = 100_000;

/// Four main criteria with 7, 9, 6 and 3 below them: the second measured, the others graded.
fn decision() -> (Hierarchy, Vec<f64>, Vec<Leaf>) {
    const BELOW: [usize; 4] = [7, 9, 6, 3];
    let mains = [Node { parent: None, is_leaf: false }; 4];
    let below = |(main, &count): (usize, &usize)| vec![Node { parent: Some(main), is_leaf: true }; count];
    let nodes: Vec<Node> = mains.into_iter().chain(BELOW.iter().enumerate().flat_map(below)).collect();
    let weight = |node: &Node| 1.0 / node.parent.map_or(4.0, |main| BELOW[main] as f64);
    let weights = nodes.iter().map(weight).collect();
    let leaf = |node: &&Node| if node.parent == Some(1) { measured() } else { given() };
    let leaves = nodes.iter().filter(|node| node.is_leaf).map(|node| leaf(&node)).collect();
    (Hierarchy::new(nodes), weights, leaves)
}

fn given() -> Leaf {
    Leaf { gamma: 1.0, basis: Basis::Given(vec![3.0, 3.0, 2.0, 2.0, 1.0, 3.0]) }
}

fn measured() -> Leaf {
    let rule = Relative {
        gamma: 1.0,
        better_max: 3,
        worse_max: 2,
        more_is_better: false,
        rounding: Rounding::Nearest,
    };
    let value = |value: f64| Valued { value, doubt: Doubt::within(0.05) };
    let values = [0.35, 15.5, 0.4, 7.4, 17.0, 24.3].map(value).to_vec();
    let reference = Reference::Alternative(1);
    Leaf { gamma: 1.0, basis: Basis::Valued { values, rule: Rule::Relative(rule), reference } }
}

#[divan::bench(args = ["mahp", "wsm", "topsis"], sample_count = 10)]
fn draws(bencher: divan::Bencher<'_, '_>, method: &str) {
    let (hierarchy, weights, leaves) = decision();
    let method = Method::named(method).unwrap_or(&keytoll_ranking::methods::METHODS[0]);
    bencher.bench(|| {
        let draws = Draws {
            hierarchy: &hierarchy,
            weights: &weights,
            leaves: &leaves,
            method,
            same: &[0, 1, 2, 3, 4, 5],
            seed: 1,
            count: DRAWS,
            done: &|| {},
        };
        draws.acceptability(Weights::Near)
    });
}

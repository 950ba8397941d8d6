//! Links of a plan.

use std::time::Duration;

use keytoll_scenario::plan::{self, Network};
use keytoll_sim::{Direction, LinkConfig};

/// The link of a network followed by a wire, device first.
pub fn link(network: &Network, wire: Duration) -> LinkConfig {
    let with_wire = |way: Direction| Direction { delay: way.delay + wire, ..way };
    LinkConfig {
        a_to_b: with_wire(direction(&network.up)),
        b_to_a: with_wire(direction(&network.down)),
        mtu_bytes: network.mtu_bytes,
        air: None,
    }
}

/// A wire of nothing but delay.
pub fn wire(delay: Duration) -> LinkConfig {
    LinkConfig::symmetric(Direction { delay, ..Direction::default() })
}

fn direction(direction: &plan::Direction) -> Direction {
    let plain = Direction {
        delay: direction.delay,
        jitter: direction.jitter,
        rate_bits_per_s: direction.rate_bits_per_s,
        queue_bytes_max: direction.queue_bytes_max,
        ..Direction::default()
    };
    direction.impairments.iter().fold(plain, |way, (key, chances)| {
        let chances: Vec<_> = chances.iter().map(|chance| chance.as_f64()).collect();
        way.impaired(key, &chances).expect("a test runs every impairment of the catalogue")
    })
}

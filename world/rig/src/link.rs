//! Links of a plan.

use std::time::Duration;

use keytoll_engine::trace::Protocol;
use keytoll_scenario::catalogue::airs as catalogue;
use keytoll_scenario::plan::{self, Network};
use keytoll_sim::{Air, Direction, LinkConfig};

/// The link of a network followed by a wire, device first.
pub fn link(network: &Network, wire: Duration) -> LinkConfig {
    let with_wire = |way: Direction| Direction { delay: way.delay + wire, ..way };
    LinkConfig {
        a_to_b: with_wire(direction(&network.up)),
        b_to_a: with_wire(direction(&network.down)),
        mtu_bytes: network.mtu_bytes,
        air: network.air.map(air),
        is_lan: false,
    }
}

/// The one channel of a row. 802.11-2020 §9.2.3, §9.2.4.8: a data frame has a header of 24 bytes and LLC's of 8 in front of an
/// IP packet, and a check sequence of 4 behind it.
const fn air(air: &catalogue::Air) -> Air {
    Air {
        channel: 1,
        basic: Protocol::MANAGEMENT,
        basic_rate_bits_per_s: air.basic_rate_bits_per_s,
        rate_bits_per_s: air.rate_bits_per_s,
        idle_before: air.difs,
        slot: air.slot,
        slots_max: air.slots_max,
        preamble: air.preamble,
        acknowledgement: air.acknowledgement,
        frame_bytes: 4,
        packet_bytes: 24 + 8 + 4,
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

//! The cost of IPsec for an echo request and its answer, stage by stage: paper 004's Table 3 and Figures 4 and 5.

use std::collections::BTreeSet;

use keytoll_trace::provenance::Provenance;
use keytoll_trace::{PacketCost, StageCost};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Estimate;

/// The format of [`Packets`].
const FORMAT: u32 = 1;

/// What `keytoll profile esp --json` prints. Fields are only ever added.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Packets {
    /// The version of this interface.
    pub format: u32,
    /// Version, arguments, time and machine of the measurement; absent in files from before this was recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provenance: Option<Provenance>,
    /// Length of the echo request and of its answer with their IP headers, before encapsulation.
    pub packet_bytes: u16,
    /// Frequency of the core, to which cycles refer.
    pub core_hz: f64,
    /// The smallest difference between two measured times, in microseconds: shorter stages read as 0. Absent if all times were alike.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clock_step_us: Option<f64>,
    /// Without IPsec, in microseconds.
    pub native_us: Estimate,
    /// One for each suite.
    pub columns: Vec<PacketColumn>,
    /// Notes for readers.
    pub notes: Vec<String>,
}

/// One suite.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PacketColumn {
    /// The suite.
    pub suite: String,
    /// The standing of its worst algorithm: empty, `weak` or `broken`.
    pub mark: String,
    /// With cryptography.
    pub full: Processing,
    /// Without cryptography.
    pub skeleton: Processing,
    /// The cost of cryptography: full minus skeleton packet by packet, in microseconds.
    pub crypto_us: Estimate,
    /// The share of cryptography in what IPsec adds to the native processing, 0 to 1, of medians.
    pub crypto_share: f64,
}

/// The processing time of a packet and its answer at the server, in microseconds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Processing {
    /// The total.
    pub total_us: Estimate,
    /// From the received packet to the request.
    pub inbound_us: Estimate,
    /// From the request to the answer.
    pub echo_us: Estimate,
    /// From the answer to the packet to send.
    pub outbound_us: Estimate,
    /// The inbound stages.
    pub inbound: Vec<Stage>,
    /// The outbound stages.
    pub outbound: Vec<Stage>,
}

/// One stage.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Stage {
    /// Its name.
    pub stage: String,
    /// Its time in microseconds.
    pub us: Estimate,
    /// The median in cycles of the core's own clock.
    pub cycles: f64,
    /// The share of all stages of its direction, 0 to 1, of medians.
    pub share: f64,
}

/// The measurements.
#[derive(Debug, Clone, Copy)]
pub struct MeasuredPackets<'a> {
    /// Length of the echo request with its IP header.
    pub packet_bytes: u16,
    /// Ticks of the cycle counter per second.
    pub ticks_hz: f64,
    /// The frequency of the core.
    pub core_hz: f64,
    /// Without IPsec.
    pub native: &'a [PacketCost],
    /// With each suite.
    pub suites: &'a [MeasuredSuite<'a>],
}

/// The measurements with one suite.
#[derive(Debug, Clone, Copy)]
pub struct MeasuredSuite<'a> {
    /// The suite.
    pub suite: &'a str,
    /// The standing of its worst algorithm, empty if it is good.
    pub mark: &'a str,
    /// With cryptography.
    pub full: &'a [PacketCost],
    /// Without cryptography.
    pub skeleton: &'a [PacketCost],
}

impl Packets {
    /// Evaluates the measurements; `None` without packets.
    pub fn new(measured: &MeasuredPackets<'_>, notes: Vec<String>) -> Option<Self> {
        let clock = Clock { us_per_tick: 1e6 / measured.ticks_hz, core_hz: measured.core_hz };
        let native_us = clock.estimate(measured.native, whole)?;
        let columns = measured.suites.iter().map(|suite| clock.column(suite, native_us.p50));
        Some(Self {
            columns: columns.collect::<Option<_>>()?,
            format: FORMAT,
            provenance: None,
            packet_bytes: measured.packet_bytes,
            core_hz: measured.core_hz,
            clock_step_us: step(measured).map(|ticks| clock.us(ticks)),
            native_us,
            notes,
        })
    }
}

impl Packets {
    /// Whether a time is too short for the clock.
    pub fn is_below_clock_step(&self, us: &Estimate) -> bool {
        self.clock_step_us.is_some_and(|step_us| us.p50 < step_us)
    }
}

/// The smallest difference between the times of two stages, in ticks.
fn step(measured: &MeasuredPackets<'_>) -> Option<u64> {
    let of_suites = measured.suites.iter().flat_map(|suite| suite.full.iter().chain(suite.skeleton));
    let stages = of_suites.flat_map(|cost| cost.inbound.iter().chain(&cost.outbound));
    // Zeros are times that were clipped when the meter's own was subtracted.
    let times: BTreeSet<u64> = stages.map(|stage| stage.ticks).filter(|ticks| *ticks > 0).collect();
    times.iter().zip(times.iter().skip(1)).map(|(shorter, longer)| longer - shorter).min()
}

/// Ticks of a whole packet.
const fn whole(cost: &PacketCost) -> u64 {
    cost.inbound_ticks + cost.echo_ticks + cost.outbound_ticks
}

/// From ticks to microseconds and cycles.
struct Clock {
    us_per_tick: f64,
    core_hz: f64,
}

impl Clock {
    fn us(&self, ticks: u64) -> f64 {
        ticks as f64 * self.us_per_tick
    }

    fn estimate(&self, costs: &[PacketCost], ticks: impl Fn(&PacketCost) -> u64) -> Option<Estimate> {
        Estimate::of(costs.iter().map(|cost| (cost.block, self.us(ticks(cost)))))
    }

    fn column(&self, measured: &MeasuredSuite<'_>, native_us: f64) -> Option<PacketColumn> {
        let pairs = measured.full.iter().zip(measured.skeleton);
        let difference = |full, skeleton| self.us(whole(full)) - self.us(whole(skeleton));
        let crypto_us = Estimate::of(pairs.map(|(full, skeleton)| (full.block, difference(full, skeleton))))?;
        let full = self.processing(measured.full)?;
        Some(PacketColumn {
            suite: measured.suite.to_owned(),
            mark: measured.mark.to_owned(),
            crypto_share: crypto_us.p50 / (full.total_us.p50 - native_us),
            full,
            skeleton: self.processing(measured.skeleton)?,
            crypto_us,
        })
    }

    fn processing(&self, costs: &[PacketCost]) -> Option<Processing> {
        Some(Processing {
            total_us: self.estimate(costs, whole)?,
            inbound_us: self.estimate(costs, |cost| cost.inbound_ticks)?,
            echo_us: self.estimate(costs, |cost| cost.echo_ticks)?,
            outbound_us: self.estimate(costs, |cost| cost.outbound_ticks)?,
            inbound: self.stages(costs, |cost| &cost.inbound),
            outbound: self.stages(costs, |cost| &cost.outbound),
        })
    }

    /// Stages in the order in which they end first; a stage that occurs twice is counted as one.
    fn stages(&self, costs: &[PacketCost], of: impl Fn(&PacketCost) -> &[StageCost]) -> Vec<Stage> {
        let mut names: Vec<&str> = Vec::new();
        for stage in costs.iter().flat_map(&of) {
            if !names.contains(&&*stage.stage) {
                names.push(&stage.stage);
            }
        }
        let ticks = |cost: &PacketCost, name: &str| {
            of(cost).iter().filter(|stage| stage.stage == name).map(|stage| stage.ticks).sum()
        };
        let times =
            names.iter().filter_map(|name| Some((*name, self.estimate(costs, |cost| ticks(cost, name))?)));
        let times: Vec<(&str, Estimate)> = times.collect();
        let all: f64 = times.iter().map(|(_, us)| us.p50).sum();
        let stage = |(name, us): (&str, Estimate)| Stage {
            stage: name.to_owned(),
            cycles: us.p50 * 1e-6 * self.core_hz,
            share: us.p50 / all,
            us,
        };
        times.into_iter().map(stage).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cost(inbound: u64, echo: u64, outbound: u64, decrypt: u64) -> PacketCost {
        let stage = |stage: &'static str, ticks| StageCost { stage: stage.into(), ticks };
        PacketCost {
            block: 0,
            inbound_ticks: inbound,
            echo_ticks: echo,
            outbound_ticks: outbound,
            inbound: vec![stage("replay check", 10), stage("decrypt", decrypt), stage("replay check", 30)],
            outbound: vec![stage("encrypt", 100)],
        }
    }

    /// A tick is a microsecond.
    fn packets(full: &[PacketCost], skeleton: &[PacketCost]) -> Option<Packets> {
        let native = [cost(0, 10, 0, 0), cost(0, 12, 0, 0)];
        let suites = [MeasuredSuite { suite: "3des-md5", mark: "broken", full, skeleton }];
        let measured = MeasuredPackets {
            packet_bytes: 736,
            ticks_hz: 1e6,
            core_hz: 2e6,
            native: &native,
            suites: &suites,
        };
        Packets::new(&measured, Vec::new())
    }

    #[test]
    fn totals_and_the_share_of_cryptography() {
        let full = [cost(100, 10, 90, 60), cost(110, 10, 100, 60)];
        let skeleton = [cost(40, 10, 30, 0), cost(42, 10, 32, 0)];
        let column = &packets(&full, &skeleton).unwrap().columns[0];
        assert_eq!((column.full.total_us.p50, column.skeleton.total_us.p50), (210.0, 82.0));
        assert_eq!((column.full.inbound_us.p50, column.full.echo_us.p50), (105.0, 10.0));
        // 120 and 136 microseconds, of 210 − 11 that IPsec adds.
        assert_eq!(column.crypto_us.p50, 128.0);
        assert!((column.crypto_share - 128.0 / 199.0).abs() < 1e-12);
    }

    #[test]
    fn a_repeated_stage_is_one_and_shares_add_up() {
        let column = packets(&[cost(100, 10, 90, 60)], &[cost(40, 10, 30, 0)]).unwrap().columns.remove(0);
        let told: Vec<_> =
            column.full.inbound.iter().map(|stage| (&*stage.stage, stage.us.p50, stage.share)).collect();
        assert_eq!(told, [("replay check", 40.0, 0.4), ("decrypt", 60.0, 0.6)]);
        assert!((column.full.outbound[0].cycles - 200.0).abs() < 1e-9);
    }

    #[test]
    fn the_clock_step_is_the_smallest_difference() {
        let found = packets(&[cost(100, 10, 90, 60)], &[cost(40, 10, 30, 0)]).unwrap();
        // Stages take 0, 10, 30, 60 and 100 ticks.
        assert_eq!(found.clock_step_us, Some(20.0));
        let [replay, decrypt] = &found.columns[0].skeleton.inbound[..] else { panic!("two stages") };
        assert!(found.is_below_clock_step(&decrypt.us) && !found.is_below_clock_step(&replay.us));
    }

    #[test]
    fn without_packets_there_is_no_profile() {
        assert_eq!(packets(&[], &[]), None);
    }
}

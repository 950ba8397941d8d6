//! Many stations at one access point for a long time, as a study wants them and as they were simulated.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A cell that a study needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CellWant {
    /// The method of a row of the study's scenario.
    pub method: &'static str,
    /// The stations.
    pub stations: u16,
    /// How often keys change.
    pub periods: u32,
    /// At most so many times for each sample of the scenario, so that few samples make a short study.
    pub periods_per_sample: u32,
    /// From one change to the next, in seconds.
    pub period_s: u32,
    /// Whether the primitives that the study measures are all that its operations need, so that these can be charged.
    pub is_charged: bool,
}

impl CellWant {
    /// How many periods are simulated in a study of so many samples.
    pub fn periods(&self, samples: u32) -> u32 {
        self.periods.min(self.periods_per_sample.saturating_mul(samples))
    }
}

/// What happened in a cell from when all stations had joined: counted and not measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Cell {
    /// The method's name in the catalogue.
    pub method: String,
    /// The stations.
    pub station_count: u64,
    /// From one change of keys to the next, in seconds.
    pub period_s: u64,
    /// The periods that passed.
    pub period_count: u64,
    /// Data frames that the stations sent.
    pub data_frames: u64,
    /// The packets in them that the access point decrypted.
    pub arrived_packets: u64,
    /// EAPOL frames of both sides.
    pub eapol_frames: u64,
    /// Management frames of both sides.
    pub management_frames: u64,
    /// Frames of all kinds that the air lost or damaged.
    pub lost_frames: u64,
    /// What was discarded on either side.
    pub discards: u64,
    /// The operations of the access point.
    pub access_point: Vec<OperationSum>,
    /// The operations of all stations together.
    pub all_stations: Vec<OperationSum>,
    /// CPU time of the simulation on this machine, in seconds.
    pub simulated_in_s: f64,
}

/// A crypto operation in a cell.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OperationSum {
    /// The phase of the protocol.
    pub phase: String,
    /// The operation.
    pub operation: String,
    /// The algorithm.
    pub algorithm: String,
    /// How often.
    pub count: u64,
    /// Their time on this machine in nanoseconds, by what one of them takes; 0 where operations were only counted.
    pub ns: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_samples_are_few_periods() {
        let (method, stations, period_s, is_charged) = ("rrkm", 100, 60, true);
        let want = CellWant { method, stations, periods: 1440, periods_per_sample: 15, period_s, is_charged };
        assert_eq!([1, 2, 100].map(|samples| want.periods(samples)), [15, 30, 1440]);
    }
}

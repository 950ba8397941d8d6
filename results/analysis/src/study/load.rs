//! Many devices at once, as a study wants them to be simulated.

/// A load that a study needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LoadWant {
    /// The rows over this network alone.
    pub network: &'static str,
    /// Devices that have a session at the same time.
    pub devices_at_once: u64,
    /// How long after an authentication a device authenticates anew, in seconds.
    pub reauthenticate_s: u32,
    /// Devices of each simulation for each sample of the scenario, so that few samples make a short study.
    pub devices_per_sample: u32,
}

//! One wpa_supplicant at the end of a cable, as a supplicant of 802.1X. It runs in the foreground and is killed on drop. See
//! `wpa_supplicant.conf`.

use std::path::Path;
use std::time::Duration;

use crate::files;
use crate::place::Place;
use crate::process::Process;
use crate::program::{SETPRIV, WPA_SUPPLICANT, check};
use crate::run::Trouble;

/// Timeout of its start.
const START_LIMIT: Duration = Duration::from_secs(20);

/// A running supplicant.
#[derive(Debug)]
pub struct WpaSupplicant {
    process: Process,
}

impl WpaSupplicant {
    /// Writes its configuration, which has this `network` block, into `dir`, and starts it at a device of `place`.
    ///
    /// # Errors
    /// When a program is missing, a file cannot be written, or it does not start.
    pub fn start(place: &Place, dir: &Path, interface: &str, network: &str) -> Result<Self, Trouble> {
        check(&[WPA_SUPPLICANT, SETPRIV])?;
        let file = dir.join("wpa_supplicant.conf");
        // A LAN has no access points to look for (`ap_scan`).
        files::write(&file, format!("ap_scan=0\neapol_version=2\n{network}"))?;
        let mut command = place.command(WPA_SUPPLICANT.path);
        command.args(["-d", "-D", "wired", "-i", interface, "-c"]).arg(file);
        let mut process = Process::start("wpa_supplicant", command, dir.join("stdout"))?;
        let runs = |process: &Process| process.output().contains("Associated with").then_some(());
        process.await_ready(START_LIMIT, runs)?;
        Ok(Self { process })
    }

    /// Its log.
    pub fn log(&self) -> String {
        self.process.output()
    }
}

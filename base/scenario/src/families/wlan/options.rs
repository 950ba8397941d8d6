//! The options that only wireless LANs have: keys of WEP, RRKM's periods, ciphers, protection of management frames.

use std::time::Duration;

use super::{EAPOL, RRKM, RSN, WEP, WLAN, WPA2};
use crate::diagnostic::ScenarioError;
use crate::options::{Setting, field, print_rekey, quoted};
use crate::quantity::{self, Kind};
use crate::resolve::values::rekey;
use crate::tree::Item;

/// What a row can vary of a wireless LAN.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// The keys of WEP.
    pub wep: Wep,
    /// Round-Robin Key Management.
    pub rrkm: Rrkm,
    /// The cipher of frames between station and access point in WPA2 and WPA3.
    pub pairwise: Pairwise,
    /// Whether WPA2 protects management frames; WPA3 always does.
    pub management: Protection,
    /// Where the EAP server is.
    pub eap_server: EapServer,
    /// How long a station whose EAP has failed is not judged again. Without it, every authentication is a sample of its own.
    pub quiet_period: Duration,
    /// How long a group key lasts; `None`: as long as the access point.
    pub group_rekey: Option<Duration>,
    /// How long a station without traffic stays.
    pub stays_idle: Duration,
    /// How long after it has joined a station goes to the other access point of its network; `None`: there is one.
    pub roam_after: Option<Duration>,
    /// What it saves there.
    pub roaming: Roaming,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            wep: Wep::Wep104,
            rrkm: Rrkm { period: Duration::from_secs(60), hash: KeyHash::Sha1, drift_ppm: 0 },
            pairwise: Pairwise::Ccmp128,
            management: Protection::Optional,
            eap_server: EapServer::Radius,
            quiet_period: Duration::ZERO,
            group_rekey: None,
            stays_idle: Duration::from_secs(5),
            roam_after: None,
            roaming: Roaming::Reassociation,
        }
    }
}

/// How long keys of WEP are (802.11-2020 §12.3.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Wep {
    /// 40 bits.
    Wep40,
    /// 104 bits.
    Wep104,
}

impl Wep {
    /// Both lengths.
    pub const ALL: [Self; 2] = [Self::Wep40, Self::Wep104];

    /// The name used in scenarios and files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Wep40 => "wep-40",
            Self::Wep104 => "wep-104",
        }
    }
}

/// Round-Robin Key Management: when keys change, and how one follows from the one before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rrkm {
    /// How long a key lasts: whole seconds.
    pub period: Duration,
    /// How a key follows from the one before.
    pub hash: KeyHash,
    /// By how many millionths the station's clock is faster than the access point's.
    pub drift_ppm: i32,
}

/// How a key of RRKM follows from the one before. The paper says "simple hash" and prints 5.5 µs of a MIPS at 125 MHz.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum KeyHash {
    /// SHA-1.
    Sha1,
    /// MD5.
    Md5,
    /// The compression function of SHA-1, once.
    Simple,
}

impl KeyHash {
    /// Every one.
    pub const ALL: [Self; 3] = [Self::Sha1, Self::Md5, Self::Simple];

    /// The name used in scenarios and files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Sha1 => "sha1",
            Self::Md5 => "md5",
            Self::Simple => "simple",
        }
    }
}

/// A cipher of frames between two stations (802.11-2020 §9.4.2.24.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Pairwise {
    /// CCMP-128.
    Ccmp128,
    /// CCMP-256.
    Ccmp256,
    /// GCMP-128.
    Gcmp128,
    /// GCMP-256.
    Gcmp256,
}

impl Pairwise {
    /// Every cipher.
    pub const ALL: [Self; 4] = [Self::Ccmp128, Self::Ccmp256, Self::Gcmp128, Self::Gcmp256];

    /// The name used in scenarios and files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ccmp128 => "ccmp-128",
            Self::Ccmp256 => "ccmp-256",
            Self::Gcmp128 => "gcmp-128",
            Self::Gcmp256 => "gcmp-256",
        }
    }
}

/// Whether management frames are protected (802.11-2020 §12.6.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Protection {
    /// Never.
    Never,
    /// If both sides can: both can.
    Optional,
    /// Always.
    Required,
}

impl Protection {
    /// Every choice.
    pub const ALL: [Self; 3] = [Self::Never, Self::Optional, Self::Required];

    /// The name used in scenarios and files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Never => "never",
            Self::Optional => "optional",
            Self::Required => "required",
        }
    }
}

/// Where the EAP server is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum EapServer {
    /// Behind RADIUS: a node of its own.
    Radius,
    /// Inside the access point, as paper 001 has it.
    AccessPoint,
}

impl EapServer {
    /// Both places.
    pub const ALL: [Self; 2] = [Self::Radius, Self::AccessPoint];

    /// The name used in scenarios and files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Radius => "radius",
            Self::AccessPoint => "access-point",
        }
    }
}

/// What a station saves that goes to another access point.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Roaming {
    /// Nothing: it proves itself as at the first.
    Reassociation,
    /// EAP or SAE, for it has been there before, and both sides have kept the PMK (802.11-2020 §12.6.10.3).
    PmksaCaching,
    /// EAP, SAE and the 4-way handshake: keys follow from those of the first (802.11-2020 §13).
    FastTransition,
}

impl Roaming {
    /// Every way.
    pub const ALL: [Self; 3] = [Self::Reassociation, Self::PmksaCaching, Self::FastTransition];

    /// The name used in scenarios and files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Reassociation => "reassociation",
            Self::PmksaCaching => "pmksa-caching",
            Self::FastTransition => "fast-transition",
        }
    }
}

/// Every key, in the order in which it is printed.
pub(super) static SETTINGS: &[Setting] = &[
    Setting::new(
        "wep",
        &["wep-40", "wep-104"],
        "length of the keys of WEP",
        field!(options.wlan.wep, |item| item.pick("length of WEP keys", &Wep::ALL, Wep::name), |wep| {
            quoted(wep.name())
        }),
    )
    .of(&WEP),
    Setting::new(
        "rrkm_period",
        &["1 s to 65535 s"],
        "how long a key of RRKM lasts",
        field!(options.wlan.rrkm.period, period, |time| quoted(&quantity::duration(*time))),
    )
    .of(&RRKM),
    Setting::new(
        "rrkm_hash",
        &["sha1", "md5", "simple"],
        "how a key of RRKM follows from the one before",
        field!(
            options.wlan.rrkm.hash,
            |item| item.pick("hash of RRKM", &KeyHash::ALL, KeyHash::name),
            |hash| quoted(hash.name())
        ),
    )
    .of(&RRKM),
    Setting::new(
        "clock_drift",
        &["-1000 to 1000"],
        "how many millionths the station's clock is faster than the access point's",
        field!(options.wlan.rrkm.drift_ppm, drift_ppm, ToString::to_string),
    )
    .of(&RRKM),
    Setting::new(
        "pairwise",
        &["ccmp-128", "ccmp-256", "gcmp-128", "gcmp-256"],
        "cipher of frames between station and access point",
        field!(
            options.wlan.pairwise,
            |item| item.pick("pairwise cipher", &Pairwise::ALL, Pairwise::name),
            |cipher| quoted(cipher.name())
        ),
    )
    .of(&RSN),
    Setting::new(
        "management_protection",
        &["never", "optional", "required"],
        "protection of management frames; WPA3 always protects them",
        field!(
            options.wlan.management,
            |item| item.pick("protection of management frames", &Protection::ALL, Protection::name),
            |choice| quoted(choice.name())
        ),
    )
    .of(&WPA2),
    Setting::new(
        "eap_server",
        &["radius", "access-point"],
        "where the EAP server is: behind RADIUS, or inside the access point",
        field!(
            options.wlan.eap_server,
            |item| item.pick("place of the EAP server", &EapServer::ALL, EapServer::name),
            |place| quoted(place.name())
        ),
    )
    .of(&EAPOL),
    Setting::new(
        "quiet_period",
        &["0 s to 3600 s"],
        "how long a station whose EAP has failed is held; IEEE 802.1X has 60 s",
        field!(options.wlan.quiet_period, quiet_period, |time| quoted(&quantity::duration(*time))),
    )
    .of(&EAPOL),
    Setting::new(
        "group_rekey",
        &["never", "100 ms to 31536000 s"],
        "when the keys of the group change",
        field!(options.wlan.group_rekey, rekey, print_rekey),
    )
    .of(&RSN),
    Setting::new(
        "stays_idle",
        &["1 s to 31536000 s"],
        "how long a station without traffic stays in its network",
        field!(options.wlan.stays_idle, idle, |time| quoted(&quantity::duration(*time))),
    )
    .of(&WLAN),
    Setting::new(
        ROAM_AFTER,
        &["never", "100 ms to 31536000 s"],
        "when the station goes to the network's other access point, counted from its joining",
        field!(options.wlan.roam_after, rekey, print_rekey),
    )
    .of(&RSN),
    Setting::new(
        ROAMING,
        &["reassociation", "pmksa-caching", "fast-transition"],
        "what a station that goes to another access point saves there",
        field!(
            options.wlan.roaming,
            |item| item.pick("way of roaming", &Roaming::ALL, Roaming::name),
            |way| quoted(way.name())
        ),
    )
    .of(&RSN)
    .needs(|options, _| options.wlan.roam_after.is_some(), "without `roam_after`"),
];

/// The keys of roaming.
pub(super) const ROAM_AFTER: &str = "roam_after";
pub(super) const ROAMING: &str = "roaming";

const SECOND_NS: u64 = 1_000_000_000;

/// Whole seconds, in 16 bits: the challenge has a field of that length.
fn period(item: &Item) -> Result<Duration, ScenarioError> {
    let nanos = item.quantity(Kind::Duration, SECOND_NS..=65_535 * SECOND_NS)?;
    if !nanos.is_multiple_of(SECOND_NS) {
        return Err(item.spot.error("RRKM counts whole seconds", "a fraction of a second"));
    }
    Ok(Duration::from_nanos(nanos))
}

fn drift_ppm(item: &Item) -> Result<i32, ScenarioError> {
    let ppm = item.number(&(-1000.0..=1000.0))?;
    if ppm.fract() != 0.0 {
        return Err(item.spot.error("a clock drifts by whole millionths", "a fraction of one"));
    }
    Ok(ppm as i32)
}

fn quiet_period(item: &Item) -> Result<Duration, ScenarioError> {
    item.quantity(Kind::Duration, 0..=3_600 * SECOND_NS).map(Duration::from_nanos)
}

fn idle(item: &Item) -> Result<Duration, ScenarioError> {
    item.quantity(Kind::Duration, SECOND_NS..=31_536_000 * SECOND_NS).map(Duration::from_nanos)
}

//! A guest with simulated Wi-Fi (`interop/hwsim.sh`), in which hostapd or wpa_supplicant has one radio and ours the other.
//!
//! ```text
//!   wlan0  hostapd or wpa_supplicant, with the kernel's 802.11
//!   mon0   ours: an active monitor interface on the other radio
//! ```
//!
//! Neither side of ours answers ARP, so the kernel is told who has our address.

use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Condvar, Mutex, PoisonError};

use crate::chain::Outcome;
use crate::on_air::{Kind, USER};
use crate::run::{Trouble, finish};

/// What `interop/hwsim.sh build` makes.
pub const INITRAMFS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../target/hwsim/initramfs");
const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/hwsim.sh");

/// How long a guest may live, in seconds.
const LIFE_S: u32 = 58;

/// The passphrase and password of the tests' networks.
pub const SECRET: &str = "lab-passphrase";
const OWN: &str = "10.0.0.1";
const PEER: &str = "10.0.0.2";

/// What ours is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// A station before hostapd.
    Station,
    /// An access point before wpa_supplicant.
    AccessPoint,
}

impl Role {
    /// Both.
    pub const ALL: &'static [Self] = &[Self::Station, Self::AccessPoint];

    /// On the command line of `keytoll-on-air`.
    const fn name(self) -> &'static str {
        match self {
            Self::Station => "station",
            Self::AccessPoint => "access-point",
        }
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Station => "our station, hostapd",
            Self::AccessPoint => "our access point, wpa_supplicant",
        })
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Open => "open",
            Self::Wpa2Psk => "WPA2-PSK",
            Self::Wpa2PskSha256 => "WPA2-PSK with SHA-256, protected management frames",
            Self::Wpa3Sae => "WPA3-SAE, hash-to-element, protected management frames",
            Self::Wpa3SaeGcmp256 => "the same with GCMP-256",
            Self::Wpa2Eap => "WPA2-Enterprise with EAP-MSCHAPv2",
        })
    }
}

impl Kind {
    /// What comes of it.
    pub const fn outcome(self, _: Role) -> Outcome {
        Outcome::Passed
    }

    /// The cipher, as hostapd and wpa_supplicant call it.
    pub const fn cipher_name(self) -> &'static str {
        match self {
            Self::Wpa3SaeGcmp256 => "GCMP-256",
            _ => "CCMP",
        }
    }

    /// The lines of hostapd's configuration.
    fn hostapd(self) -> String {
        let rsn = |akm: &str| format!("wpa=2\nwpa_key_mgmt={akm}\nrsn_pairwise={}\n", self.cipher_name());
        let sae = || rsn("SAE") + &format!("ieee80211w=2\nsae_password={SECRET}\nsae_pwe=1\n");
        let psk = |akm| rsn(akm) + &format!("wpa_passphrase={SECRET}\n");
        let own = match self {
            Self::Open => String::new(),
            Self::Wpa2Psk => psk("WPA-PSK"),
            Self::Wpa2PskSha256 => psk("WPA-PSK-SHA256") + "ieee80211w=2\n",
            Self::Wpa3Sae | Self::Wpa3SaeGcmp256 => sae(),
            Self::Wpa2Eap => rsn("WPA-EAP") + "ieee8021x=1\neap_server=1\neap_user_file=/root/users\n",
        };
        format!(
            "interface=wlan0\ndriver=nl80211\nssid=lab\nhw_mode=g\nchannel=1\nctrl_interface=/run/hostapd\n{own}"
        )
    }

    /// wpa_supplicant's configuration.
    fn wpa_supplicant(self) -> String {
        let cipher = self.cipher_name();
        let rsn = |akm: &str| format!("key_mgmt={akm}\npairwise={cipher}\ngroup={cipher}\n");
        let own = match self {
            Self::Open => "key_mgmt=NONE\n".to_owned(),
            Self::Wpa2Psk => rsn("WPA-PSK") + &format!("psk=\"{SECRET}\"\n"),
            Self::Wpa2PskSha256 => rsn("WPA-PSK-SHA256") + &format!("ieee80211w=2\npsk=\"{SECRET}\"\n"),
            Self::Wpa3Sae | Self::Wpa3SaeGcmp256 => {
                rsn("SAE") + &format!("ieee80211w=2\nsae_password=\"{SECRET}\"\n")
            }
            Self::Wpa2Eap => {
                rsn("WPA-EAP") + &format!("eap=MSCHAPV2\nidentity=\"{USER}\"\npassword=\"{SECRET}\"\n")
            }
        };
        format!(
            "sae_pwe=1\nctrl_interface=/run/supplicant\nnetwork={{\nscan_freq=2412\nssid=\"lab\"\n{own}}}\n"
        )
    }
}

/// A network to be tried, and what ours knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Trial {
    /// What protects it.
    pub kind: Kind,
    /// The passphrase or password that ours has.
    pub secret: &'static str,
}

impl Trial {
    fn name(&self) -> String {
        format!("{}-{}", self.kind.name(), self.secret)
    }
}

/// What both sides said.
#[derive(Debug, Clone)]
pub struct Said {
    /// What happened to ours, in order, without frames that it discarded.
    pub ours: Vec<String>,
    /// Why it discarded frames.
    pub discarded: Vec<String>,
    /// The log of the other one.
    pub theirs: String,
}

/// Tries networks in one guest, in turns; files are left in `directory`.
///
/// # Errors
/// The guest does not boot, or does not end in time.
pub fn tried(role: Role, trials: &[Trial], ours: &Path, directory: &Path) -> Result<Vec<Said>, Trouble> {
    let out = directory.join(role.name());
    fs::create_dir_all(&out).map_err(failed(&out))?;
    let write = |name: String, text: String| -> Result<PathBuf, Trouble> {
        let path = directory.join(name);
        fs::write(&path, text).map_err(failed(&path))?;
        Ok(path)
    };
    let mut files =
        vec![ours.to_owned(), write("users".into(), format!("\"{USER}\" MSCHAPV2 \"{SECRET}\"\n"))?];
    for kind in Kind::ALL {
        files.push(write(format!("{}.hostapd", kind.name()), kind.hostapd())?);
        files.push(write(format!("{}.supplicant", kind.name()), kind.wpa_supplicant())?);
    }
    let script = write(format!("{}.script", role.name()), script(role, trials))?;
    let mut guest = Command::new(SCRIPT);
    let _turn = Turn::take();
    guest.arg("run").arg(&out).arg(LIFE_S.to_string()).arg(&script).args(&files);
    finish(&mut guest)?;
    trials.iter().map(|trial| said(&out, trial)).collect()
}

/// More guests at once would take each other's processors.
const GUESTS_MAX: usize = 2;
static GUESTS: (Mutex<usize>, Condvar) = (Mutex::new(0), Condvar::new());

/// The turn of a guest.
struct Turn;

impl Turn {
    /// Waits until there are few enough.
    fn take() -> Self {
        let (guests, ended) = &GUESTS;
        let guests = guests.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = ended.wait_while(guests, |guests| *guests >= GUESTS_MAX);
        *waited.unwrap_or_else(PoisonError::into_inner) += 1;
        Self
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        let (guests, ended) = &GUESTS;
        *guests.lock().unwrap_or_else(PoisonError::into_inner) -= 1;
        ended.notify_one();
    }
}

fn failed(file: &Path) -> impl FnOnce(io::Error) -> Trouble + use<'_> {
    move |source| Trouble::File { what: file.display().to_string(), source }
}

fn said(out: &Path, trial: &Trial) -> Result<Said, Trouble> {
    let read = |end: &str| {
        let file = out.join(format!("{}.{end}", trial.name()));
        fs::read_to_string(&file).map_err(failed(&file))
    };
    let events = read("ours")?;
    let (discarded, ours) =
        events.lines().map(str::to_owned).partition(|line| line.starts_with("discarded: "));
    Ok(Said { ours, discarded, theirs: read("theirs")? })
}

/// What the guest does.
fn script(role: Role, trials: &[Trial]) -> String {
    let try_one = match role {
        Role::Station => STATION,
        Role::AccessPoint => ACCESS_POINT,
    };
    let calls = trials
        .iter()
        .map(|trial| format!("try_one {} {} {}\n", trial.name(), trial.kind.name(), trial.secret));
    let ends = format!("OWN={OWN} PEER={PEER}\n");
    [ends, MONITOR.to_owned(), try_one.to_owned(), calls.collect()].concat()
}

/// `flags active`: the radio acknowledges frames to the interface's address, without which nobody believes that they arrive.
const MONITOR: &str = "\
iw dev wlan1 del
iw phy phy1 interface add mon0 type monitor flags active
ip link set mon0 up
iw dev mon0 set freq 2412
MAC=$(cat /sys/class/net/mon0/address)
ends() {
    ip addr replace $PEER/24 dev wlan0
    ip neigh replace $OWN lladdr $MAC dev wlan0 nud permanent
}
";

const STATION: &str = "\
try_one() {
    hostapd -B -P /run/theirs.pid -f $OUT/$1.theirs $2.hostapd >/dev/null
    ends
    ./keytoll-on-air station mon0 lab $2 $3 $OWN $PEER >$OUT/$1.ours 2>&1
    kill $(cat /run/theirs.pid)
    usleep 300000
}
";

/// A station that sleeps would have frames wait for it in the access point.
const ACCESS_POINT: &str = "\
try_one() {
    ./keytoll-on-air access-point mon0 lab $2 $3 $OWN $PEER >$OUT/$1.ours 2>&1 &
    usleep 200000
    wpa_supplicant -B -P /run/theirs.pid -D nl80211 -i wlan0 -c $2.supplicant -f $OUT/$1.theirs >/dev/null
    iw dev wlan0 set power_save off
    ends
    wait $!
    kill $(cat /run/theirs.pid)
    usleep 300000
}
";

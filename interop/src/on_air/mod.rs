//! A station or an access point of ours on the air: an engine on a packet socket at a monitor interface, with a radiotap header in
//! front of each frame. Read radiotap.org first, and packet(7).
//!
//! ```text
//!   engine --frame--> radiotap ‖ frame --monitor interface, `flags active`--> air
//! ```
//!
//! The interface has to be an active monitor: then the radio acknowledges what is sent to its address, which must be the engine's.

mod access_point;
mod pings;
mod station;

use std::io;
use std::os::fd::AsFd;
use std::time::Duration;

use keytoll_crypto::Real;
use keytoll_crypto_api::Secret;
use keytoll_crypto_api::algorithm::Curve;
use keytoll_decode::radiotap;
use keytoll_engine::trace::{Fact, Revealed, Trace};
use keytoll_engine::{Ctx, Time};
use keytoll_live::Clock;
use keytoll_native::frames::Frames;
use keytoll_wlan::bss::{Protected, Rsn, Security, Ssid};
use keytoll_wlan::keys::psk;
use keytoll_wlan::sae::Password;
use keytoll_wlan::{Akm, Cipher, MacAddr};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

pub use access_point::AccessPointOnAir;
pub use pings::Pings;
pub use station::StationOnAir;

/// if_ether.h: packets of every type, which is what a monitor interface has.
const ETH_P_ALL: u16 = 3;
/// radiotap.org: version 0, eight octets, no fields.
const NO_FIELDS: [u8; 8] = [0, 0, 8, 0, 0, 0, 0, 0];
/// No frame of a wireless LAN is longer (802.11-2020 §9.2.4.7: an MMPDU of 2304 octets), with room for radiotap.
const FRAME_BYTES_MAX: usize = 4096;

/// What protects a network of the tests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Nothing.
    Open,
    /// WPA2 with a passphrase.
    Wpa2Psk,
    /// The same with SHA-256 and protected management frames.
    Wpa2PskSha256,
    /// WPA3 with a password: SAE, and management frames protected.
    Wpa3Sae,
    /// The same with GCMP-256.
    Wpa3SaeGcmp256,
    /// WPA2 with EAP-MSCHAPv2.
    Wpa2Eap,
}

impl Kind {
    /// All of them.
    pub const ALL: [Self; 6] =
        [Self::Open, Self::Wpa2Psk, Self::Wpa2PskSha256, Self::Wpa3Sae, Self::Wpa3SaeGcmp256, Self::Wpa2Eap];

    /// For files and command lines.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Wpa2Psk => "wpa2-psk",
            Self::Wpa2PskSha256 => "wpa2-psk-sha256",
            Self::Wpa3Sae => "wpa3-sae",
            Self::Wpa3SaeGcmp256 => "wpa3-sae-gcmp-256",
            Self::Wpa2Eap => "wpa2-eap",
        }
    }

    /// What the engines demand.
    pub const fn security(self) -> Security {
        let (akm, management) = match self {
            Self::Open => return Security::Open,
            Self::Wpa2Psk => (Akm::Psk, Protected::Never),
            Self::Wpa2PskSha256 => (Akm::PskSha256, Protected::Always),
            Self::Wpa3Sae | Self::Wpa3SaeGcmp256 => (Akm::Sae, Protected::Always),
            Self::Wpa2Eap => (Akm::Dot1x, Protected::Never),
        };
        Security::Rsn(Rsn { akm, pairwise: self.cipher(), group: self.cipher(), management })
    }

    /// What protects data.
    const fn cipher(self) -> Cipher {
        match self {
            Self::Wpa3SaeGcmp256 => Cipher::Gcmp256,
            _ => Cipher::Ccmp128,
        }
    }
}

/// A network, and what one side knows of it.
#[derive(Debug, Clone)]
pub struct Network {
    /// Its name.
    pub ssid: String,
    /// What protects it.
    pub kind: Kind,
    /// The passphrase or password, of EAP that of [`USER`].
    pub secret: String,
}

/// The user of EAP.
pub const USER: &str = "user";
/// The method of EAP, which takes no certificates.
const METHOD: &str = "mschapv2";

impl Network {
    fn ssid(&self) -> Ssid {
        Ssid::new(self.ssid.as_bytes()).expect("the tests' network has a short name")
    }

    fn pmk(&self) -> Option<Secret> {
        let of = || psk(&self.secret, self.ssid.as_bytes(), &mut Real::default());
        matches!(self.kind, Kind::Wpa2Psk | Kind::Wpa2PskSha256)
            .then(|| of().expect("the tests' passphrase is one"))
    }

    fn password(&self) -> Option<Password> {
        let (ssid, password) = (self.ssid.as_bytes(), self.secret.as_bytes());
        let of = || Password::of_network(ssid, password, None, &[Curve::P256], &mut Real::default());
        matches!(self.kind, Kind::Wpa3Sae | Kind::Wpa3SaeGcmp256).then(of)
    }
}

/// What came of it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Report {
    /// What happened, in order.
    pub events: Vec<String>,
}

/// One side on the air.
pub trait OnAir {
    /// It begins.
    fn begin(&mut self, cx: &mut Ctx<'_>);
    /// A frame of somebody else to it or to a group.
    fn hear(&mut self, frame: &[u8], cx: &mut Ctx<'_>);
    /// Time has passed.
    fn tick(&mut self, cx: &mut Ctx<'_>);
    /// The next frame to be sent.
    fn poll(&mut self, cx: &mut Ctx<'_>) -> Option<Vec<u8>>;
    /// When it wants to be told of the time.
    fn deadline(&self) -> Option<Time>;
    /// What happened so far.
    fn report(&self) -> &Report;
    /// Whether all that was to happen has happened.
    fn is_done(&self) -> bool;
}

/// Says why frames were discarded.
#[derive(Debug, Default)]
struct Discards(Vec<String>);

impl Trace for Discards {
    fn record(&mut self, fact: Fact) {
        if let Fact::Discarded { why, .. } = fact {
            self.0.push(why.to_string());
        }
    }

    fn reveal(&mut self, _: Revealed) {}
}

/// Runs one side until it is done, or for this long. It is made when its address is known.
///
/// # Errors
/// The interface cannot be opened, or is gone.
pub fn run<S: OnAir>(
    interface: &str,
    limit: Duration,
    make: impl FnOnce(MacAddr) -> S,
) -> io::Result<Report> {
    let frames = Frames::open(interface, ETH_P_ALL)?;
    let (side, clock) = (make(frames.address()), Clock::start());
    let mut radio = Radio { frames, clock, crypto: Real::default(), discards: Discards::default(), side };
    let until = clock.now() + limit;
    radio.with(S::begin);
    loop {
        radio.send()?;
        if radio.side.is_done() || clock.now() >= until {
            return Ok(radio.report());
        }
        radio.wait(until)?;
        radio.listen()?;
        radio.with(S::tick);
    }
}

/// A side at its interface.
struct Radio<S> {
    frames: Frames,
    clock: Clock,
    crypto: Real,
    discards: Discards,
    side: S,
}

impl<S: OnAir> Radio<S> {
    fn with<R>(&mut self, what: impl FnOnce(&mut S, &mut Ctx<'_>) -> R) -> R {
        let Self { clock, crypto, discards, side, .. } = self;
        what(side, &mut Ctx { now: clock.now(), crypto, trace: discards })
    }

    /// Sends what is to be sent.
    fn send(&mut self) -> io::Result<()> {
        while let Some(frame) = self.with(S::poll) {
            self.frames.send(&[&NO_FIELDS, &frame[..]].concat())?;
        }
        Ok(())
    }

    /// Waits for a frame or for the next deadline.
    fn wait(&self, until: Time) -> io::Result<()> {
        let at = self.side.deadline().map_or(until, |at| at.min(until));
        let left = at.as_nanos().saturating_sub(self.clock.now().as_nanos()).div_ceil(1_000_000);
        let timeout = PollTimeout::try_from(left).unwrap_or(PollTimeout::MAX);
        poll(&mut [PollFd::new(self.frames.as_fd(), PollFlags::POLLIN)], timeout)?;
        Ok(())
    }

    /// Passes on what has arrived.
    fn listen(&mut self) -> io::Result<()> {
        let (own, mut buffer) = (self.frames.address(), [0; FRAME_BYTES_MAX]);
        loop {
            let len = match self.frames.receive(&mut buffer) {
                Ok(len) => len,
                Err(why) if why.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(why) => return Err(why),
            };
            if let Some(frame) = for_us(&buffer[..len], own) {
                self.with(|side, cx| side.hear(frame, cx));
            }
        }
    }

    /// What happened, and why frames were discarded.
    fn report(self) -> Report {
        let mut report = self.side.report().clone();
        let discarded = self.discards.0.iter().map(|why| format!("discarded: {why}"));
        report.events.extend(discarded);
        report
    }
}

/// The frame behind radiotap, if somebody else sends it to this address or to a group. A monitor interface has frames of others,
/// too, and gives back what is sent there.
fn for_us(bytes: &[u8], own: MacAddr) -> Option<&[u8]> {
    let frame = radiotap::frame(bytes, u32::try_from(bytes.len()).ok()?).ok()?;
    let address = |at: usize| frame.get(at..)?.first_chunk::<6>();
    // 802.11-2020 §9.2.3: the first two addresses are where they are in every frame but a few control frames.
    let (to, from) = (address(4)?, address(10)?);
    ((*to == own || to[0] & 1 == 1) && *from != own).then_some(frame)
}

#[cfg(test)]
mod tests {
    use super::*;

    const OWN: MacAddr = [2, 0, 0, 0, 0, 1];
    const OTHER: MacAddr = [2, 0, 0, 0, 0, 2];

    fn captured(to: MacAddr, from: MacAddr) -> Vec<u8> {
        [&NO_FIELDS[..], &[8, 0, 0, 0], &to, &from, &[0; 8]].concat()
    }

    #[test]
    fn only_frames_of_others_to_us_and_to_groups_are_heard() {
        assert_eq!(for_us(&captured(OWN, OTHER), OWN), Some(&captured(OWN, OTHER)[8..]));
        assert!(for_us(&captured([0xff; 6], OTHER), OWN).is_some());
        assert_eq!(for_us(&captured(OTHER, OTHER), OWN), None);
        assert_eq!(for_us(&captured([0xff; 6], OWN), OWN), None);
        assert_eq!(for_us(&NO_FIELDS, OWN), None);
    }
}

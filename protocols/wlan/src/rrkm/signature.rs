//! SIG, of which each side sends the half that proves it.
//!
//!   Element ID(1) = 221 Length(1) = 13 OUI(3) = 02-52-4B, locally administered  Half of SIG(10)

use keytoll_crypto_api::algorithm::Hash;
use keytoll_crypto_api::{Crypto, Digest, about};

use super::Parameters;
use super::challenge::Challenge;
use crate::cipher::wep::Iv;
use crate::frame::management::Authentication;
use crate::frame::{Element, ElementId};
use crate::shared_key::{Failure, message};

/// Locally administered, as no organization has assigned it.
const OUI: [u8; 3] = [0x02, 0x52, 0x4b];
const HALF: usize = 10;

/// The whole of it.
pub(super) struct Signature(Digest);

impl Signature {
    // SIG = SHA-1(K ‖ C ‖ IV of frame 3 ‖ station ‖ access point ‖ n).
    pub(super) fn new(
        parameters: &Parameters,
        challenge: &Challenge,
        iv: Iv,
        epoch: u32,
        crypto: &mut dyn Crypto,
    ) -> Self {
        let Parameters { key, station, access_point, .. } = parameters;
        let parts: [&[u8]; 6] = [key, &challenge.octets, &iv.0, station, access_point, &epoch.to_le_bytes()];
        Self(about(crypto, "SIG", |crypto| crypto.hash(Hash::Sha1, &parts)))
    }

    /// The information of the element with which the station proves itself.
    pub(super) fn of_station(&self) -> Vec<u8> {
        [&OUI, &self.0[..HALF]].concat()
    }

    /// The information of that with which the access point does.
    pub(super) fn of_access_point(&self) -> Vec<u8> {
        [&OUI, &self.0[HALF..]].concat()
    }

    /// Checks the half in a frame.
    pub(super) fn check(frame: &Authentication<'_>, expected: &[u8]) -> Result<(), Failure> {
        let fits = |element: &Element<'_>| element.id == ElementId::VENDOR && element.body.starts_with(&OUI);
        let received = message::find(frame, fits)?.ok_or(Failure::Signature)?;
        let mut right = Digest::zeroed(OUI.len() + HALF);
        right.copy_from_slice(expected);
        if right.matches(received) { Ok(()) } else { Err(Failure::Signature) }
    }
}

/// An element with a half.
pub(super) fn element(half: &[u8]) -> Element<'_> {
    Element { id: ElementId::VENDOR, body: half }
}

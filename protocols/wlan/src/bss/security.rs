//! What a network demands of its stations, as its beacons and the stations' association requests declare it.

use keytoll_net::wire::Reader;

use crate::frame::management::beacon::Capabilities;
use crate::frame::management::subtype;
use crate::frame::rsn::{Mde, RsnCapabilities, Rsne, Rsnxe, Selector};
use crate::frame::{Element, ElementId, Elements};
use crate::handshake::{Declared, Generation, Terms};
use crate::keys::KeyName;
use crate::suite::{Akm, Cipher};
use crate::{MacAddr, eapol};

/// The name of a network: at most 32 octets (802.11-2020 §9.4.2.2).
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Ssid(Vec<u8>);

impl Ssid {
    /// The name with these octets; none if they are too many.
    pub fn new(octets: impl Into<Vec<u8>>) -> Option<Self> {
        let octets = octets.into();
        (octets.len() <= 32).then_some(Self(octets))
    }

    /// Its octets.
    pub fn octets(&self) -> &[u8] {
        &self.0
    }
}

/// Whether management frames are protected (802.11-2020 §12.6.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Protected {
    /// Never.
    Never,
    /// If both sides can.
    IfBothCan,
    /// Always: who cannot is refused.
    Always,
}

/// A robust security network.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rsn {
    /// How stations authenticate.
    pub akm: Akm,
    /// The cipher of frames between two stations.
    pub pairwise: Cipher,
    /// The cipher of data to groups.
    pub group: Cipher,
    /// Whether management frames are protected; BIP-CMAC-128 protects those to groups.
    pub management: Protected,
}

/// What a network demands of its stations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Security {
    /// Nothing.
    Open,
    /// The key that all share: shared key authentication, and data under WEP of this kind.
    SharedKey(Cipher),
    /// A key of its own for each station: RRKM, and data under WEP of this kind with keys that change by themselves.
    Rrkm(Cipher),
    /// 802.1X with keys for WEP of this kind.
    Dot1xWep(Cipher),
    /// Keys of a 4-way handshake.
    Rsn(Rsn),
}

impl Security {
    /// How the two sides of a robust security network protect frames.
    pub(crate) const fn rsn(&self) -> Option<Rsn> {
        match *self {
            Self::Rsn(rsn) => Some(rsn),
            Self::Open | Self::SharedKey(_) | Self::Rrkm(_) | Self::Dot1xWep(_) => None,
        }
    }

    /// Whether EAP authenticates stations.
    pub(crate) const fn has_eap(&self) -> bool {
        match self {
            Self::Open | Self::SharedKey(_) | Self::Rrkm(_) => false,
            Self::Dot1xWep(_) => true,
            Self::Rsn(rsn) => rsn.akm.has_eap(),
        }
    }

    /// Whether SAE authenticates stations and makes their PMK.
    pub(crate) const fn has_sae(&self) -> bool {
        matches!(self, Self::Rsn(Rsn { akm: Akm::Sae | Akm::FtSae, .. }))
    }

    /// Whether stations authenticate by a challenge that WEP encrypts.
    pub(crate) const fn has_challenge(&self) -> bool {
        matches!(self, Self::SharedKey(_) | Self::Rrkm(_))
    }

    /// Whether stations move fast between its access points.
    pub(crate) const fn has_fast_transition(&self) -> bool {
        matches!(self, Self::Rsn(rsn) if rsn.akm.has_fast_transition())
    }

    /// Whether a station is a member when it has associated; otherwise its keys are agreed on first.
    pub(crate) const fn is_complete_at_association(&self) -> bool {
        matches!(self, Self::Open) || self.has_challenge()
    }

    /// The cipher of dynamic WEP.
    pub(crate) const fn dynamic_wep(&self) -> Option<Cipher> {
        match *self {
            Self::Dot1xWep(cipher) => Some(cipher),
            _ => None,
        }
    }

    /// What the network announces beside its elements.
    pub(crate) const fn capabilities(&self) -> Capabilities {
        match self {
            Self::Open => Capabilities::ESS,
            _ => Capabilities::ESS.with(Capabilities::PRIVACY),
        }
    }

    /// Our RSNE with id and length, which names a PMK that we have already; empty in a network that has none.
    pub(crate) fn rsne(&self, pmkid: Option<KeyName>) -> Vec<u8> {
        let pmkids = pmkid.into_iter().collect();
        self.rsn().map_or_else(Vec::new, |rsn| Rsne { pmkids, ..rsn.rsne() }.to_bytes())
    }

    // 802.11-2020 §9.4.2.241: who has hash-to-element says so in an RSNXE, and only then others use it. Fast transition would have
    // the element under the MIC of its FTE, which ours does not cover.
    /// Our RSNXE with id and length; empty without SAE, and with its fast transition.
    pub(crate) fn rsnxe(&self) -> Vec<u8> {
        let has_one = self.has_sae() && !self.has_fast_transition();
        let rsnxe = Rsnxe { sae_hash_to_element: true, sae_public_key: false };
        if has_one { rsnxe.to_bytes() } else { Vec::new() }
    }
}

impl Rsn {
    /// Whether both can protect management frames.
    pub(crate) fn protects_management(&self, peer: &Rsne) -> bool {
        self.management != Protected::Never && peer.capabilities.has(RsnCapabilities::PROTECTION_CAPABLE)
    }

    /// What we declare as an access point.
    pub(crate) fn declared(&self) -> Declared {
        Declared { element: self.rsne().to_bytes(), rsnxe: None }
    }

    fn rsne(&self) -> Rsne {
        let capabilities = match self.management {
            Protected::Never => RsnCapabilities::default(),
            Protected::IfBothCan => RsnCapabilities::PROTECTION_CAPABLE,
            Protected::Always => {
                RsnCapabilities::PROTECTION_CAPABLE.with(RsnCapabilities::PROTECTION_REQUIRED)
            }
        };
        let can = self.management != Protected::Never;
        let group_management = can.then(|| Selector::of_cipher(Cipher::BipCmac128));
        Rsne { capabilities, group_management, ..Rsne::new(self.group, self.pairwise, self.akm) }
    }

    // 802.11-2020 §12.6.3: ciphers and AKM are among those of the other side, and protection is where somebody insists on it.
    /// Whether a peer's RSNE goes together with ours.
    pub(crate) fn suits(&self, peer: &Rsne) -> bool {
        let can = peer.capabilities.has(RsnCapabilities::PROTECTION_CAPABLE);
        let must = peer.capabilities.has(RsnCapabilities::PROTECTION_REQUIRED);
        peer.known_akms().any(|akm| akm == self.akm)
            && peer.ciphers().any(|cipher| cipher == self.pairwise)
            && peer.group.cipher() == Some(self.group)
            && (can || self.management != Protected::Always)
            && (!must || self.management != Protected::Never)
    }

    /// The terms of a handshake between these two, after both have declared themselves.
    pub(crate) fn terms(
        &self,
        [aa, spa]: [MacAddr; 2],
        [access_point, station]: [Declared; 2],
        protects_management: bool,
    ) -> Terms {
        Terms {
            generation: Generation::Rsn,
            akm: self.akm,
            pairwise: self.pairwise,
            group: self.group,
            group_management: protects_management.then_some(Cipher::BipCmac128),
            aa,
            spa,
            eapol_version: eapol::pdu::VERSION_2004,
            access_point,
            station,
            extended_key_id: false,
        }
    }
}

/// 802.11-2020 §12.2.7 (robust management frames): deauthentication, disassociation, and actions that are not public.
pub(crate) const fn is_robust(kind: u8) -> bool {
    matches!(kind, subtype::DEAUTHENTICATION | subtype::DISASSOCIATION | subtype::ACTION)
}

/// The RSNE among elements, if it can be read.
pub(crate) fn rsne_of(elements: &Elements<'_>) -> Option<Rsne> {
    Rsne::read(elements.find(ElementId::RSN)?).ok()
}

/// The MDE among elements, if it can be read.
pub(crate) fn mde_of(elements: &Elements<'_>) -> Option<Mde> {
    Mde::read(elements.find(ElementId::MOBILITY_DOMAIN)?).ok()
}

/// The rates of every network here, in units of 500 kbit/s, the first ones basic: 802.11-2020 §9.4.2.3.
const RATES: [u8; 8] = [0x82, 0x84, 0x8b, 0x96, 12, 24, 48, 108];

/// The elements of a beacon or association request: the network's name and rates, and those behind, with id and length.
pub(crate) fn elements<'a>(ssid: &'a Ssid, behind: &'a [u8]) -> Elements<'a> {
    let ssid = Element { id: ElementId::SSID, body: ssid.octets() };
    let rates = Element { id: ElementId::SUPPORTED_RATES, body: &RATES };
    Elements([ssid, rates].into_iter().chain(read(behind).0).collect())
}

/// Elements of ours, with id and length each.
pub(crate) fn read(elements: &[u8]) -> Elements<'_> {
    Elements::read(&mut Reader::new(elements)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    const WPA2: Rsn = Rsn {
        akm: Akm::Psk,
        pairwise: Cipher::Ccmp128,
        group: Cipher::Ccmp128,
        management: Protected::IfBothCan,
    };

    #[test]
    fn both_sides_have_a_cipher_and_an_akm_in_common_and_agree_on_protection() {
        let rsne = |management| Rsn { management, ..WPA2 }.rsne();
        let with = |management| Rsn { management, ..WPA2 };
        for (ours, theirs, suits) in [
            (Protected::Never, Protected::Never, true),
            (Protected::Never, Protected::IfBothCan, true),
            (Protected::Never, Protected::Always, false),
            (Protected::IfBothCan, Protected::Never, true),
            (Protected::Always, Protected::Never, false),
            (Protected::Always, Protected::IfBothCan, true),
        ] {
            assert_eq!(with(ours).suits(&rsne(theirs)), suits, "{ours:?} {theirs:?}");
        }
        assert!(!Rsn { akm: Akm::Sae, ..WPA2 }.suits(&WPA2.rsne()));
        assert!(!Rsn { pairwise: Cipher::Gcmp256, ..WPA2 }.suits(&WPA2.rsne()));
        assert!(!Rsn { group: Cipher::Tkip, ..WPA2 }.suits(&WPA2.rsne()));
    }

    #[test]
    fn names_are_short() {
        assert_eq!(Ssid::new(vec![b'a'; 32]).map(|ssid| ssid.octets().len()), Some(32));
        assert_eq!(Ssid::new(vec![b'a'; 33]), None);
    }
}

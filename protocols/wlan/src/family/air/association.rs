//! The keys of one station with one access point, as whoever overhears the handshakes and has the master key computes them:
//! 802.11-2020 §12.7.6 (4-way handshake), §12.7.7 (group key handshake), §13.5 (fast transition).

use keytoll_crypto_api::{Crypto, Secret};

use super::super::eapol::Handshake;
use super::super::management::Chosen;
use super::keys::Keys;
use super::opener::{Opener, Openers};
use crate::MacAddr;
use crate::bss::Ssid;
use crate::cipher::Side;
use crate::eapol::{KeyData, RsnKey};
use crate::frame::element::{ElementId, Elements};
use crate::frame::rsn::fte::WrappedGtk;
use crate::frame::rsn::{Fte, Mde, Rsne};
use crate::handshake::{Generation, Master, Terms, Transition};
use crate::keys::{Exchange, KeyName, Nonce, PmkR0, Ptk, R0Holder, open_key_data};
use crate::suite::Akm;

/// PTKs of which the latest may still be in use.
const AGREED_MAX: usize = 4;
/// Longer messages of a handshake are not kept.
const MESSAGE_MAX: usize = 2048;

/// An access point and a station.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(in super::super) struct Pair {
    pub(in super::super) bssid: MacAddr,
    pub(in super::super) station: MacAddr,
}

/// What is known of an association.
#[derive(Debug, Default)]
pub(super) struct Association {
    anonce: Option<Nonce>,
    /// Message 2 of the 4-way handshake.
    second: Vec<u8>,
    /// The latest first.
    agreed: Vec<Agreed>,
    /// What the station asked for in a fast transition.
    asked: Option<Asked>,
    pairwise: Openers,
}

/// What a handshake has agreed on.
#[derive(Debug)]
struct Agreed {
    terms: Terms,
    nonces: (Nonce, Nonce),
    ptk: Ptk,
}

/// The first frame of a fast transition (802.11-2020 §13.8.2).
#[derive(Debug)]
struct Asked {
    chosen: Chosen,
    snonce: Nonce,
    mdid: [u8; 2],
    pmk_r0_name: KeyName,
}

/// What is at hand for a handshake.
pub(super) struct Known<'a> {
    pub(super) pair: Pair,
    pub(super) network: Option<&'a Ssid>,
    pub(super) keys: &'a mut Keys,
}

impl Association {
    /// What was in a body under the pairwise key.
    pub(super) fn open(
        &self,
        from: Side,
        header: &[u8],
        body: &[u8],
        crypto: &mut dyn Crypto,
    ) -> Option<Vec<u8>> {
        self.pairwise.open(from, header, body, crypto)
    }

    /// An EAPOL-Key frame passes; gives the group key in it.
    pub(super) fn on_key(
        &mut self,
        pdu: &[u8],
        known: &mut Known<'_>,
        crypto: &mut dyn Crypto,
    ) -> Option<Opener> {
        let frame = RsnKey::read_of_any_akm(pdu).ok()?.0;
        match Handshake::of(frame.information, frame.key_data.len())? {
            Handshake::FourWay(1) => self.anonce = Some(frame.nonce),
            Handshake::FourWay(2) if pdu.len() <= MESSAGE_MAX => {
                self.second = pdu.to_vec();
                self.agree(known, crypto);
            }
            Handshake::FourWay(3) => {
                // Message 1 may not have passed here.
                self.anonce = Some(frame.nonce);
                self.agree(known, crypto);
                return self.group_key(pdu, true, crypto);
            }
            Handshake::Group(1) => return self.group_key(pdu, false, crypto),
            _ => {}
        }
        None
    }

    /// Finds the master key with which the MIC of message 2 is right.
    fn agree(&mut self, known: &mut Known<'_>, crypto: &mut dyn Crypto) -> Option<()> {
        let second = RsnKey::read_of_any_akm(&self.second).ok()?.0;
        let nonces = (self.anonce?, second.nonce);
        if self.agreed.iter().any(|agreed| agreed.nonces == nonces) {
            return None;
        }
        // 802.11-2020 §12.7.6.3: message 2 repeats the elements of the association request.
        let elements = Elements::read(&mut keytoll_net::wire::Reader::new(second.key_data)).ok()?;
        let terms = Chosen::of(&elements)?.terms(known.pair)?;
        let (_, signed) = terms.read(&self.second).ok()?;
        let masters = known.keys.masters(terms.akm, known.network, crypto);
        let ptk = masters.into_iter().find_map(|master| {
            let master = of_handshake(master, &terms, &elements, known, crypto)?;
            let ptk = terms.ptk(&master, nonces, crypto);
            terms.verify(&signed, &ptk, crypto).is_ok().then_some(ptk)
        })?;
        self.add(Agreed { terms, nonces, ptk });
        Some(())
    }

    fn add(&mut self, agreed: Agreed) {
        let (cipher, key) = (agreed.terms.pairwise, agreed.ptk.tk.clone());
        // Message 3 may tell a key ID; which one it is shows when the key opens something.
        self.pairwise.add(Opener { cipher, key, key_id: None });
        self.agreed.insert(0, agreed);
        self.agreed.truncate(AGREED_MAX);
    }

    /// The group key in message 3 or in the first message of a group key handshake, by the PTK under which its MIC is right.
    fn group_key(&self, pdu: &[u8], is_pairwise: bool, crypto: &mut dyn Crypto) -> Option<Opener> {
        self.agreed.iter().find_map(|Agreed { terms, ptk, .. }| {
            let (frame, signed) = terms.read(pdu).ok()?;
            terms.verify(&signed, ptk, crypto).ok()?;
            if terms.generation == Generation::Wpa && is_pairwise {
                return None;
            }
            let opened = terms.open(&frame, ptk, crypto).ok()?;
            let (id, key) = match terms.generation {
                Generation::Rsn => KeyData::read(&opened).ok()?.gtk()?,
                Generation::Wpa => (frame.information.wpa_key_index(), opened.get(..terms.group.key_len())?),
            };
            Some(Opener { cipher: terms.group, key: key.into(), key_id: Some(id) })
        })
    }
}

/// Fast transition (802.11-2020 §13.5).
impl Association {
    /// The first message, of the station.
    pub(super) fn on_transition_request(&mut self, elements: &Elements<'_>) -> Option<()> {
        let chosen = Chosen::of(elements)?;
        let rsne = Rsne::read(elements.find(ElementId::RSN)?).ok()?;
        let fte = Fte::read(elements.find(ElementId::FAST_TRANSITION)?, chosen.akm?.mic_len()).ok()?;
        self.asked = Some(Asked {
            chosen,
            snonce: fte.snonce,
            mdid: mdid(elements)?,
            pmk_r0_name: *rsne.pmkids.first()?,
        });
        Some(())
    }

    /// The second message, of the access point: the master key is the one that gives the PMK-R0 of the name that the station said.
    pub(super) fn on_transition_response(
        &mut self,
        elements: &Elements<'_>,
        known: &mut Known<'_>,
        crypto: &mut dyn Crypto,
    ) -> Option<()> {
        let asked = self.asked.as_ref()?;
        let terms = asked.chosen.terms(known.pair)?;
        let fte = Fte::read(elements.find(ElementId::FAST_TRANSITION)?, terms.akm.mic_len()).ok()?;
        let (holder, r1kh_id) = (holder(known.network?, asked.mdid, &fte)?, fte.r1kh_id?);
        let nonces = (fte.anonce, asked.snonce);
        if self.agreed.iter().any(|agreed| agreed.nonces == nonces) {
            return None;
        }
        let station = known.pair.station;
        let r0 = known.keys.masters(terms.akm, known.network, crypto).into_iter().find_map(|xxkey| {
            let r0 = PmkR0::new(terms.akm, &xxkey, &holder, station, crypto);
            (r0.name == asked.pmk_r0_name).then_some(r0)
        })?;
        let r1 = r0.r1(terms.akm, r1kh_id, station, crypto);
        let exchange = Exchange { aa: known.pair.bssid, spa: station, anonce: nonces.0, snonce: nonces.1 };
        let ptk = r1.ptk(terms.akm, terms.pairwise, &exchange, crypto).0;
        self.add(Agreed { terms, nonces, ptk });
        Some(())
    }

    /// The fourth message, of the access point, brings the group key.
    pub(super) fn on_reassociation(
        &self,
        elements: &Elements<'_>,
        crypto: &mut dyn Crypto,
    ) -> Option<Opener> {
        let Agreed { terms, nonces, ptk } = self.agreed.first()?;
        let fte = Fte::read(elements.find(ElementId::FAST_TRANSITION)?, terms.akm.mic_len()).ok()?;
        let WrappedGtk { key_id, key_len, wrapped, .. } = fte.gtk?;
        if (fte.anonce, fte.snonce) != *nonces {
            return None;
        }
        let key = open_key_data(terms.mic(), &ptk.kek, &[0; 16], wrapped.0, crypto).ok()?;
        let key = Secret::from(key.get(..key_len.into())?);
        Some(Opener { cipher: terms.group, key, key_id: Some(key_id) })
    }
}

/// What a 4-way handshake begins with: the master key, or with fast transition a PMK-R1 of it.
fn of_handshake(
    master: Secret,
    terms: &Terms,
    elements: &Elements<'_>,
    known: &Known<'_>,
    crypto: &mut dyn Crypto,
) -> Option<Master> {
    let akm: Akm = terms.akm;
    if !akm.has_fast_transition() {
        return Some(Master::Pmk { key: master, name: None });
    }
    // 802.11-2020 §13.4.2: message 2 has the MDE and the FTE of the association response.
    let fte = Fte::read(elements.find(ElementId::FAST_TRANSITION)?, akm.mic_len()).ok()?;
    let holder = holder(known.network?, mdid(elements)?, &fte)?;
    let pmk_r1 =
        PmkR0::new(akm, &master, &holder, terms.spa, crypto).r1(akm, fte.r1kh_id?, terms.spa, crypto);
    Some(Master::Transition(Transition { pmk_r1, mde: Vec::new(), fte: Vec::new() }))
}

fn mdid(elements: &Elements<'_>) -> Option<[u8; 2]> {
    Mde::read(elements.find(ElementId::MOBILITY_DOMAIN)?).ok().map(|mde| mde.mdid)
}

fn holder<'a>(network: &'a Ssid, mdid: [u8; 2], fte: &Fte<'a>) -> Option<R0Holder<'a>> {
    Some(R0Holder { ssid: network.octets(), mdid, r0kh_id: fte.r0kh_id? })
}

//! What networks, stations and access points have said so far, and the keys that this and a table of keys come to.

use keytoll_crypto_api::Crypto;
use keytoll_family::Tables;
use keytoll_net::wire::Reader;

use super::association::{Association, Known, Pair};
use super::keys::Keys;
use super::opener::Openers;
use super::recent::Recent;
use crate::MacAddr;
use crate::bss::Ssid;
use crate::cipher::Side;
use crate::frame::element::{ElementId, Elements};
use crate::frame::management::Authentication;
use crate::frame::{Addresses, AuthenticationAlgorithm, DataHeader, Management, ManagementHeader};

/// More networks, or associations, at once are not kept.
const NETWORKS_MAX: usize = 4096;
const ASSOCIATIONS_MAX: usize = 4096;

/// What was overheard, and the keys.
#[derive(Debug)]
pub(super) struct Overheard {
    keys: Keys,
    /// Keys that need no handshake.
    of_table: Openers,
    networks: Recent<MacAddr, Network>,
    associations: Recent<Pair, Association>,
}

/// A network, by its BSSID.
#[derive(Debug, Default)]
struct Network {
    name: Option<Ssid>,
    groups: Openers,
}

impl Overheard {
    pub(super) fn new(tables: &mut Tables) -> Self {
        let keys = Keys::read(tables);
        Self {
            of_table: Openers::of_table(&keys.wep, &keys.temporal),
            keys,
            networks: Recent::new(NETWORKS_MAX),
            associations: Recent::new(ASSOCIATIONS_MAX),
        }
    }

    pub(super) fn keys(&self) -> usize {
        self.keys.count()
    }

    /// Whether the two sides of a frame have begun to associate, so that the keys of its conversation could be known.
    pub(super) fn is_known(&self, header: &DataHeader) -> bool {
        match sides(header) {
            Some((pair, _)) if is_group(pair.station) => self.networks.get(&pair.bssid).is_some(),
            Some((pair, _)) => self.associations.get(&pair).is_some(),
            None => false,
        }
    }

    /// What was in the body of a data frame.
    pub(super) fn open(
        &self,
        header: &DataHeader,
        octets: &[u8],
        body: &[u8],
        crypto: &mut dyn Crypto,
    ) -> Option<Vec<u8>> {
        let Some((pair, from)) = sides(header) else {
            return self.of_table.open(Side::Supplicant, octets, body, crypto);
        };
        self.open_between(pair, from, octets, body, crypto)
    }

    /// What was in the body of a management frame.
    pub(super) fn open_management(
        &self,
        header: &ManagementHeader,
        octets: &[u8],
        body: &[u8],
        crypto: &mut dyn Crypto,
    ) -> Option<Vec<u8>> {
        let (pair, from) = ends(header);
        self.open_between(pair, from, octets, body, crypto)
    }

    fn open_between(
        &self,
        pair: Pair,
        from: Side,
        octets: &[u8],
        body: &[u8],
        crypto: &mut dyn Crypto,
    ) -> Option<Vec<u8>> {
        let by_handshake = if is_group(pair.station) {
            let network = self.networks.get(&pair.bssid);
            network.and_then(|network| network.groups.open(from, octets, body, crypto))
        } else {
            let association = self.associations.get(&pair);
            association.and_then(|association| association.open(from, octets, body, crypto))
        };
        by_handshake.or_else(|| self.of_table.open(from, octets, body, crypto))
    }

    /// An EAPOL PDU in a data frame.
    pub(super) fn on_eapol(&mut self, header: &DataHeader, pdu: &[u8], crypto: &mut dyn Crypto) {
        if let Some((pair, _)) = sides(header).filter(|(pair, _)| !is_group(pair.station)) {
            self.on_key(pair, pdu, crypto);
        }
    }

    fn on_key(&mut self, pair: Pair, pdu: &[u8], crypto: &mut dyn Crypto) {
        let Self { keys, networks, associations, .. } = self;
        let network = networks.get(&pair.bssid).and_then(|network| network.name.as_ref());
        let mut known = Known { pair, network, keys };
        if let Some(group) = associations.entry(pair).on_key(pdu, &mut known, crypto) {
            networks.entry(pair.bssid).groups.add(group);
        }
    }

    /// A management frame that is not encrypted.
    pub(super) fn on_management(&mut self, header: &ManagementHeader, body: &[u8], crypto: &mut dyn Crypto) {
        let (pair, from) = ends(header);
        match Management::read(header.subtype, body) {
            Ok(Management::Beacon(beacon)) => self.name(pair.bssid, &beacon.elements),
            Ok(Management::AssociationRequest(request)) => {
                self.name(pair.bssid, &request.elements);
                self.associations.entry(pair);
            }
            Ok(Management::AssociationResponse(response)) => {
                let association = self.associations.get_mut(&pair);
                let group = association.and_then(|it| it.on_reassociation(&response.elements, crypto));
                if let Some(group) = group {
                    self.networks.entry(pair.bssid).groups.add(group);
                }
            }
            Ok(Management::Authentication(authentication))
                if authentication.algorithm == AuthenticationAlgorithm::FAST_BSS_TRANSITION =>
            {
                self.on_transition(pair, from, &authentication, crypto);
            }
            _ => {}
        }
    }

    fn on_transition(
        &mut self,
        pair: Pair,
        from: Side,
        authentication: &Authentication<'_>,
        crypto: &mut dyn Crypto,
    ) {
        let Ok(elements) = Elements::read(&mut Reader::new(authentication.rest)) else { return };
        let Self { keys, networks, associations, .. } = self;
        let network = networks.get(&pair.bssid).and_then(|network| network.name.as_ref());
        let association = associations.entry(pair);
        match from {
            Side::Supplicant => association.on_transition_request(&elements),
            Side::Authenticator => {
                association.on_transition_response(&elements, &mut Known { pair, network, keys }, crypto)
            }
        };
    }

    /// Learns the name of a network; one that hides it has no octets or zeros in its place.
    fn name(&mut self, bssid: MacAddr, elements: &Elements<'_>) {
        let octets = elements.find(ElementId::SSID).unwrap_or_default();
        if octets.iter().any(|octet| *octet != 0) {
            self.networks.entry(bssid).name = Ssid::new(octets);
        }
    }
}

/// IEEE 802 §8.2.2: the first bit on the wire tells groups from stations.
const fn is_group(address: MacAddr) -> bool {
    address[0] & 1 == 1
}

/// The association of a data frame, or of the group whose access point sends it, and who sends it; none between two stations or
/// two access points.
fn sides(header: &DataHeader) -> Option<(Pair, Side)> {
    match header.addresses {
        Addresses::ToAccessPoint { bssid, source, .. } => {
            Some((Pair { bssid, station: source }, Side::Supplicant))
        }
        Addresses::FromAccessPoint { bssid, destination, .. } => {
            Some((Pair { bssid, station: destination }, Side::Authenticator))
        }
        Addresses::Direct { .. } | Addresses::Relayed { .. } => None,
    }
}

/// The same of a management frame.
fn ends(header: &ManagementHeader) -> (Pair, Side) {
    let &ManagementHeader { bssid, source, destination, .. } = header;
    if source == bssid {
        (Pair { bssid, station: destination }, Side::Authenticator)
    } else {
        (Pair { bssid, station: source }, Side::Supplicant)
    }
}

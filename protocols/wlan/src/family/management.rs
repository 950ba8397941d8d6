//! Management frames in words: 802.11-2020 §9.3.3.

use keytoll_engine::trace::Message;
use keytoll_family::words::printable;
use keytoll_family::{About, Content, Dissected, Entry, LinkSeal, Part, unreadable};
use keytoll_net::wire::{DecodeError, Problem, Reader};

use super::air::Pair;
use crate::eapol::pdu::VERSION_2004;
use crate::frame::element::{Element, ElementId, Elements};
use crate::frame::management::{Action, Authentication, FtAction, subtype};
use crate::frame::rsn::{Rsne, Selector, Wpa};
use crate::frame::{
    AuthenticationAlgorithm, Flags, Frame, Header, Management, ManagementHeader, ReasonCode, SequenceControl,
    StatusCode,
};
use crate::handshake::{Declared, Generation, Terms};
use crate::names;
use crate::rrkm;
use crate::suite::{Akm, Cipher};

/// A management frame as its conversation sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Managed {
    /// What it does.
    pub(super) step: Step,
    /// Whether the access point sent it.
    pub(super) from_access_point: bool,
    /// Its body: what tells it from others, and not from itself sent again.
    pub(super) body: Vec<u8>,
    /// Why it refuses something or ends it.
    pub(super) refusal: Option<String>,
    /// How a station authenticates, if it says so.
    pub(super) algorithm: Option<AuthenticationAlgorithm>,
    /// What protects the association, in a request.
    pub(super) chosen: Option<Chosen>,
    /// Whether it has a fast transition element.
    pub(super) has_fte: bool,
    /// Whether the station sends the same frame again (802.11-2020 §9.2.4.1.6).
    pub(super) is_retry: bool,
    /// Sequence Control: the number of the frame, which the station gives to it once (802.11-2020 §9.2.4.4).
    pub(super) sequence: SequenceControl,
    /// Whether it was encrypted.
    pub(super) seal: LinkSeal,
}

/// What a management frame does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Step {
    /// A message of an authentication.
    Authentication {
        /// Its number.
        sequence: u16,
    },
    /// A request to associate, or its answer.
    Association,
    /// The end of an association or authentication.
    Farewell,
    /// Anything else.
    Other,
}

impl Step {
    /// Whether it can answer another step, of the other side.
    pub(super) const fn answers(self, asked: Self) -> bool {
        match (self, asked) {
            // Of SAE both sides send each number; others count on.
            (Self::Authentication { sequence }, Self::Authentication { sequence: asked }) => {
                sequence == asked || sequence == asked.saturating_add(1)
            }
            (Self::Association, Self::Association) => true,
            _ => false,
        }
    }
}

/// What a station has chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Chosen {
    /// How it authenticates.
    pub(super) akm: Option<Akm>,
    /// What protects its frames.
    pub(super) cipher: Option<Cipher>,
    /// What protects frames to groups.
    pub(super) group: Option<Cipher>,
    /// In which generation of elements it says so.
    pub(super) generation: Generation,
}

impl Content for Managed {
    fn tell(&self, _: &Entry, about: &mut About) {
        if let Some(cipher) = self.chosen.and_then(|chosen| chosen.cipher) {
            about.suite = Some(names::cipher(cipher).to_owned());
        }
    }
}

/// What the records say of a frame.
pub(super) fn message(bytes: &[u8]) -> Result<Message, DecodeError> {
    let missing = || Reader::new(bytes).error("802.11 management frame", Problem::Missing);
    read(bytes, LinkSeal::None)?.sent.ok_or_else(missing)
}

pub(super) fn dissect(bytes: &[u8], seal: LinkSeal) -> Dissected {
    read(bytes, seal).unwrap_or_else(|error| unreadable("802.11", &error))
}

fn read(bytes: &[u8], seal: LinkSeal) -> Result<Dissected, DecodeError> {
    let frame = Frame::read(bytes)?;
    let Header::Management(header) = frame.header else {
        return Err(Reader::new(bytes).error("802.11 management frame", Problem::Missing));
    };
    let mut told = Told { parts: Vec::new(), managed: Managed::of(&header, frame.body, seal) };
    let name = names::frame(header.subtype).to_owned();
    if header.flags.has(Flags::PROTECTED) {
        told.parts.push(Part::bare("encrypted"));
        // 802.11-2020 §12.3.3.3.4: of authentications only the third frame is encrypted.
        if header.subtype == subtype::AUTHENTICATION {
            told.managed.step = Step::Authentication { sequence: 3 };
        }
    } else {
        told.parts.extend((seal == LinkSeal::Opened).then(|| Part::bare("decrypted")));
        let len = bytes.len() - frame.body.len();
        let within = |error: DecodeError| DecodeError { offset: error.offset + len, ..error };
        told.add(&Management::read(header.subtype, frame.body).map_err(within)?).map_err(within)?;
    }
    let Told { parts, managed } = told;
    let (name, id) = match managed.step {
        Step::Authentication { sequence } if sequence > 0 => (format!("{name} {sequence}"), sequence),
        _ => (name, 0),
    };
    let sent = Some(names::management(header.subtype, managed.from_access_point, id, bytes.len()));
    Ok(Dissected { parts, failure: managed.refusal.clone(), sent, ..Dissected::bare(name, managed) })
}

impl Managed {
    fn of(header: &ManagementHeader, body: &[u8], seal: LinkSeal) -> Self {
        let step = match header.subtype {
            subtype::AUTHENTICATION => Step::Authentication { sequence: 0 },
            subtype::ASSOCIATION_REQUEST
            | subtype::ASSOCIATION_RESPONSE
            | subtype::REASSOCIATION_REQUEST
            | subtype::REASSOCIATION_RESPONSE => Step::Association,
            subtype::DISASSOCIATION | subtype::DEAUTHENTICATION => Step::Farewell,
            _ => Step::Other,
        };
        Self {
            step,
            from_access_point: header.source == header.bssid,
            body: body.to_vec(),
            refusal: None,
            algorithm: None,
            chosen: None,
            has_fte: false,
            is_retry: header.flags.has(Flags::RETRY),
            sequence: header.sequence,
            seal,
        }
    }
}

/// A frame being put into words.
struct Told {
    parts: Vec<Part>,
    managed: Managed,
}

impl Told {
    fn add(&mut self, body: &Management<'_>) -> Result<(), DecodeError> {
        match body {
            Management::Authentication(authentication) => self.add_authentication(authentication)?,
            Management::AssociationRequest(request) => {
                self.add_elements(&request.elements);
                self.managed.chosen = Chosen::of(&request.elements);
            }
            Management::AssociationResponse(response) => {
                self.add_status(response.status);
                self.add_elements(&response.elements);
                self.managed.has_fte = response.elements.find(ElementId::FAST_TRANSITION).is_some();
            }
            Management::Disassociation(farewell) | Management::Deauthentication(farewell) => {
                self.add_reason(farewell.reason);
            }
            Management::Action(Action::SaQuery(query)) => {
                let what = if query.is_response { "response" } else { "request" };
                self.parts.push(Part::new("SA Query", what));
            }
            Management::Action(Action::Ft(FtAction { kind, .. })) => {
                self.parts.push(Part::new("FT", format!("{kind:?}")));
            }
            Management::Action(Action::Other { category, .. }) => {
                self.parts.push(Part::new("category", category.to_string()));
            }
            Management::ProbeRequest(_) | Management::Beacon(_) | Management::Other { .. } => {}
        }
        Ok(())
    }

    fn add_authentication(&mut self, authentication: &Authentication<'_>) -> Result<(), DecodeError> {
        let Authentication { algorithm, sequence, status, rest } = *authentication;
        self.managed.step = Step::Authentication { sequence };
        self.managed.algorithm = Some(algorithm);
        let name = if algorithm == rrkm::ALGORITHM { "RRKM".to_owned() } else { algorithm.to_string() };
        self.parts.push(Part::new("algorithm", name));
        self.add_status(status);
        if algorithm == AuthenticationAlgorithm::SAE {
            self.parts.push(Part::new("SAE", format!("{} bytes", rest.len())));
            return Ok(());
        }
        let elements = authentication.elements()?;
        if elements.find(ElementId::CHALLENGE_TEXT).is_some() {
            self.parts.push(Part::bare("challenge"));
        }
        self.add_elements(&elements);
        Ok(())
    }

    fn add_status(&mut self, status: StatusCode) {
        if status == StatusCode::SUCCESS {
            return;
        }
        self.parts.push(Part::new("status", status.to_string()));
        // 802.11-2020 §12.4.7.4, §12.4.8.6.3: with these SAE goes on.
        const GO_ON: [StatusCode; 3] =
            [StatusCode::SAE_HASH_TO_ELEMENT, StatusCode::SAE_PK, StatusCode::ANTI_CLOGGING_TOKEN_REQUIRED];
        if !GO_ON.contains(&status) && self.managed.from_access_point {
            self.managed.refusal = Some(status.to_string());
        }
    }

    fn add_reason(&mut self, reason: ReasonCode) {
        self.parts.push(Part::new("reason", reason.to_string()));
        self.managed.refusal = Some(reason.to_string());
    }

    fn add_elements(&mut self, elements: &Elements<'_>) {
        for element in &elements.0 {
            let part = match element.id {
                ElementId::SSID => Part::new("SSID", printable(element.body)),
                ElementId::RSN => protection("RSNE", Rsne::read(element.body).ok().as_ref().map(suites)),
                ElementId::VENDOR if Wpa::is_in(element.body) => {
                    let wpa = Wpa::read(element.body).ok();
                    protection("WPA", wpa.as_ref().map(|wpa| (&wpa.pairwise[..], &wpa.akms[..])))
                }
                ElementId::MOBILITY_DOMAIN => Part::bare("MDE"),
                ElementId::FAST_TRANSITION => Part::bare("FTE"),
                ElementId::RSNX => Part::bare("RSNXE"),
                _ => continue,
            };
            self.parts.push(part);
        }
    }
}

fn suites(rsne: &Rsne) -> (&[Selector], &[Selector]) {
    (&rsne.pairwise, &rsne.akms)
}

/// `RSNE(CCMP-128, sae)`.
fn protection(name: &'static str, suites: Option<(&[Selector], &[Selector])>) -> Part {
    let Some((ciphers, akms)) = suites else { return Part::new(name, "unreadable") };
    let known = |cipher: Option<Cipher>| cipher.map_or("another cipher", names::cipher);
    let ciphers = ciphers.iter().map(|selector| known(selector.cipher()));
    let akms = akms.iter().map(|selector| selector.akm().map_or("another AKM", names::akm));
    Part::new(name, ciphers.chain(akms).collect::<Vec<_>>().join(", "))
}

impl Chosen {
    /// What elements of a station say; nothing if its association is not protected.
    pub(super) fn of(elements: &Elements<'_>) -> Option<Self> {
        let of = |generation, group: Selector, ciphers: &[Selector], akms: &[Selector]| Self {
            generation,
            akm: akms.first().and_then(|selector| selector.akm()),
            cipher: ciphers.first().and_then(|selector| selector.cipher()),
            group: group.cipher(),
        };
        if let Some(rsne) = elements.find(ElementId::RSN).and_then(|body| Rsne::read(body).ok()) {
            return Some(of(Generation::Rsn, rsne.group, &rsne.pairwise, &rsne.akms));
        }
        let is_wpa = |element: &&Element<'_>| element.id == ElementId::VENDOR && Wpa::is_in(element.body);
        let wpa = elements.0.iter().find(is_wpa).and_then(|element| Wpa::read(element.body).ok())?;
        Some(of(Generation::Wpa, wpa.group, &wpa.pairwise, &wpa.akms))
    }

    /// The terms of a handshake that follows, as far as whoever overhears it needs them.
    pub(super) fn terms(&self, Pair { bssid, station }: Pair) -> Option<Terms> {
        Some(Terms {
            generation: self.generation,
            akm: self.akm?,
            pairwise: self.cipher?,
            group: self.group?,
            group_management: None,
            aa: bssid,
            spa: station,
            eapol_version: VERSION_2004,
            access_point: Declared::default(),
            station: Declared::default(),
            extended_key_id: false,
        })
    }
}

//! What follows stations and access points through a capture, and what is said of an authentication once all of it has passed.

use keytoll_crypto_api::Crypto;
use keytoll_engine::trace::{Node, Protocol};
use keytoll_family::{
    Access, Analyser, Book, Conversation, Dissected, Entry, Judgement, Method, Opening, Outcome, Passed,
    Tables,
};

use super::air::keys::TABLE;
use super::data;
use super::dialogues::Dialogues;
use super::eapol::{self, Body, Eapol, Handshake, Key};
use super::management::{self, Managed, Step};
use crate::frame::AuthenticationAlgorithm;
use crate::names::{self, WLAN};
use crate::rrkm;
use crate::suite::Akm;

/// RFC 3748 §4.
const SUCCESS: u8 = 3;
const FAILURE: u8 = 4;

/// Follows stations and access points.
pub(super) struct WlanAnalyser {
    dialogues: Dialogues,
    /// Whether there is a table of keys.
    has_table: bool,
}

impl WlanAnalyser {
    pub(super) fn new(tables: &Tables) -> Self {
        Self { dialogues: Dialogues::default(), has_table: tables.text(TABLE).is_some() }
    }
}

impl Analyser for WlanAnalyser {
    fn dissect(&mut self, passed: &Passed, _: &mut dyn Crypto) -> Dissected {
        let (bytes, seal) = (&passed.datagram.bytes, passed.seal);
        match passed.datagram.protocol {
            WLAN => management::dissect(bytes, seal),
            Protocol::FRAMES => data::dissect(bytes, seal),
            _ => eapol::dissect(bytes, seal),
        }
    }

    /// A message that is sent again is told from others by the dialogue that it belongs to, not by its bytes.
    fn file(
        &mut self,
        passed: &Passed,
        dissected: Dissected,
        _: Option<u64>,
        book: &mut Book,
        _: &mut dyn Crypto,
    ) {
        self.dialogues.file(passed, dissected, book);
    }

    fn judge(&self, _: usize, conversation: &Conversation) -> Judgement {
        let outcome = outcome(conversation.deciding());
        let sealed = data::sealed(conversation, self.has_table);
        let is_on_air = conversation.entries.iter().any(|entry| entry.content.of::<Managed>().is_some());
        let served_by = is_on_air.then_some(Node::Ap);
        Judgement { outcome, method: method(conversation), sealed, served_by, ..Judgement::default() }
    }
}

fn body(entry: &Entry) -> Option<&Body> {
    entry.content.of::<Eapol>().map(|eapol| &eapol.body)
}

/// What ends an authentication well.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Goal {
    /// The end of EAP.
    Eap,
    /// The station's own key of dynamic WEP, for which EAP is the beginning.
    WepKey,
    /// The last message of the 4-way handshake, for which EAP may be the beginning.
    Handshake,
    /// Nothing but the association, or a handshake.
    Either,
}

impl Goal {
    fn of(entries: &[Entry]) -> Self {
        let has_eap = entries.iter().filter_map(body).any(|body| matches!(body, Body::Eap(_)));
        // 802.11-2020 §12.6.1: a robust security network association needs the keys of a handshake.
        let is_rsn = entries
            .iter()
            .any(|entry| entry.content.of::<Managed>().is_some_and(|managed| managed.chosen.is_some()));
        // IEEE 802.1X-2004 §8.4.9: before that frame nothing can be sent.
        let brings_key = |body: &Body| matches!(body, Body::Key(Key { is_own_wep: true, .. }));
        match (is_rsn, has_eap) {
            (true, _) => Self::Handshake,
            (false, true) if entries.iter().filter_map(body).any(brings_key) => Self::WepKey,
            (false, true) => Self::Eap,
            (false, false) => Self::Either,
        }
    }
}

/// What a message decides.
fn decided(entries: &[Entry], at: usize, goal: Goal) -> Option<Outcome> {
    let entry = &entries[at];
    if let Some(managed) = entry.content.of::<Managed>() {
        return decided_by_frame(entries, at, managed, goal);
    }
    match body(entry)? {
        Body::Eap(eap) if eap.first() == Some(&FAILURE) => Some(rejected(entries, at)),
        Body::Eap(eap) if eap.first() == Some(&SUCCESS) && goal == Goal::Eap => {
            Some(Outcome::Established(at))
        }
        Body::Key(Key { is_own_wep: true, .. }) if goal == Goal::WepKey => Some(Outcome::Established(at)),
        Body::Key(Key { handshake: Some(Handshake::FourWay(4)), .. })
            if matches!(goal, Goal::Handshake | Goal::Either) =>
        {
            Some(Outcome::Established(at))
        }
        _ => None,
    }
}

/// A refusal decides, and the answer to an association that nothing protects and that waits for no EAP, or for which keys are there
/// already.
fn decided_by_frame(entries: &[Entry], at: usize, managed: &Managed, goal: Goal) -> Option<Outcome> {
    let earlier = || entries[..at].iter().filter_map(|entry| entry.content.of::<Managed>());
    if let Some(why) = &managed.refusal {
        // Who leaves first of all leaves an association that the capture does not show.
        let is_first =
            managed.step == Step::Farewell && entries[..at].iter().all(|entry| entry.protocol.is_traffic());
        return (!is_first).then(|| Outcome::Failed { by: entries[at].ends.0, why: why.clone(), at });
    }
    let is_answer = managed.step == Step::Association && managed.from_access_point;
    let is_open = goal == Goal::Either && earlier().any(|managed| managed.step == Step::Association);
    // 802.11-2020 §13.5: keys are there at once, while a first association in a mobility domain has an FTE for the 4-way handshake.
    let is_transition =
        earlier().any(|managed| managed.algorithm == Some(AuthenticationAlgorithm::FAST_BSS_TRANSITION));
    (is_answer && (is_open || (managed.has_fte && is_transition))).then_some(Outcome::Established(at))
}

/// The first message that decides: EAP's end, or the last message of the 4-way handshake (802.11-2020 §12.7.6.5), or a management
/// frame; else the last message, if it has no answer. A station that is refused may try again (802.11-2020 §11.3.5.3), and
/// refusals can be forged: a later success counts.
fn outcome(entries: &[Entry]) -> Outcome {
    let goal = Goal::of(entries);
    let all = || (0..entries.len()).filter_map(|at| decided(entries, at, goal));
    let is_frame =
        |outcome: &Outcome| outcome.place().is_some_and(|at| entries[at].content.of::<Managed>().is_some());
    let is_refused = |outcome: &Outcome| matches!(outcome, Outcome::Failed { .. }) && is_frame(outcome);
    let first = all().next();
    let later = first.as_ref().is_some_and(is_refused).then(|| all().find(|later| !is_refused(later)));
    let decided = later.flatten().or(first);
    let last = || {
        let ours = |entry: &Entry| body(entry).is_some() || entry.content.of::<Managed>().is_some();
        entries.iter().rposition(ours).filter(|at| entries[*at].unanswered)
    };
    decided.or_else(|| last().map(Outcome::Unanswered)).unwrap_or(Outcome::Unknown)
}

fn rejected(entries: &[Entry], at: usize) -> Outcome {
    let word = entries[..at].iter().find_map(|entry| match entry.content.access() {
        Some(Access::Rejected(word)) => Some(word),
        _ => None,
    });
    let (by, why) = word.map_or((Node::Gw, "EAP-Failure"), |word| (Node::Aaa, word));
    Outcome::Failed { by, why: why.to_owned(), at }
}

/// The method of a conversation in which somebody asked for something: who only leaves is not authenticated.
fn method(conversation: &Conversation) -> Option<Method> {
    let suite = conversation.about.suite.clone().unwrap_or_default();
    if let Some(name) = wlan_method(conversation) {
        return Some(Method { name, suite, is_known: true, opening: Opening::of("wlan") });
    }
    let asks = |body: &Body| match body {
        Body::Eap(_) | Body::Start => true,
        Body::Key(key) => key.handshake.is_some(),
        Body::Logoff => false,
    };
    let bodies = || conversation.entries.iter().filter_map(body);
    bodies().any(asks).then(|| {
        // Where the pairwise key was there before, the 4-way handshake alone authenticates: 802.11-2020 §12.6.10.
        let is_handshake =
            |body: &Body| matches!(body, Body::Key(Key { handshake: Some(Handshake::FourWay(_)), .. }));
        let by_key = || bodies().any(is_handshake).then(|| "eapol-4-way-handshake".to_owned());
        let by_eap = inner(conversation).map(|eap| format!("eapol-eap-{eap}"));
        let named = by_eap.or_else(by_key);
        let is_known = named.is_some();
        let name = named.unwrap_or_else(|| "eapol".to_owned());
        Method { name, suite, is_known, opening: Opening::of("eapol") }
    })
}

fn inner(conversation: &Conversation) -> Option<&str> {
    conversation.about.inner_method.as_ref().map(|eap| eap.name.as_str())
}

/// The method of a conversation with management frames in which a station authenticates or associates.
fn wlan_method(conversation: &Conversation) -> Option<String> {
    let frames = || conversation.entries.iter().filter_map(|entry| entry.content.of::<Managed>());
    let chosen = frames().find_map(|managed| managed.chosen);
    if let Some(chosen) = chosen {
        let akm = chosen.akm.map_or("another-akm", names::akm);
        return Some(match inner(conversation) {
            Some(eap) if chosen.akm.is_some_and(Akm::has_eap) => format!("wlan-{akm}-eap-{eap}"),
            _ => format!("wlan-{akm}"),
        });
    }
    let algorithm = frames().find_map(|managed| managed.algorithm);
    // The request with the AKM is not in the capture, and no open network has a handshake.
    let has_handshake = conversation
        .entries
        .iter()
        .filter_map(body)
        .any(|body| matches!(body, Body::Key(Key { handshake: Some(Handshake::FourWay(_)), .. })));
    if algorithm == Some(AuthenticationAlgorithm::OPEN_SYSTEM)
        && has_handshake
        && inner(conversation).is_none()
    {
        return Some("wlan-4-way-handshake".to_owned());
    }
    // 802.1X without an RSN: what EAP makes are keys of WEP.
    if let Some((_, eap)) = algorithm.zip(inner(conversation)) {
        return Some(format!("wlan-dot1x-eap-{eap}"));
    }
    algorithm.map(|algorithm| {
        let name = match algorithm {
            AuthenticationAlgorithm::OPEN_SYSTEM => "open",
            AuthenticationAlgorithm::SHARED_KEY => "shared-key",
            AuthenticationAlgorithm::FAST_BSS_TRANSITION => "ft",
            AuthenticationAlgorithm::SAE => "sae",
            rrkm::ALGORITHM => "rrkm",
            _ => "another-algorithm",
        };
        format!("wlan-{name}")
    })
}

//! What follows EAPOL through a capture, and what is said of an authentication once all of it has passed.

use keytoll_crypto_api::Crypto;
use keytoll_engine::trace::Node;
use keytoll_family::{
    Access, Analyser, Book, Conversation, Dissected, Entry, Judgement, Method, Opening, Outcome, Passed,
};

use super::dialogues::Dialogues;
use super::{Body, Eapol, Handshake, Key, dissect};

/// RFC 3748 §4.
const SUCCESS: u8 = 3;
const FAILURE: u8 = 4;

/// Follows EAPOL.
#[derive(Default)]
pub(in crate::family) struct EapolAnalyser(Dialogues);

impl Analyser for EapolAnalyser {
    fn dissect(&mut self, passed: &Passed, _: &mut dyn Crypto) -> Dissected {
        dissect(&passed.datagram.bytes)
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
        self.0.file(passed, dissected, book);
    }

    fn judge(&self, _: usize, conversation: &Conversation) -> Judgement {
        let outcome = outcome(conversation.deciding());
        Judgement { outcome, method: method(conversation), ..Judgement::default() }
    }
}

fn body(entry: &Entry) -> Option<&Body> {
    entry.content.of::<Eapol>().map(|eapol| &eapol.body)
}

/// EAP's end, or without EAP the last message of the 4-way handshake (IEEE 802.11-2020 §12.7.6.5); else the last message
/// tells whether somebody still waits.
fn outcome(entries: &[Entry]) -> Outcome {
    let messages = || entries.iter().enumerate().filter_map(|(at, entry)| Some((at, body(entry)?)));
    let has_eap = messages().any(|(_, body)| matches!(body, Body::Eap(_)));
    let decided = messages().find_map(|(at, body)| match body {
        Body::Eap(eap) if eap.first() == Some(&FAILURE) => Some(rejected(entries, at)),
        Body::Eap(eap) if eap.first() == Some(&SUCCESS) => Some(Outcome::Established(at)),
        Body::Key(Key { handshake: Some(Handshake::FourWay(4)), .. }) if !has_eap => {
            Some(Outcome::Established(at))
        }
        _ => None,
    });
    let last = || messages().next_back().filter(|(at, _)| entries[*at].unanswered);
    decided.or_else(|| last().map(|(at, _)| Outcome::Unanswered(at))).unwrap_or(Outcome::Unknown)
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
    let asks = |body: &Body| match body {
        Body::Eap(_) | Body::Start => true,
        Body::Key(key) => key.handshake.is_some(),
        Body::Logoff => false,
    };
    let bodies = || conversation.entries.iter().filter_map(body);
    bodies().any(asks).then(|| {
        let inner = conversation.about.inner_method.as_ref();
        let by_eap = inner.map(|eap| format!("eapol-eap-{}", eap.name));
        // Where the pairwise key was there before, the 4-way handshake alone authenticates: IEEE 802.11-2020 §12.6.10.
        let is_handshake =
            |body: &Body| matches!(body, Body::Key(Key { handshake: Some(Handshake::FourWay(_)), .. }));
        let by_key = || bodies().any(is_handshake).then(|| "eapol-4-way-handshake".to_owned());
        let named = by_eap.or_else(by_key);
        let (is_known, suite) = (named.is_some(), conversation.about.suite.clone().unwrap_or_default());
        let name = named.unwrap_or_else(|| "eapol".to_owned());
        Method { name, suite, is_known, opening: Opening::of("eapol") }
    })
}

//! What follows IKE through a capture: the keys and what of each SA is needed to open messages, and who is who in which SA.

use std::collections::BTreeMap;

use keytoll_crypto_api::Crypto;
use keytoll_engine::trace::Node;
use keytoll_family::{Analyser, Book, Conversation, Dissected, Judgement, Passed, Tables};

use super::keys::Keys;
use super::sas::Sas;
use super::v2::FragmentKey;
use super::{Ike, Inside, message, method, without_marker};
use crate::v1::overheard::Overheard;
use crate::v2::fragment::Reassembly;

/// More messages in IKE fragments, or ISAKMP SAs, at once than this are not kept.
pub(super) const OPEN_MAX: usize = 4096;

/// Follows IKE.
pub(super) struct IkeAnalyser {
    pub(super) keys: Keys,
    pub(super) fragments: BTreeMap<FragmentKey, Reassembly>,
    pub(super) isakmp: BTreeMap<(u64, u64), Overheard>,
    pub(super) sas: Sas,
}

impl IkeAnalyser {
    pub(super) fn new(tables: &mut Tables) -> Self {
        let (keys, sas) = (Keys::read(tables), Sas::default());
        Self { keys, fragments: BTreeMap::new(), isakmp: BTreeMap::new(), sas }
    }
}

impl Analyser for IkeAnalyser {
    fn keys(&self) -> usize {
        self.keys.count()
    }

    fn dissect(&mut self, passed: &Passed, crypto: &mut dyn Crypto) -> Dissected {
        let mut dissected = self.put_into_words(passed, crypto);
        dissected.sent = message::read(without_marker(&passed.datagram.bytes)).ok();
        if let (Some(sent), Some(ike)) = (&mut dissected.sent, dissected.content.of::<Ike>())
            && (ike.major == 2 || ike.inside == Inside::Opened)
        {
            sent.parts = ike.meaning.parts.iter().copied().collect();
        }
        dissected
    }

    fn file(
        &mut self,
        passed: &Passed,
        dissected: Dissected,
        repeats: Option<u64>,
        book: &mut Book,
        _: &mut dyn Crypto,
    ) {
        if dissected.content.of::<Ike>().is_some() {
            return self.sas.file(passed, dissected, repeats, book);
        }
        let (from, to) = (passed.datagram.from.host(), passed.datagram.to.host());
        let known = book.between(from, to);
        let is_turned = known.is_some_and(|conversation| book.is_gateway(conversation, from));
        let ends = if is_turned { (Node::Gw, Node::Ue) } else { (Node::Ue, Node::Gw) };
        book.push_unreadable(passed, dissected, ends, known);
    }

    fn join(&mut self, book: &mut Book) {
        self.sas.join_rekeyed(book);
    }

    fn judge(&self, number: usize, conversation: &Conversation) -> Judgement {
        self.sas.begun(number).map(|first| method::judge(first, conversation)).unwrap_or_default()
    }
}

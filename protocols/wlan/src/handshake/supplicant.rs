//! The supplicant's side. Read 802.11-2020 §12.7.6.2, §12.7.6.4, §12.7.7.2 and §12.7.9 first.
//!
//! ```text
//!   AwaitingMessage1 --1--> AwaitingMessage3 --3--> keys installed --1, of the next handshake--> AwaitingMessage3
//!                             '--1--'                  '--3 again: answered again, nothing installed
//! ```

use std::collections::BTreeMap;
use std::time::Duration;

use keytoll_crypto_api::{Rng, Secret};
use keytoll_engine::{Ctx, Deadline, Time};

use super::frame::{Kind, check_repeated, repeated};
use super::terms::{Generation, Master, Terms};
use super::{FOUR_WAY, GROUP_KEY, GroupKey, Handshake, Output, PairwiseKey, Reason, Refused, Taken};
use crate::eapol::{KeyData, KeyInformation as I, RsnKey, Signed};
use crate::keys::{Nonce, Ptk};
use crate::reveal::{self, reveal};
use crate::transition::Agreed;

/// How long a supplicant waits for the next message before it gives the association up. The standard leaves it open; Linux's
/// wpa_supplicant has 10 s, too.
const PATIENCE: Duration = Duration::from_secs(10);

/// A supplicant in one association.
#[derive(Debug)]
pub struct Supplicant {
    terms: Terms,
    master: Master,
    wait: Wait,
    /// The pairwise key that is installed.
    pairwise: Option<Installed>,
    /// The group keys that are installed, by their indexes.
    groups: BTreeMap<u8, Secret>,
    /// Of the last frame with a right MIC.
    replay_counter: Option<u64>,
    /// Of the last request for new keys.
    requests: u64,
    mic_failures: u32,
}

#[derive(Debug)]
enum Wait {
    /// For whatever the authenticator begins.
    Nothing,
    Message1(AwaitingMessage1),
    Message3(AwaitingMessage3),
}

/// Waits for the first message of the association.
#[derive(Debug)]
struct AwaitingMessage1 {
    until: Time,
}

/// Waits for message 3.
#[derive(Debug)]
struct AwaitingMessage3 {
    anonce: Nonce,
    /// The same for every message 1 of the handshake: so nobody can displace it by a message 1 of their own.
    snonce: Nonce,
    /// Of these nonces.
    ptk: Ptk,
    until: Time,
}

/// The pairwise key that is installed.
#[derive(Debug)]
struct Installed {
    anonce: Nonce,
    ptk: Ptk,
}

impl Supplicant {
    /// A supplicant that has just associated.
    pub fn new(terms: Terms, master: Master, now: Time) -> Self {
        Self {
            terms,
            master,
            wait: Wait::Message1(AwaitingMessage1 { until: now + PATIENCE }),
            pairwise: None,
            groups: BTreeMap::new(),
            replay_counter: None,
            requests: 0,
            mic_failures: 0,
        }
    }

    /// One whose keys a fast transition has agreed on: it waits for whatever the authenticator begins.
    pub(crate) fn after_transition(agreed: Agreed, now: Time) -> Self {
        let Agreed { terms, transition, ptk, anonce, groups } = agreed;
        let groups = groups.into_iter().map(|group| (group.index, group.key)).collect();
        let (wait, pairwise) = (Wait::Nothing, Some(Installed { anonce, ptk }));
        Self { wait, pairwise, groups, ..Self::new(terms, Master::Transition(transition), now) }
    }

    /// With the nonce of a recorded handshake.
    #[cfg(test)]
    pub(super) fn with_snonce(mut self, snonce: Nonce) -> Self {
        let none = || Secret::new(Vec::new());
        let ptk = Ptk { kck: none(), kek: none(), tk: none() };
        self.wait = Wait::Message3(AwaitingMessage3 { anonce: [0; 32], snonce, ptk, until: Time::MAX });
        self
    }

    /// How many frames had a wrong MIC.
    pub const fn mic_failures(&self) -> u32 {
        self.mic_failures
    }

    /// Handles an EAPOL PDU of the authenticator.
    ///
    /// # Errors
    /// It is discarded.
    pub fn on_pdu(&mut self, pdu: &[u8], rng: &mut Rng, cx: &mut Ctx<'_>) -> Taken {
        let (frame, signed) = self.terms.read(pdu)?;
        // 802.11-2020 §12.7.2: only a counter greater than that of the last frame with a right MIC is taken.
        if self.replay_counter.is_some_and(|last| frame.replay_counter <= last) {
            return Err(Refused::Replayed);
        }
        match Kind::of(frame.information) {
            Some(Kind::Message1) => self.on_message_1(&frame, rng, cx),
            Some(Kind::Message3) => self.on_message_3(&frame, &signed, cx),
            Some(Kind::Group1) => self.on_group_1(&frame, &signed, cx),
            _ => Err(Refused::Unexpected),
        }
    }

    fn on_message_1(&mut self, frame: &RsnKey<'_>, rng: &mut Rng, cx: &mut Ctx<'_>) -> Taken {
        cx.crypto.enter(FOUR_WAY);
        self.check_message_1(frame)?;
        let snonce = match &self.wait {
            Wait::Message3(wait) => wait.snonce,
            Wait::Nothing | Wait::Message1(_) => rng.bytes(),
        };
        let ptk = self.terms.ptk(&self.master, (frame.nonce, snonce), cx.crypto);
        if let Master::Pmk { key, .. } = &self.master {
            reveal(reveal::PMK, key, cx.trace);
        }
        let answer = self.message_2(frame, snonce, &ptk, cx);
        let until = match &self.wait {
            Wait::Message3(wait) => wait.until,
            Wait::Nothing | Wait::Message1(_) => cx.now + PATIENCE,
        };
        self.wait = Wait::Message3(AwaitingMessage3 { anonce: frame.nonce, snonce, ptk, until });
        Ok(vec![answer])
    }

    fn check_message_1(&self, frame: &RsnKey<'_>) -> Result<(), Refused> {
        if frame.key_len != self.terms.key_len() {
            return Err(Refused::KeyLength);
        }
        let key_data = KeyData::read(frame.key_data)?;
        match (key_data.pmkid(), self.master.name()) {
            (Some(theirs), Some(ours)) if theirs != ours => Err(Refused::Pmkid),
            _ => Ok(()),
        }
    }

    fn message_2(&self, frame: &RsnKey<'_>, snonce: Nonce, ptk: &Ptk, cx: &mut Ctx<'_>) -> Output {
        let key_data = repeated(&self.terms.station, &self.master);
        let second =
            RsnKey { nonce: snonce, key_data: &key_data, ..self.answer(frame, &[I::PAIRWISE, I::MIC]) };
        Output::Send(self.terms.signed(&second, ptk, cx.crypto))
    }

    // 802.11-2020 §12.7.2 c): answers have a key length of zero; those of WPA repeat that of the message.
    /// An answer to a message.
    fn answer(&self, frame: &RsnKey<'_>, bits: &[I]) -> RsnKey<'static> {
        let key_len = match self.terms.generation {
            Generation::Wpa => frame.key_len,
            Generation::Rsn => 0,
        };
        RsnKey { key_len, ..self.terms.frame(bits, frame.replay_counter) }
    }

    fn on_message_3(&mut self, frame: &RsnKey<'_>, signed: &Signed<'_>, cx: &mut Ctx<'_>) -> Taken {
        cx.crypto.enter(FOUR_WAY);
        if let Some(ptk) = self.agreed(frame, signed, cx) {
            self.replay_counter = Some(frame.replay_counter);
            return self.finish(frame, ptk, cx);
        }
        // 802.11-2020 §12.7.6.4: a message 3 whose answer was lost comes again; the key that is installed stays as it is, with
        // its packet numbers (the lesson of KRACK).
        let installed = self.pairwise.take_if(|installed| {
            installed.anonce == frame.nonce && self.terms.verify(signed, &installed.ptk, cx.crypto).is_ok()
        });
        let Some(installed) = installed else {
            self.mic_failures = self.mic_failures.saturating_add(1);
            return Err(Refused::Mic);
        };
        self.replay_counter = Some(frame.replay_counter);
        let answer = self.message_4(frame, &installed.ptk, cx);
        self.pairwise = Some(installed);
        Ok(vec![answer])
    }

    /// The PTK of the handshake that is under way, if the MIC of a message 3 is right under it.
    fn agreed(&self, frame: &RsnKey<'_>, signed: &Signed<'_>, cx: &mut Ctx<'_>) -> Option<Ptk> {
        let Wait::Message3(wait) = &self.wait else { return None };
        let ptk = if wait.anonce == frame.nonce {
            wait.ptk.clone()
        } else {
            self.terms.ptk(&self.master, (frame.nonce, wait.snonce), cx.crypto)
        };
        self.terms.verify(signed, &ptk, cx.crypto).ok().map(|()| ptk)
    }

    /// A message 3 of the authenticator itself: either all in it is as it has to be, or the handshake has failed.
    fn finish(&mut self, frame: &RsnKey<'_>, ptk: Ptk, cx: &mut Ctx<'_>) -> Taken {
        if frame.key_len != self.terms.key_len() {
            return Err(Refused::KeyLength);
        }
        let opened;
        let key_data = match self.terms.generation {
            Generation::Wpa => frame.key_data,
            Generation::Rsn => {
                opened = self.terms.open(frame, &ptk, cx.crypto)?;
                &opened[..]
            }
        };
        let key_data = KeyData::read(key_data)?;
        match self.accept(&key_data, frame.packet_number()) {
            Ok(groups) => Ok(self.install(frame, ptk, key_index(&key_data, &self.terms), groups, cx)),
            Err(reason) => {
                self.wait = Wait::Nothing;
                Ok(vec![Output::Failed(reason)])
            }
        }
    }

    fn accept(&self, key_data: &KeyData<'_>, packet_number: u64) -> Result<Vec<GroupKey>, Reason> {
        let Terms { access_point, generation, .. } = &self.terms;
        check_repeated(key_data, access_point, &self.master, *generation)?;
        match generation {
            Generation::Wpa => Ok(Vec::new()),
            Generation::Rsn => self.group_keys(key_data, packet_number),
        }
    }

    fn install(
        &mut self,
        frame: &RsnKey<'_>,
        ptk: Ptk,
        index: u8,
        groups: Vec<GroupKey>,
        cx: &mut Ctx<'_>,
    ) -> Vec<Output> {
        let answer = self.message_4(frame, &ptk, cx);
        let key = PairwiseKey { cipher: self.terms.pairwise, tk: ptk.tk.clone(), index };
        self.pairwise = Some(Installed { anonce: frame.nonce, ptk });
        self.wait = Wait::Nothing;
        let mut outputs = vec![answer, Output::Install(key)];
        outputs.extend(self.install_groups(groups));
        if self.terms.generation == Generation::Rsn {
            outputs.push(Output::Completed(Handshake::FourWay));
        }
        outputs
    }

    fn message_4(&self, frame: &RsnKey<'_>, ptk: &Ptk, cx: &mut Ctx<'_>) -> Output {
        let bits = match self.terms.generation {
            Generation::Wpa => &[I::PAIRWISE, I::MIC][..],
            Generation::Rsn => &[I::PAIRWISE, I::MIC, I::SECURE],
        };
        Output::Send(self.terms.signed(&self.answer(frame, bits), ptk, cx.crypto))
    }

    /// The group keys of message 3 or of a group key handshake in RSN.
    fn group_keys(&self, key_data: &KeyData<'_>, packet_number: u64) -> Result<Vec<GroupKey>, Reason> {
        let (index, key) = key_data.gtk().ok_or(Reason::GroupKeyUnusable)?;
        let gtk = GroupKey { cipher: self.terms.group, index, key: key.into(), packet_number };
        let igtk = match self.terms.group_management {
            None => None,
            Some(cipher) => {
                let found = key_data.igtk().ok_or(Reason::GroupKeyUnusable)?;
                let index = u8::try_from(found.key_id).map_err(|_| Reason::GroupKeyUnusable)?;
                let (key, packet_number) = (found.key.0.into(), found.packet_number);
                Some(GroupKey { cipher, index, key, packet_number })
            }
        };
        let groups: Vec<_> = [gtk].into_iter().chain(igtk).collect();
        if groups.iter().all(GroupKey::is_usable) { Ok(groups) } else { Err(Reason::GroupKeyUnusable) }
    }

    // A group key that is installed already stays as it is, whatever its index is now: its packet numbers must not go back.
    fn install_groups(&mut self, groups: Vec<GroupKey>) -> impl Iterator<Item = Output> + use<> {
        let mut new = Vec::new();
        for group in groups {
            let is_of_kind = |index: u8| is_of_management(index) == is_of_management(group.index);
            if !self.groups.iter().any(|(&index, key)| is_of_kind(index) && *key == group.key) {
                self.groups.insert(group.index, group.key.clone());
                new.push(group);
            }
        }
        new.into_iter().map(Output::InstallGroup)
    }

    fn on_group_1(&mut self, frame: &RsnKey<'_>, signed: &Signed<'_>, cx: &mut Ctx<'_>) -> Taken {
        cx.crypto.enter(GROUP_KEY);
        let installed = self.pairwise.as_ref().ok_or(Refused::Unexpected)?;
        if let Err(why) = self.terms.verify(signed, &installed.ptk, cx.crypto) {
            self.mic_failures = self.mic_failures.saturating_add(1);
            return Err(why);
        }
        self.replay_counter = Some(frame.replay_counter);
        let opened = self.terms.open(frame, &installed.ptk, cx.crypto)?;
        let groups = match self.terms.generation {
            Generation::Wpa => self.wpa_group_key(frame, &opened),
            Generation::Rsn => self.group_keys(&KeyData::read(&opened)?, frame.packet_number()),
        };
        let groups = match groups {
            Ok(groups) => groups,
            Err(reason) => return Ok(vec![Output::Failed(reason)]),
        };
        let information = match self.terms.generation {
            Generation::Wpa => I::default().with_wpa_key_index(frame.information.wpa_key_index()),
            Generation::Rsn => I::default(),
        };
        let second = self.answer(frame, &[I::MIC, I::SECURE, information]);
        let answer = Output::Send(self.terms.signed(&second, &installed.ptk, cx.crypto));
        let installed = self.install_groups(groups);
        let completed = Output::Completed(Handshake::GroupKey);
        Ok([answer].into_iter().chain(installed).chain([completed]).collect())
    }

    /// WPA's group key, which is all that there is in the key data.
    fn wpa_group_key(&self, frame: &RsnKey<'_>, opened: &[u8]) -> Result<Vec<GroupKey>, Reason> {
        let Terms { group: cipher, .. } = self.terms;
        let key = opened.get(..cipher.key_len()).ok_or(Reason::GroupKeyUnusable)?;
        let index = frame.information.wpa_key_index();
        let group = GroupKey { cipher, index, key: key.into(), packet_number: frame.packet_number() };
        let fits = usize::from(frame.key_len) == cipher.key_len() && group.is_usable();
        if fits { Ok(vec![group]) } else { Err(Reason::GroupKeyUnusable) }
    }

    /// Asks the authenticator for new keys.
    ///
    /// # Errors
    /// There is no key yet that would prove who asks.
    pub fn request(&mut self, handshake: Handshake, is_mic_failure: bool, cx: &mut Ctx<'_>) -> Taken {
        let installed = self.pairwise.as_ref().ok_or(Refused::Unexpected)?;
        let mut bits = vec![I::REQUEST, I::MIC, I::SECURE];
        bits.extend((handshake == Handshake::FourWay).then_some(I::PAIRWISE));
        bits.extend(is_mic_failure.then_some(I::ERROR));
        let request = self.terms.frame(&bits, self.requests);
        self.requests += 1;
        Ok(vec![Output::Send(self.terms.signed(&request, &installed.ptk, cx.crypto))])
    }

    /// When it wants [`Self::tick`].
    pub const fn deadline(&self) -> Option<Deadline> {
        let (at, why) = match &self.wait {
            Wait::Nothing => return None,
            Wait::Message1(wait) => (wait.until, "message 1 of the 4-way handshake"),
            Wait::Message3(wait) => (wait.until, "message 3 of the 4-way handshake"),
        };
        Some(Deadline { at, why })
    }

    /// Gives up what is overdue. A key that is installed stays.
    pub fn tick(&mut self, cx: &mut Ctx<'_>) -> Vec<Output> {
        if self.deadline().is_none_or(|deadline| deadline.at > cx.now) {
            return Vec::new();
        }
        self.wait = Wait::Nothing;
        match (&self.pairwise, self.mic_failures) {
            (Some(_), _) => Vec::new(),
            (None, 0) => vec![Output::Failed(Reason::Timeout)],
            (None, _) => vec![Output::Failed(Reason::WrongKey)],
        }
    }
}

/// The index of the pairwise key.
fn key_index(key_data: &KeyData<'_>, terms: &Terms) -> u8 {
    if terms.extended_key_id { key_data.key_id().unwrap_or_default() } else { 0 }
}

/// Whether a group key with this index protects management frames.
const fn is_of_management(index: u8) -> bool {
    index >= 4
}

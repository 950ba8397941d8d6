//! The authenticator's side, one for each association. Read 802.11-2020 §12.7.6.3, §12.7.6.5, §12.7.7.3 and §12.7.10 first.
//!
//! ```text
//!   begin --1--> AwaitingMessage2 --2--> AwaitingMessage4 --4--> established --group_changed--> AwaitingGroup2
//! ```

use keytoll_crypto_api::{Rng, Secret};
use keytoll_engine::{Ctx, Deadline, Time};

use super::frame::{Kind, check_repeated, repeated};
use super::retransmission::{Attempt, Due};
use super::terms::{Generation, Master, Terms};
use super::{
    FOUR_WAY, GROUP_KEY, GroupKey, GroupKeys, Handshake, Output, PairwiseKey, Reason, Refused,
    Retransmission, Taken,
};
use crate::eapol::kde::ManagementKey;
use crate::eapol::{KeyData, KeyInformation as I, KeyItem, RsnKey, Signed};
use crate::frame::hidden::Hidden;
use crate::keys::{Nonce, Ptk, seal_key_data};
use crate::transition::Agreed;

/// An authenticator in one association.
#[derive(Debug)]
pub struct Authenticator {
    terms: Terms,
    master: Master,
    timers: Retransmission,
    /// The group keys that stations are to have.
    group: GroupKeys,
    /// Of the next frame.
    replay_counter: u64,
    wait: Wait,
    /// The pairwise key that is installed.
    pairwise: Option<Ptk>,
    /// The index of the next pairwise key.
    next_index: u8,
    /// The group keys have changed since the station got them.
    is_group_old: bool,
    /// Of the last request.
    requests: Option<u64>,
    mic_failures: u32,
}

#[derive(Debug)]
enum Wait {
    Nothing,
    Message2(AwaitingMessage2),
    Message4(AwaitingMessage4),
    Group2(AwaitingGroup2),
}

/// Waits for message 2.
#[derive(Debug)]
struct AwaitingMessage2 {
    attempt: Attempt,
    anonce: Nonce,
    /// Whether something came that was under another key.
    was_wrong: bool,
}

/// Waits for message 4.
#[derive(Debug)]
struct AwaitingMessage4 {
    attempt: Attempt,
    anonce: Nonce,
    ptk: Ptk,
    sealed: Sealed,
}

/// Waits for the answer of the group key handshake.
#[derive(Debug)]
struct AwaitingGroup2 {
    attempt: Attempt,
    sealed: Sealed,
    /// WPA's 4-way handshake is complete only with this.
    completes: Handshake,
}

/// Key data that are sent more than once.
#[derive(Debug)]
struct Sealed {
    iv: [u8; 16],
    rsc: [u8; 8],
    key_data: Vec<u8>,
}

impl Authenticator {
    /// An authenticator for a station that has just associated.
    pub const fn new(terms: Terms, master: Master, group: GroupKeys, timers: Retransmission) -> Self {
        Self {
            terms,
            master,
            timers,
            group,
            // 802.11-2020 §12.7.2: zero when the association begins; the first frame is the first increment.
            replay_counter: 1,
            wait: Wait::Nothing,
            pairwise: None,
            next_index: 0,
            is_group_old: false,
            requests: None,
            mic_failures: 0,
        }
    }

    /// One whose keys a fast transition has agreed on: the station has the group keys, too.
    pub(crate) fn after_transition(agreed: Agreed, group: GroupKeys, timers: Retransmission) -> Self {
        let Agreed { terms, transition, ptk, .. } = agreed;
        Self { pairwise: Some(ptk), ..Self::new(terms, Master::Transition(transition), group, timers) }
    }

    /// Counts from where a recorded handshake does.
    #[cfg(test)]
    pub(super) const fn count_from(&mut self, first: u64) {
        self.replay_counter = first;
    }

    /// How many frames had a wrong MIC.
    pub const fn mic_failures(&self) -> u32 {
        self.mic_failures
    }

    /// Begins the 4-way handshake, or begins another to change the pairwise key.
    pub fn begin(&mut self, rng: &mut Rng, cx: &mut Ctx<'_>) -> Vec<Output> {
        self.begin_with(rng.bytes(), cx.now)
    }

    pub(super) fn begin_with(&mut self, anonce: Nonce, now: Time) -> Vec<Output> {
        let attempt = Attempt::begin(self.replay_counter, now, &self.timers);
        self.wait = Wait::Message2(AwaitingMessage2 { attempt, anonce, was_wrong: false });
        vec![self.message_1(anonce)]
    }

    fn next_counter(&mut self) -> u64 {
        let counter = self.replay_counter;
        self.replay_counter += 1;
        counter
    }

    fn message_1(&mut self, anonce: Nonce) -> Output {
        let name = self.master.name().filter(|_| self.terms.generation == Generation::Rsn);
        let key_data = name.map(|name| KeyData::write(&[KeyItem::Pmkid(name)])).unwrap_or_default();
        let counter = self.next_counter();
        let first = RsnKey {
            key_len: self.terms.key_len(),
            nonce: anonce,
            key_data: &key_data,
            ..self.terms.frame(&[I::PAIRWISE, I::ACK], counter)
        };
        Output::Send(self.terms.unsigned(&first))
    }

    /// Handles an EAPOL PDU of the station.
    ///
    /// # Errors
    /// It is discarded.
    pub fn on_pdu(&mut self, pdu: &[u8], rng: &mut Rng, cx: &mut Ctx<'_>) -> Taken {
        let (frame, signed) = self.terms.read(pdu)?;
        match Kind::of(frame.information) {
            Some(Kind::Answer) => self.on_answer(&frame, &signed, rng, cx),
            Some(Kind::Group2) => self.on_group_2(&frame, &signed, cx),
            Some(Kind::Request) => self.on_request(&frame, &signed, cx),
            _ => Err(Refused::Unexpected),
        }
    }

    fn on_answer(
        &mut self,
        frame: &RsnKey<'_>,
        signed: &Signed<'_>,
        rng: &mut Rng,
        cx: &mut Ctx<'_>,
    ) -> Taken {
        cx.crypto.enter(FOUR_WAY);
        match std::mem::replace(&mut self.wait, Wait::Nothing) {
            Wait::Message2(wait) => self.on_message_2(wait, frame, signed, rng, cx),
            Wait::Message4(wait) => self.on_message_4(wait, frame, signed, rng, cx),
            other => {
                self.wait = other;
                Err(Refused::Unexpected)
            }
        }
    }

    fn on_message_2(
        &mut self,
        mut wait: AwaitingMessage2,
        frame: &RsnKey<'_>,
        signed: &Signed<'_>,
        rng: &mut Rng,
        cx: &mut Ctx<'_>,
    ) -> Taken {
        if !wait.attempt.is_answered_by(frame.replay_counter) {
            self.wait = Wait::Message2(wait);
            return Err(Refused::Counter);
        }
        let ptk = self.terms.ptk(&self.master, (wait.anonce, frame.nonce), cx.crypto);
        if let Err(why) = self.terms.verify(signed, &ptk, cx.crypto) {
            wait.was_wrong = true;
            self.wait = Wait::Message2(wait);
            return self.wrong_mic(why);
        }
        let repeats =
            KeyData::read(frame.key_data).map_err(|_| Reason::ElementsDiffer).and_then(|key_data| {
                check_repeated(&key_data, &self.terms.station, &self.master, self.terms.generation)
            });
        match repeats {
            Ok(()) => Ok(vec![self.send_message_3(wait.anonce, ptk, rng, cx)]),
            Err(reason) => Ok(vec![Output::Failed(reason)]),
        }
    }

    fn wrong_mic(&mut self, why: Refused) -> Taken {
        self.mic_failures = self.mic_failures.saturating_add(1);
        Err(why)
    }

    fn send_message_3(&mut self, anonce: Nonce, ptk: Ptk, rng: &mut Rng, cx: &mut Ctx<'_>) -> Output {
        let sealed = match self.terms.generation {
            Generation::Wpa => Sealed {
                iv: [0; 16],
                rsc: [0; 8],
                key_data: repeated(&self.terms.access_point, &self.master),
            },
            Generation::Rsn => self.sealed(&self.message_3_data(), &ptk, rng, cx),
        };
        self.is_group_old = false;
        let attempt = Attempt::begin(self.replay_counter, cx.now, &self.timers);
        let wait = AwaitingMessage4 { attempt, anonce, ptk, sealed };
        let sent = self.message_3(&wait, cx);
        self.wait = Wait::Message4(wait);
        sent
    }

    fn message_3_data(&self) -> Secret {
        let mut key_data = repeated(&self.terms.access_point, &self.master);
        let items = [self.terms.extended_key_id.then_some(KeyItem::KeyId(self.next_index))];
        key_data.extend(KeyData::write(&items.into_iter().flatten().collect::<Vec<_>>()));
        key_data.extend(self.group_data());
        Secret::new(key_data)
    }

    /// The group keys as KDEs.
    fn group_data(&self) -> Vec<u8> {
        let GroupKeys { gtk, igtk } = &self.group;
        let gtk = KeyItem::Gtk { key_id: gtk.index, transmit: false, key: Hidden(&gtk.key) };
        let igtk = igtk.as_ref().map(|igtk| {
            let GroupKey { index, packet_number, key, .. } = igtk;
            KeyItem::Igtk(ManagementKey {
                key_id: u16::from(*index),
                packet_number: *packet_number,
                key: Hidden(key),
            })
        });
        KeyData::write(&[gtk].into_iter().chain(igtk).collect::<Vec<_>>())
    }

    // 802.11-2020 §12.7.2 f): EAPOL-Key IV is random where RC4 encrypts, else zero.
    fn sealed(&self, key_data: &[u8], ptk: &Ptk, rng: &mut Rng, cx: &mut Ctx<'_>) -> Sealed {
        let mic = self.terms.mic();
        let iv = if mic == crate::suite::Mic::HmacMd5 { rng.bytes() } else { [0; 16] };
        let key_data = seal_key_data(mic, &ptk.kek, &iv, key_data, cx.crypto);
        Sealed { iv, rsc: self.group.gtk.packet_number.to_le_bytes(), key_data }
    }

    fn message_3(&mut self, wait: &AwaitingMessage4, cx: &mut Ctx<'_>) -> Output {
        let bits = match self.terms.generation {
            Generation::Wpa => &[I::PAIRWISE, I::INSTALL, I::ACK, I::MIC][..],
            Generation::Rsn => &[I::PAIRWISE, I::INSTALL, I::ACK, I::MIC, I::SECURE, I::ENCRYPTED],
        };
        let counter = self.next_counter();
        let third = RsnKey {
            key_len: self.terms.key_len(),
            nonce: wait.anonce,
            iv: wait.sealed.iv,
            rsc: wait.sealed.rsc,
            key_data: &wait.sealed.key_data,
            ..self.terms.frame(bits, counter)
        };
        Output::Send(self.terms.signed(&third, &wait.ptk, cx.crypto))
    }

    fn on_message_4(
        &mut self,
        wait: AwaitingMessage4,
        frame: &RsnKey<'_>,
        signed: &Signed<'_>,
        rng: &mut Rng,
        cx: &mut Ctx<'_>,
    ) -> Taken {
        let checked = if wait.attempt.is_answered_by(frame.replay_counter) {
            self.terms.verify(signed, &wait.ptk, cx.crypto)
        } else {
            Err(Refused::Counter)
        };
        match checked {
            Ok(()) => Ok(self.install(wait.ptk, rng, cx)),
            Err(why) => {
                self.wait = Wait::Message4(wait);
                if why == Refused::Mic { self.wrong_mic(why) } else { Err(why) }
            }
        }
    }

    fn install(&mut self, ptk: Ptk, rng: &mut Rng, cx: &mut Ctx<'_>) -> Vec<Output> {
        let index = self.next_index;
        if self.terms.extended_key_id {
            self.next_index = 1 - index;
        }
        let key = PairwiseKey { cipher: self.terms.pairwise, tk: ptk.tk.clone(), index };
        self.pairwise = Some(ptk);
        let mut outputs = vec![Output::Install(key)];
        match self.terms.generation {
            Generation::Wpa => outputs.extend(self.begin_group(Handshake::FourWay, rng, cx)),
            Generation::Rsn => {
                outputs.push(Output::Completed(Handshake::FourWay));
                if self.is_group_old {
                    outputs.extend(self.begin_group(Handshake::GroupKey, rng, cx));
                }
            }
        }
        outputs
    }

    /// The access point has other group keys: the station gets them, now or when the handshake that is under way is complete.
    pub fn change_group(&mut self, group: GroupKeys, rng: &mut Rng, cx: &mut Ctx<'_>) -> Vec<Output> {
        self.group = group;
        self.is_group_old = true;
        match self.wait {
            Wait::Nothing => self.begin_group(Handshake::GroupKey, rng, cx).into_iter().collect(),
            // A group key handshake begins anew with the new keys.
            Wait::Group2(AwaitingGroup2 { completes, .. }) => {
                self.begin_group(completes, rng, cx).into_iter().collect()
            }
            Wait::Message2(_) | Wait::Message4(_) => Vec::new(),
        }
    }

    fn begin_group(&mut self, completes: Handshake, rng: &mut Rng, cx: &mut Ctx<'_>) -> Option<Output> {
        cx.crypto.enter(GROUP_KEY);
        let ptk = self.pairwise.clone()?;
        self.is_group_old = false;
        let sealed = match self.terms.generation {
            Generation::Wpa => self.sealed(&self.group.gtk.key, &ptk, rng, cx),
            Generation::Rsn => self.sealed(&Secret::new(self.group_data()), &ptk, rng, cx),
        };
        let attempt = Attempt::begin(self.replay_counter, cx.now, &self.timers);
        let wait = AwaitingGroup2 { attempt, sealed, completes };
        let sent = self.group_1(&wait, &ptk, cx);
        self.wait = Wait::Group2(wait);
        Some(sent)
    }

    fn group_1(&mut self, wait: &AwaitingGroup2, ptk: &Ptk, cx: &mut Ctx<'_>) -> Output {
        let wpa = I::default().with_wpa_key_index(self.group.gtk.index);
        let (bits, key_len) = match self.terms.generation {
            Generation::Wpa => ([I::ACK, I::MIC, I::SECURE, wpa], self.group.gtk.key.len() as u16),
            // 802.11-2020 §12.7.7.2: the key length is zero here; the key data have the keys.
            Generation::Rsn => ([I::ACK, I::MIC, I::SECURE, I::ENCRYPTED], 0),
        };
        let counter = self.next_counter();
        let first = RsnKey {
            key_len,
            iv: wait.sealed.iv,
            rsc: wait.sealed.rsc,
            key_data: &wait.sealed.key_data,
            ..self.terms.frame(&bits, counter)
        };
        Output::Send(self.terms.signed(&first, ptk, cx.crypto))
    }

    fn on_group_2(&mut self, frame: &RsnKey<'_>, signed: &Signed<'_>, cx: &mut Ctx<'_>) -> Taken {
        cx.crypto.enter(GROUP_KEY);
        let (Wait::Group2(wait), Some(ptk)) = (&self.wait, &self.pairwise) else {
            return Err(Refused::Unexpected);
        };
        if !wait.attempt.is_answered_by(frame.replay_counter) {
            return Err(Refused::Counter);
        }
        if let Err(why) = self.terms.verify(signed, ptk, cx.crypto) {
            return self.wrong_mic(why);
        }
        let completed = wait.completes;
        self.wait = Wait::Nothing;
        Ok(vec![Output::Completed(completed)])
    }

    // 802.11-2020 §12.7.2: requests of the supplicant have a replay counter of their own.
    fn on_request(&mut self, frame: &RsnKey<'_>, signed: &Signed<'_>, cx: &mut Ctx<'_>) -> Taken {
        let ptk = self.pairwise.as_ref().ok_or(Refused::Unexpected)?;
        if self.requests.is_some_and(|last| frame.replay_counter <= last) {
            return Err(Refused::Replayed);
        }
        if let Err(why) = self.terms.verify(signed, ptk, cx.crypto) {
            return self.wrong_mic(why);
        }
        self.requests = Some(frame.replay_counter);
        let is_pairwise = frame.information.has(I::PAIRWISE);
        let handshake = if is_pairwise { Handshake::FourWay } else { Handshake::GroupKey };
        Ok(vec![Output::Requested { handshake, is_mic_failure: frame.information.has(I::ERROR) }])
    }

    /// When it wants [`Self::tick`].
    pub const fn deadline(&self) -> Option<Deadline> {
        let (at, why) = match &self.wait {
            Wait::Nothing => return None,
            Wait::Message2(wait) => (wait.attempt.at(), "message 2 of the 4-way handshake"),
            Wait::Message4(wait) => (wait.attempt.at(), "message 4 of the 4-way handshake"),
            Wait::Group2(wait) => (wait.attempt.at(), "message 2 of the group key handshake"),
        };
        Some(Deadline { at, why })
    }

    /// Sends again what was not answered, or gives up.
    pub fn tick(&mut self, cx: &mut Ctx<'_>) -> Vec<Output> {
        let mut wait = std::mem::replace(&mut self.wait, Wait::Nothing);
        let (attempt, reason) = match &mut wait {
            Wait::Nothing => return Vec::new(),
            Wait::Message2(wait) if wait.was_wrong => (&mut wait.attempt, Reason::WrongKey),
            Wait::Message2(wait) => (&mut wait.attempt, Reason::Timeout),
            Wait::Message4(wait) => (&mut wait.attempt, Reason::Timeout),
            Wait::Group2(wait) => (&mut wait.attempt, Reason::GroupTimeout),
        };
        let outputs = match attempt.due(cx.now, &self.timers) {
            Due::GiveUp => return vec![Output::Failed(reason)],
            Due::NotYet => Vec::new(),
            Due::Again => self.again(&wait, cx).into_iter().collect(),
        };
        self.wait = wait;
        outputs
    }

    fn again(&mut self, wait: &Wait, cx: &mut Ctx<'_>) -> Option<Output> {
        match wait {
            Wait::Nothing => None,
            Wait::Message2(wait) => Some(self.message_1(wait.anonce)),
            Wait::Message4(wait) => Some(self.message_3(wait, cx)),
            Wait::Group2(wait) => {
                let ptk = self.pairwise.clone()?;
                Some(self.group_1(wait, &ptk, cx))
            }
        }
    }
}

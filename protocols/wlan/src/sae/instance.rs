//! The protocol instance with one peer, §12.4.8: a struct for each awaited message. Nothing is the absence of an instance.
//!
//! ```text
//!   initiator     Nothing --begin--> Committed --commit--> Confirmed --confirm--> Accepted
//!   access point  Nothing --commit--> Answered --confirm--> Accepted
//! ```
//!
//! Two that begin at once are both initiators. By the standard's figure 12-4 whoever answers a commit sends commit and confirm at
//! once; an access point sends its confirm only for that of the station, as hostapd does, so that frames alternate. Its state
//! between both is Answered here.

use std::time::Duration;

use keytoll_crypto_api::Crypto;
use keytoll_engine::Time;

use super::config::Limits;
use super::exchange::{Commitment, Kck, Keys, Master, Public};
use super::group::Method;
use super::output::{Failure, Message, Transaction, Why};
use super::password::Pair;
use super::wire::{Commit, Confirm};
use crate::frame::StatusCode;

/// §12.4.8.6.5: the send-confirm of an accepted side, which asks for no answer.
const LAST_CONFIRM: u16 = u16::MAX;

/// An instance that is not accepted yet.
#[derive(Debug)]
pub(super) enum Open {
    Committed(Committed),
    Answered(Answered),
    Confirmed(Confirmed),
}

impl Open {
    /// When it has something to do.
    pub(super) const fn due_at(&self) -> Time {
        match self {
            Self::Committed(wait) => wait.resend_at,
            Self::Answered(wait) => wait.expires_at,
            Self::Confirmed(wait) => wait.resend_at,
        }
    }

    /// A status that ends nothing, for anybody can send it; it is the reason if nothing better comes.
    pub(super) const fn on_refusal(&mut self, status: StatusCode) {
        self.doubts_mut().refused = Some(status);
    }

    const fn doubts_mut(&mut self) -> &mut Doubts {
        match self {
            Self::Committed(wait) => &mut wait.doubts,
            Self::Answered(wait) => &mut wait.agreed.doubts,
            Self::Confirmed(wait) => &mut wait.agreed.doubts,
        }
    }

    /// Why nothing came of it.
    pub(super) const fn failure(&mut self) -> Failure {
        self.doubts_mut().failure()
    }

    /// The time to send something again has come; none if it was sent often enough, or is sent at the station's request only.
    pub(super) fn on_timeout(
        &mut self,
        pair: Pair,
        now: Time,
        limits: &Limits,
        crypto: &mut dyn Crypto,
    ) -> Option<Message> {
        match self {
            Self::Committed(wait) => wait.again(pair, now, limits).ok(),
            Self::Answered(_) => None,
            Self::Confirmed(wait) => wait.again(pair, now, limits, crypto).ok(),
        }
    }
}

/// How often something was sent again, and what may have been wrong.
#[derive(Debug, Default)]
pub(super) struct Doubts {
    /// Sync of the standard.
    sync: u8,
    wrong_confirm: bool,
    refused: Option<StatusCode>,
}

impl Doubts {
    // 802.11-2020 §12.4.8.6.1: Sync counts what is sent again; above dot11RSNASAESync the instance is deleted.
    fn again(&mut self, limits: &Limits) -> Result<(), Why> {
        if self.sync >= limits.sync_max {
            return Err(Why::Sync);
        }
        self.sync += 1;
        Ok(())
    }

    // 802.11-2020 §12.4.8.4: dot11RSNASAERetransPeriod, here doubled with every repetition. Slow access points take longer for a
    // commit than the five periods of the standard's default, and longer still if each repetition costs them as much.
    /// How long an answer is waited for.
    fn patience(&self, period: Duration) -> Duration {
        period * (1 << self.sync.min(16))
    }

    /// Why nothing came of it.
    const fn failure(&self) -> Failure {
        match self {
            Self { wrong_confirm: true, .. } => Failure::WrongConfirm,
            Self { refused: Some(status), .. } => Failure::Refused(*status),
            _ => Failure::NoAnswer,
        }
    }
}

/// Our commit is sent, the peer's is awaited.
#[derive(Debug)]
pub(super) struct Committed {
    pub(super) commitment: Commitment,
    pub(super) identifier: Option<Vec<u8>>,
    pub(super) doubts: Doubts,
    token: Option<Vec<u8>>,
    resend_at: Time,
    /// When this commit was sent first, and how often again.
    since: Time,
    sent_again: u8,
}

impl Committed {
    pub(super) fn new(
        commitment: Commitment,
        identifier: Option<Vec<u8>>,
        now: Time,
        limits: &Limits,
    ) -> Self {
        let resend_at = now + limits.retransmit_after;
        let doubts = Doubts::default();
        Self { commitment, identifier, doubts, token: None, resend_at, since: now, sent_again: 0 }
    }

    /// The frame.
    pub(super) fn message(&self, pair: Pair) -> Message {
        let body = self.commitment.to_bytes(self.token.as_deref(), self.identifier.as_deref());
        commit_message(pair, self.commitment.method, body)
    }

    /// The peer's commit of our method and group makes keys.
    pub(super) fn on_commit(
        &self,
        commit: &Commit<'_>,
        pair: Pair,
        now: Time,
        limits: &Limits,
        crypto: &mut dyn Crypto,
    ) -> Result<(Confirmed, Message), Why> {
        let (own, peer) = (self.commitment.public.clone(), commit.public());
        // 802.11-2020 §12.4.5.4: a commit with our own scalar and element is a reflection attack and is discarded.
        if own.scalar == peer.scalar && own.element == peer.element {
            return Err(Why::Reflected);
        }
        commit.check(crypto).map_err(|_| Why::Invalid)?;
        let keys = self.commitment.agree(&peer, pair, crypto).map_err(|_| Why::Invalid)?;
        // Whoever took so long for a commit may take as long for a confirm. hostapd 2.10 forgets a station that it has accepted if
        // another confirm comes.
        let period = limits.retransmit_after.max(now.since(self.since));
        let mut confirmed = Confirmed {
            commit: self.message(pair),
            agreed: Agreed { own, peer, keys, doubts: Doubts::default() },
            send_confirm: 0,
            period,
            resend_at: now + period,
            answers_due: self.sent_again,
        };
        let confirm = confirmed.confirm(pair, crypto);
        Ok((confirmed, confirm))
    }

    /// The access point wants its token back.
    pub(super) fn on_token(
        &mut self,
        token: &[u8],
        pair: Pair,
        now: Time,
        limits: &Limits,
    ) -> Result<Message, Why> {
        self.doubts.again(limits)?;
        self.token = Some(token.to_vec());
        (self.since, self.sent_again) = (now, 0);
        self.resend_at = now + self.doubts.patience(limits.retransmit_after);
        Ok(self.message(pair))
    }

    /// Nothing was heard, or something out of order: the commit once more.
    pub(super) fn again(&mut self, pair: Pair, now: Time, limits: &Limits) -> Result<Message, Why> {
        self.doubts.again(limits)?;
        self.sent_again += 1;
        self.resend_at = now + self.doubts.patience(limits.retransmit_after);
        Ok(self.message(pair))
    }
}

/// What both sides have sent, and the keys.
#[derive(Debug)]
pub(super) struct Agreed {
    own: Public,
    peer: Public,
    keys: Keys,
    pub(super) doubts: Doubts,
}

impl Agreed {
    /// The count of the peer's confirm, if it proves what it should.
    pub(super) fn verify(&mut self, body: &[u8], crypto: &mut dyn Crypto) -> Result<u16, Why> {
        let verified = verify(&self.keys.kck, &self.own, &self.peer, body, crypto);
        self.doubts.wrong_confirm |= verified == Err(Why::Confirm);
        verified
    }

    fn is_from(&self, commit: &Commit<'_>) -> bool {
        *self.peer.scalar == *commit.scalar && *self.peer.element == *commit.element
    }
}

/// An access point's commit is sent for that of a station; the station's confirm is awaited.
#[derive(Debug)]
pub(super) struct Answered {
    commit: Message,
    pub(super) agreed: Agreed,
    expires_at: Time,
}

impl Answered {
    /// Answers a commit that was checked.
    pub(super) fn new(
        commitment: &Commitment,
        commit: &Commit<'_>,
        pair: Pair,
        now: Time,
        limits: &Limits,
        crypto: &mut dyn Crypto,
    ) -> Result<Self, Why> {
        let (own, peer) = (commitment.public.clone(), commit.public());
        let keys = commitment.agree(&peer, pair, crypto).map_err(|_| Why::Invalid)?;
        // The station expects the identifier that it has sent.
        let body = commitment.to_bytes(None, commit.identifier);
        Ok(Self {
            commit: commit_message(pair, commitment.method, body),
            agreed: Agreed { own, peer, keys, doubts: Doubts::default() },
            expires_at: now + limits.answered_for,
        })
    }

    /// The frame.
    pub(super) fn message(&self) -> Message {
        self.commit.clone()
    }

    /// The same commit again has lost its answer on the way.
    pub(super) fn on_commit(&mut self, commit: &Commit<'_>, limits: &Limits) -> Result<Message, Why> {
        if !self.agreed.is_from(commit) {
            return Err(Why::Busy);
        }
        self.agreed.doubts.again(limits)?;
        Ok(self.message())
    }

    /// The station's confirm, which is verified, accepts it; it gets ours.
    pub(super) fn accept(
        self,
        received: u16,
        pair: Pair,
        now: Time,
        limits: &Limits,
        crypto: &mut dyn Crypto,
    ) -> (Accepted, Master, Message) {
        let Agreed { own, peer, keys, .. } = &self.agreed;
        let confirm = confirm_message(pair, &keys.kck, 1, own, peer, crypto);
        let (accepted, master) = Accepted::new(self.agreed, received, now, limits);
        (accepted, master, confirm)
    }
}

/// Commit and confirm are sent, the peer's confirm is awaited.
#[derive(Debug)]
pub(super) struct Confirmed {
    commit: Message,
    pub(super) agreed: Agreed,
    /// Sc of the standard.
    send_confirm: u16,
    /// After this time an unanswered confirm is sent again.
    period: Duration,
    resend_at: Time,
    /// How many commits of the peer may still come that answer ours, which was sent more than once.
    answers_due: u8,
}

impl Confirmed {
    /// The next confirm.
    fn confirm(&mut self, pair: Pair, crypto: &mut dyn Crypto) -> Message {
        self.send_confirm = self.send_confirm.saturating_add(1);
        let Agreed { own, peer, keys, .. } = &self.agreed;
        confirm_message(pair, &keys.kck, self.send_confirm, own, peer, crypto)
    }

    // 802.11-2020 §12.4.8.6.4: a commit of the same group in Confirmed is answered with ours and another confirm. Those that answer
    // ours once more say nothing new, and are not: a slow access point may have accepted us meanwhile, and takes our commit for
    // that of somebody who begins anew. If it lacks our confirm, the timer sends another.
    pub(super) fn on_commit(
        &mut self,
        commit: &Commit<'_>,
        pair: Pair,
        now: Time,
        limits: &Limits,
        crypto: &mut dyn Crypto,
    ) -> Result<[Message; 2], Why> {
        if !self.agreed.is_from(commit) {
            return Err(Why::Busy);
        }
        if self.answers_due > 0 {
            self.answers_due -= 1;
            return Err(Why::Repeated);
        }
        Ok([self.commit.clone(), self.again(pair, now, limits, crypto)?])
    }

    /// Nothing was heard: the confirm once more, with a new count.
    pub(super) fn again(
        &mut self,
        pair: Pair,
        now: Time,
        limits: &Limits,
        crypto: &mut dyn Crypto,
    ) -> Result<Message, Why> {
        self.agreed.doubts.again(limits)?;
        self.resend_at = now + self.agreed.doubts.patience(self.period);
        Ok(self.confirm(pair, crypto))
    }

    /// The peer's confirm, which is verified, accepts it.
    pub(super) fn accept(self, received: u16, now: Time, limits: &Limits) -> (Accepted, Master) {
        Accepted::new(self.agreed, received, now, limits)
    }
}

/// Both have proved that they know the password; kept to answer confirms again and to know replays.
#[derive(Debug)]
pub(super) struct Accepted {
    own: Public,
    peer: Public,
    kck: Kck,
    doubts: Doubts,
    /// Rc of the standard.
    received: u16,
    pub(super) expires_at: Time,
}

impl Accepted {
    fn new(agreed: Agreed, received: u16, now: Time, limits: &Limits) -> (Self, Master) {
        let Agreed { own, peer, keys: Keys { kck, master }, .. } = agreed;
        let (doubts, expires_at) = (Doubts::default(), now + limits.accepted_for);
        (Self { own, peer, kck, doubts, received, expires_at }, master)
    }

    /// Whether this commit was the one that led here.
    pub(super) fn knows(&self, commit: &Commit<'_>) -> bool {
        *self.peer.scalar == *commit.scalar
    }

    // 802.11-2020 §12.4.8.6.5: a confirm in Accepted is answered if its count is above the last one and is not the last
    // possible; the answer has the last possible count, so that it is not answered in turn.
    pub(super) fn on_confirm(
        &mut self,
        body: &[u8],
        pair: Pair,
        limits: &Limits,
        crypto: &mut dyn Crypto,
    ) -> Result<Message, Why> {
        let confirm = Confirm::read(self.kck.confirm_len(), body)?;
        if confirm.send_confirm <= self.received || confirm.send_confirm == LAST_CONFIRM {
            return Err(Why::Replayed);
        }
        let received = verify(&self.kck, &self.own, &self.peer, body, crypto)?;
        self.doubts.again(limits)?;
        self.received = received;
        Ok(confirm_message(pair, &self.kck, LAST_CONFIRM, &self.own, &self.peer, crypto))
    }
}

/// The count of a confirm of the peer's that proves what it should.
fn verify(kck: &Kck, own: &Public, peer: &Public, body: &[u8], crypto: &mut dyn Crypto) -> Result<u16, Why> {
    let confirm = Confirm::read(kck.confirm_len(), body)?;
    let expected = kck.confirm(confirm.send_confirm, peer, own, crypto);
    if expected.matches(confirm.confirm) { Ok(confirm.send_confirm) } else { Err(Why::Confirm) }
}

fn confirm_message(
    pair: Pair,
    kck: &Kck,
    send_confirm: u16,
    own: &Public,
    peer: &Public,
    crypto: &mut dyn Crypto,
) -> Message {
    let confirm = kck.confirm(send_confirm, own, peer, crypto);
    let body = Confirm { send_confirm, confirm: &confirm }.to_bytes();
    Message { peer: pair.peer, transaction: Transaction::Confirm, status: StatusCode::SUCCESS, body }
}

fn commit_message(pair: Pair, method: Method, body: Vec<u8>) -> Message {
    Message { peer: pair.peer, transaction: Transaction::Commit, status: status_of(method), body }
}

/// The status of a commit says by which method it was made.
const fn status_of(method: Method) -> StatusCode {
    match method {
        Method::HuntingAndPecking => StatusCode::SUCCESS,
        Method::HashToElement => StatusCode::SAE_HASH_TO_ELEMENT,
    }
}

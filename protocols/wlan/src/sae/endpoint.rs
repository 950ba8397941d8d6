//! All instances of one interface: to which instance a frame belongs, and what strangers may cause. Read §12.4.8.5 first.

use std::collections::{BTreeMap, VecDeque};

use keytoll_crypto_api::algorithm::Curve;
use keytoll_crypto_api::{Crypto, Rng};
use keytoll_engine::Time;
use keytoll_engine::{Ctx, Deadline};
use keytoll_net::wire::Reader;

use super::config::Config;
use super::exchange::{Commitment, Master};
use super::group::{self, Method};
use super::instance::{Accepted, Answered, Committed, Open};
use super::output::{Failure, Message, Output, Refused, Transaction, Why};
use super::password::{Pair, Password};
use super::token::Tokens;
use super::wire::{Commit, CommitError, TokenRequest, read_group};
use crate::MacAddr;
use crate::frame::StatusCode;
use crate::sae::phase;

/// SAE on one interface.
#[derive(Debug)]
pub struct Sae {
    config: Config,
    rng: Rng,
    tokens: Tokens,
    open: BTreeMap<MacAddr, Open>,
    accepted: BTreeMap<MacAddr, Accepted>,
    /// The accepted in the order in which they expire, those that were replaced since among them.
    expiring: VecDeque<(Time, MacAddr)>,
}

/// What an input gives.
type Outputs = Result<Vec<Output>, Refused>;

impl Sae {
    /// Without any instance.
    pub fn new(config: Config, mut rng: Rng) -> Self {
        let tokens = Tokens::new(config.limits.token_secret_for, &mut rng);
        let (open, accepted, expiring) = (BTreeMap::new(), BTreeMap::new(), VecDeque::new());
        Self { config, rng, tokens, open, accepted, expiring }
    }

    /// Begins with a peer, in place of whatever was open with it.
    ///
    /// # Errors
    /// The method is not configured, or there is no password for it and the preferred group.
    pub fn begin(&mut self, peer: MacAddr, method: Method, cx: &mut Ctx<'_>) -> Outputs {
        cx.crypto.enter(phase::COMMIT);
        if !self.config.methods.contains(&method) {
            return Err(Why::Method.into());
        }
        let group = *self.config.groups.first().ok_or(Why::Group(0))?;
        let sent = self.commit_to(peer, method, group, &[], cx)?;
        Ok(vec![Output::Send(sent)])
    }

    /// Forgets a peer, as when it has left.
    pub fn forget(&mut self, peer: MacAddr) {
        self.open.remove(&peer);
        self.accepted.remove(&peer);
    }

    /// How many instances are open.
    pub fn open_count(&self) -> usize {
        self.open.len()
    }

    /// How many accepted peers are remembered.
    pub fn accepted_count(&self) -> usize {
        self.accepted.len()
    }

    /// Takes a frame with transaction sequence number 1, from its group on.
    ///
    /// # Errors
    /// It is discarded, perhaps with an answer that refuses it.
    pub fn on_commit(&mut self, peer: MacAddr, status: StatusCode, body: &[u8], cx: &mut Ctx<'_>) -> Outputs {
        cx.crypto.enter(phase::COMMIT);
        match status {
            StatusCode::SUCCESS => self.on_commit_of(Method::HuntingAndPecking, peer, body, cx),
            StatusCode::SAE_HASH_TO_ELEMENT => self.on_commit_of(Method::HashToElement, peer, body, cx),
            StatusCode::ANTI_CLOGGING_TOKEN_REQUIRED => self.on_token_request(peer, body, cx.now),
            StatusCode::UNSUPPORTED_FINITE_CYCLIC_GROUP => self.on_group_refused(peer, body, cx),
            status => self.on_refusal(peer, status),
        }
    }

    /// Takes a frame with transaction sequence number 2, from its send-confirm on.
    ///
    /// # Errors
    /// It is discarded.
    pub fn on_confirm(
        &mut self,
        peer: MacAddr,
        status: StatusCode,
        body: &[u8],
        cx: &mut Ctx<'_>,
    ) -> Outputs {
        cx.crypto.enter(phase::CONFIRM);
        if status != StatusCode::SUCCESS {
            return self.on_refusal(peer, status);
        }
        match self.on_open_confirm(peer, body, cx) {
            // A confirm of the accepted instance may come late, when the peer has already begun again.
            Err(why) if self.accepted.contains_key(&peer) => self.on_late_confirm(peer, body, why, cx),
            result => Ok(result?),
        }
    }

    /// Sends again what was not answered, and ends what has waited long enough.
    pub fn tick(&mut self, cx: &mut Ctx<'_>) -> Vec<Output> {
        self.expire_accepted(cx.now);
        let due: Vec<MacAddr> =
            self.open.iter().filter(|(_, open)| open.due_at() <= cx.now).map(|(&peer, _)| peer).collect();
        due.into_iter().filter_map(|peer| self.on_timeout(peer, cx)).collect()
    }

    /// When it wants a tick.
    pub fn deadline(&self) -> Option<Deadline> {
        let open = self.open.values().map(Open::due_at).min();
        let open = open.map(|at| Deadline { at, why: "sae retransmit" });
        let accepted = self.expiring.front().map(|&(at, _)| Deadline { at, why: "sae accepted" });
        Deadline::earlier(open, accepted)
    }

    fn on_timeout(&mut self, peer: MacAddr, cx: &mut Ctx<'_>) -> Option<Output> {
        let (pair, limits) = (self.pair(peer), self.config.limits);
        let open = self.open.get_mut(&peer)?;
        cx.crypto.enter(phase::CONFIRM);
        if let Some(again) = open.on_timeout(pair, cx.now, &limits, cx.crypto) {
            return Some(Output::Send(again));
        }
        let why = open.failure();
        self.open.remove(&peer);
        Some(Output::Failed { peer, why })
    }

    fn expire_accepted(&mut self, now: Time) {
        while let Some(&(at, peer)) = self.expiring.front().filter(|&&(at, _)| at <= now) {
            self.expiring.pop_front();
            if self.accepted.get(&peer).is_some_and(|accepted| accepted.expires_at <= at) {
                self.accepted.remove(&peer);
            }
        }
    }

    fn on_commit_of(&mut self, method: Method, peer: MacAddr, body: &[u8], cx: &mut Ctx<'_>) -> Outputs {
        let commit = match Commit::read(method, body) {
            Ok(commit) if self.config.groups.contains(&commit.curve) => commit,
            Ok(commit) => return Err(self.refuse_group(peer, group::number(commit.curve))),
            Err(CommitError::Group(group)) => return Err(self.refuse_group(peer, group)),
            Err(error) => return Err(Why::from(error).into()),
        };
        let (pair, limits) = (self.pair(peer), self.config.limits);
        match self.open.get_mut(&peer) {
            None => self.answer(method, &commit, peer, cx),
            Some(Open::Answered(wait)) => Ok(vec![Output::Send(wait.on_commit(&commit, &limits)?)]),
            Some(Open::Confirmed(wait)) => {
                let both = wait.on_commit(&commit, pair, cx.now, &limits, cx.crypto)?;
                Ok(both.map(Output::Send).into())
            }
            Some(Open::Committed(wait)) if wait.commitment.method != method => Err(Why::Method.into()),
            Some(Open::Committed(wait)) if wait.commitment.curve != commit.curve => {
                self.on_other_group(method, &commit, peer, cx)
            }
            Some(Open::Committed(wait)) => {
                let (confirmed, confirm) = wait.on_commit(&commit, pair, cx.now, &limits, cx.crypto)?;
                self.open.insert(peer, Open::Confirmed(confirmed));
                Ok(vec![Output::Send(confirm)])
            }
        }
    }

    // 802.11-2020 §12.4.8.6.3: if both have begun with different groups, that of the numerically greater address is used.
    fn on_other_group(
        &mut self,
        method: Method,
        commit: &Commit<'_>,
        peer: MacAddr,
        cx: &mut Ctx<'_>,
    ) -> Outputs {
        let (pair, limits) = (self.pair(peer), self.config.limits);
        let Some(Open::Committed(wait)) = self.open.get_mut(&peer) else { return Err(Why::Busy.into()) };
        if !self.config.answers {
            return Err(Why::Group(group::number(commit.curve)).into());
        }
        if pair.is_higher() {
            return Ok(vec![Output::Send(wait.again(pair, cx.now, &limits)?)]);
        }
        commit.check(cx.crypto).map_err(|_| Why::Invalid)?;
        let ours = self.commit_to(peer, method, commit.curve, &[], cx)?;
        let mut outputs = vec![Output::Send(ours)];
        outputs.extend(self.on_commit_again(commit, peer, cx)?);
        Ok(outputs)
    }

    fn on_commit_again(&mut self, commit: &Commit<'_>, peer: MacAddr, cx: &mut Ctx<'_>) -> Outputs {
        let (pair, limits) = (self.pair(peer), self.config.limits);
        let Some(Open::Committed(wait)) = self.open.get(&peer) else { return Err(Why::Unexpected.into()) };
        let (confirmed, confirm) = wait.on_commit(commit, pair, cx.now, &limits, cx.crypto)?;
        self.open.insert(peer, Open::Confirmed(confirmed));
        Ok(vec![Output::Send(confirm)])
    }

    /// A commit of a station with which nothing is open. What costs little comes first.
    fn answer(&mut self, method: Method, commit: &Commit<'_>, peer: MacAddr, cx: &mut Ctx<'_>) -> Outputs {
        self.admit(method, commit, peer)?;
        if let Some(request) = self.ask_for_token(method, commit, peer, cx)? {
            return Ok(vec![Output::Send(request)]);
        }
        commit.check(cx.crypto).map_err(|_| Why::Invalid)?;
        let (pair, Self { config, rng, .. }) = (self.pair(peer), &mut *self);
        let password = config.password(commit.identifier).ok_or_else(|| {
            let reply = Some(refusal(peer, StatusCode::UNKNOWN_PASSWORD_IDENTIFIER, Vec::new()));
            Refused { why: Why::Identifier, reply }
        })?;
        let element = password.element(method, commit.curve, pair, rng, cx.crypto).ok_or(Why::Method)?;
        let ours = Commitment::draw(method, commit.curve, &element, &[], rng, cx.crypto);
        let answered = Answered::new(&ours, commit, pair, cx.now, &config.limits, cx.crypto)?;
        let sent = answered.message();
        self.open.insert(peer, Open::Answered(answered));
        Ok(vec![Output::Send(sent)])
    }

    /// What can be said of a commit without computing.
    fn admit(&self, method: Method, commit: &Commit<'_>, peer: MacAddr) -> Result<(), Refused> {
        let refused = |why| Err(Refused { why, reply: Some(refusal(peer, StatusCode::REFUSED, Vec::new())) });
        if !self.config.answers {
            return Err(Why::Unexpected.into());
        }
        if !self.config.methods.contains(&method) {
            return refused(Why::Method);
        }
        if self.accepted.get(&peer).is_some_and(|accepted| accepted.knows(commit)) {
            return Err(Why::Replayed.into());
        }
        // 802.11-2020 §12.4.7.4: a group that is reported as rejected and is not would be a downgrade.
        let ours = |number| group::numbered(number).is_some_and(|curve| self.config.groups.contains(&curve));
        if commit.rejected().any(ours) {
            return refused(Why::Downgraded);
        }
        if self.open.len() >= self.config.limits.open_max {
            return Err(Why::Full.into());
        }
        Ok(())
    }

    // 802.11-2020 §12.4.6: above the threshold a commit without a token is answered with one and forgotten.
    fn ask_for_token(
        &mut self,
        method: Method,
        commit: &Commit<'_>,
        peer: MacAddr,
        cx: &mut Ctx<'_>,
    ) -> Result<Option<Message>, Why> {
        if self.open.len() < self.config.limits.anti_clogging_threshold {
            return Ok(None);
        }
        let Self { tokens, rng, .. } = self;
        match commit.token {
            Some(token) if tokens.are(token, peer, cx.now, rng, cx.crypto) => Ok(None),
            Some(_) => Err(Why::Token),
            None => {
                let token = tokens.give(peer, cx.now, rng, cx.crypto);
                let group = group::number(commit.curve);
                let body = TokenRequest { group, token: &token }.to_bytes(method);
                Ok(Some(refusal(peer, StatusCode::ANTI_CLOGGING_TOKEN_REQUIRED, body)))
            }
        }
    }

    /// Nobody is asked for a group that we do not have; stations that answer nobody stay silent.
    fn refuse_group(&self, peer: MacAddr, group: u16) -> Refused {
        let body = group.to_le_bytes().to_vec();
        let reply = refusal(peer, StatusCode::UNSUPPORTED_FINITE_CYCLIC_GROUP, body);
        let reply = Some(reply).filter(|_| self.config.answers && !self.open.contains_key(&peer));
        Refused { why: Why::Group(group), reply }
    }

    fn on_token_request(&mut self, peer: MacAddr, body: &[u8], now: Time) -> Outputs {
        let (pair, limits) = (self.pair(peer), self.config.limits);
        let wait = self.committed(peer)?;
        let request = TokenRequest::read(wait.commitment.method, body)?;
        if request.group != group::number(wait.commitment.curve) {
            return Err(Why::Group(request.group).into());
        }
        Ok(vec![Output::Send(wait.on_token(request.token, pair, now, &limits)?)])
    }

    // 802.11-2020 §12.4.8.6.3: another group is tried; with hash-to-element the commit says which ones were refused.
    fn on_group_refused(&mut self, peer: MacAddr, body: &[u8], cx: &mut Ctx<'_>) -> Outputs {
        let refused = read_group(&mut Reader::new(body))?;
        let Committed { commitment, .. } = self.committed(peer)?;
        if refused != group::number(commitment.curve) {
            return Err(Why::Group(refused).into());
        }
        let (method, curve) = (commitment.method, commitment.curve);
        let rejected = [&commitment.public.rejected_groups[..], &refused.to_le_bytes()].concat();
        let mut after = self.config.groups.iter().copied().skip_while(|&group| group != curve).skip(1);
        let Some(next) = after.next() else {
            self.open.remove(&peer);
            return Ok(vec![Output::Failed { peer, why: Failure::NoGroup }]);
        };
        let rejected = if method == Method::HashToElement { rejected } else { Vec::new() };
        Ok(vec![Output::Send(self.commit_to(peer, method, next, &rejected, cx)?)])
    }

    fn on_refusal(&mut self, peer: MacAddr, status: StatusCode) -> Outputs {
        if let Some(open) = self.open.get_mut(&peer) {
            open.on_refusal(status);
        }
        Err(Why::Status(status).into())
    }

    fn on_open_confirm(&mut self, peer: MacAddr, body: &[u8], cx: &mut Ctx<'_>) -> Result<Vec<Output>, Why> {
        let (pair, limits) = (self.pair(peer), self.config.limits);
        let received = match self.open.get_mut(&peer).ok_or(Why::Unexpected)? {
            // 802.11-2020 §12.4.8.6.3: a confirm that overtook its commit is answered with ours again.
            Open::Committed(wait) => return Ok(vec![Output::Send(wait.again(pair, cx.now, &limits)?)]),
            Open::Answered(wait) => wait.agreed.verify(body, cx.crypto)?,
            Open::Confirmed(wait) => wait.agreed.verify(body, cx.crypto)?,
        };
        Ok(match self.open.remove(&peer).expect("it was just found") {
            Open::Answered(wait) => {
                let (accepted, master, confirm) = wait.accept(received, pair, cx.now, &limits, cx.crypto);
                vec![Output::Send(confirm), self.accept(peer, accepted, master)]
            }
            Open::Confirmed(wait) => {
                let (accepted, master) = wait.accept(received, cx.now, &limits);
                vec![self.accept(peer, accepted, master)]
            }
            Open::Committed(_) => Vec::new(),
        })
    }

    fn on_late_confirm(&mut self, peer: MacAddr, body: &[u8], why: Why, cx: &mut Ctx<'_>) -> Outputs {
        let (pair, limits) = (self.pair(peer), self.config.limits);
        let accepted = self.accepted.get_mut(&peer).ok_or(why)?;
        Ok(vec![Output::Send(accepted.on_confirm(body, pair, &limits, cx.crypto)?)])
    }

    fn accept(&mut self, peer: MacAddr, accepted: Accepted, master: Master) -> Output {
        if self.accepted.len() >= self.config.limits.accepted_max {
            self.drop_oldest();
        }
        self.expiring.push_back((accepted.expires_at, peer));
        self.accepted.insert(peer, accepted);
        let Master { pmk, pmkid } = master;
        Output::Accepted { peer, pmk, pmkid }
    }

    /// Makes room for one accepted peer.
    fn drop_oldest(&mut self) {
        while let Some((at, peer)) = self.expiring.pop_front() {
            if self.accepted.get(&peer).is_some_and(|accepted| accepted.expires_at == at) {
                self.accepted.remove(&peer);
                return;
            }
        }
    }

    /// Opens an instance of ours, in place of whatever was open.
    fn commit_to(
        &mut self,
        peer: MacAddr,
        method: Method,
        curve: Curve,
        rejected_groups: &[u8],
        cx: &mut Ctx<'_>,
    ) -> Result<Message, Why> {
        let pair = self.pair(peer);
        let of = |password: &Password, rng: &mut Rng, crypto: &mut dyn Crypto| {
            let element = password.element(method, curve, pair, rng, crypto)?;
            Some((element, password.identifier().map(<[u8]>::to_vec)))
        };
        let Self { config, rng, .. } = self;
        let mut usable = config.passwords.iter().filter_map(|password| of(password, rng, cx.crypto));
        let (element, identifier) = usable.next().ok_or(Why::Identifier)?;
        drop(usable);
        let commitment = Commitment::draw(method, curve, &element, rejected_groups, rng, cx.crypto);
        let committed = Committed::new(commitment, identifier, cx.now, &config.limits);
        let sent = committed.message(pair);
        self.open.insert(peer, Open::Committed(committed));
        Ok(sent)
    }

    fn committed(&mut self, peer: MacAddr) -> Result<&mut Committed, Why> {
        match self.open.get_mut(&peer) {
            Some(Open::Committed(wait)) => Ok(wait),
            _ => Err(Why::Unexpected),
        }
    }

    const fn pair(&self, peer: MacAddr) -> Pair {
        Pair { own: self.config.address, peer }
    }
}

/// A frame that refuses a commit.
const fn refusal(peer: MacAddr, status: StatusCode, body: Vec<u8>) -> Message {
    Message { peer, transaction: Transaction::Commit, status, body }
}

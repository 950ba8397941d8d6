//! What one supplicant and one authenticator say to each other is one conversation (IEEE 802.1X-2020 §8), until EAP has
//! ended (RFC 3748 §4.2) and somebody begins anew. The handshakes that use its key belong to it.
//!
//! Only the content tells who is who. Both may speak to the group address, and cooked captures keep no receiver at all: then
//! what a station says belongs to the conversation that it is in, or that nobody else has joined so far.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash, Hasher};

use keytoll_engine::trace::Node;
use keytoll_family::{Book, Content, Dissected, Entry, Kind, Passed, Place};
use keytoll_net::Addr;

use super::data::Data;
use super::eap::{Code, Eap};
use super::eapol::{Body, Eapol, Handshake, Key};
use super::management::{Managed, Step};
use crate::frame::SequenceControl;

/// What is known of stations and access points.
#[derive(Debug, Default)]
pub(super) struct Dialogues {
    /// The latest conversation of a supplicant and an authenticator.
    pairs: BTreeMap<(Addr, Addr), usize>,
    /// The latest one of each station in each role.
    stations: BTreeMap<(Role, Addr), usize>,
    /// The latest one in which nobody has this role so far.
    lacking: BTreeMap<Role, usize>,
    dialogues: BTreeMap<usize, Dialogue>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Role {
    Supplicant,
    Authenticator,
}

impl Role {
    const fn other(self) -> Self {
        match self {
            Self::Supplicant => Self::Authenticator,
            Self::Authenticator => Self::Supplicant,
        }
    }

    const fn ends(self) -> (Node, Node) {
        match self {
            Self::Supplicant => (Node::Ue, Node::Gw),
            Self::Authenticator => (Node::Gw, Node::Ue),
        }
    }
}

/// What a conversation has come to so far.
#[derive(Debug, Default)]
struct Dialogue {
    members: BTreeMap<Role, Addr>,
    stage: Stage,
    /// The latest message of each sort.
    latest: BTreeMap<Sort, Latest>,
    /// The question of each role that has no answer.
    questions: BTreeMap<Role, Question>,
    /// The roles that have asked again since the last answer.
    asked_again: BTreeSet<Role>,
}

/// The latest message of a sort.
#[derive(Debug, Clone, Copy)]
struct Latest {
    digest: u64,
    /// The number of its latest frame, if it has one.
    sequence: Option<SequenceControl>,
    /// Where it passed first.
    place: Place,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
enum Stage {
    /// Nobody has proved anything.
    #[default]
    Begun,
    /// A method is under way.
    Method,
    /// EAP has ended, the handshake without EAP is done, or the supplicant has left.
    Over,
}

/// Messages of which a later one is new unless it is the same as the latest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Sort {
    Start,
    Logoff,
    Request {
        identity: bool,
        identifier: u8,
    },
    Response {
        identity: bool,
        identifier: u8,
    },
    Success,
    Failure,
    Handshake(Handshake),
    Key,
    /// A management frame.
    Managed(Step, Role),
    Unreadable,
}

#[derive(Debug)]
struct Question {
    asked: Sort,
    places: Vec<Place>,
}

impl Sort {
    /// RFC 3748 §4.1: a packet is a repeated one if it is the same as the latest.
    const fn slot(self) -> Self {
        match self {
            Self::Request { .. } => Self::Request { identity: false, identifier: 0 },
            Self::Response { .. } => Self::Response { identity: false, identifier: 0 },
            other => other,
        }
    }

    const fn asks(self) -> bool {
        match self {
            Self::Start | Self::Request { .. } | Self::Response { .. } => true,
            Self::Handshake(handshake) => handshake.asks(),
            Self::Managed(Step::Authentication { .. } | Step::Association, Role::Supplicant) => true,
            _ => false,
        }
    }

    /// The kind of a conversation that begins with it.
    const fn kind(self) -> Kind {
        match self {
            Self::Unreadable => Kind::UNREADABLE,
            // Somebody who only leaves is not authenticated.
            Self::Managed(Step::Farewell | Step::Other, _) => Kind::of("wlan", "802.11").without_end(),
            Self::Managed(..) => Kind::of("wlan", "802.11"),
            _ => Kind::of("eapol", "EAPOL"),
        }
    }

    /// Whether it is what was asked for.
    fn answers(self, asked: Self) -> bool {
        match (self, asked) {
            (Self::Request { .. } | Self::Success | Self::Failure, Self::Start | Self::Response { .. }) => {
                true
            }
            // RFC 3748 §4.1: the identifier of a response is that of the request.
            (Self::Response { identifier, .. }, Self::Request { identifier: of, .. }) => identifier == of,
            (Self::Handshake(this), Self::Handshake(before)) => this.answers() == Some(before),
            (Self::Managed(this, role), Self::Managed(before, asked_by)) => {
                role != asked_by && this.answers(before)
            }
            _ => false,
        }
    }
}

/// Who says what.
struct Said {
    role: Role,
    sort: Sort,
    digest: u64,
    /// Whether it refuses what was asked for, or ends what there was.
    refuses: bool,
    /// Whether the frame says itself that it is sent again.
    is_retry: bool,
    /// The number of the frame, if it is one of management.
    sequence: Option<SequenceControl>,
}

impl Dialogues {
    /// Files a PDU.
    pub(super) fn file(&mut self, passed: &Passed, mut dissected: Dissected, book: &mut Book) {
        if let Some(data) = dissected.content.of::<Data>() {
            return self.file_data(passed, data.from_access_point, data.name(), dissected, book);
        }
        let said = self.said(passed, &*dissected.content);
        let Some(conversation) = self.conversation(passed, &said, book) else { return };
        let repeats = self.dialogues.get(&conversation).and_then(|dialogue| dialogue.original(&said));
        if let Some(sent) = &mut dissected.sent {
            sent.retransmission = repeats.is_some();
        }
        let eap = eap_of(&*dissected.content);
        let place = book.push(conversation, Entry::new(passed, dissected, said.role.ends()));
        let frame = repeats.map(|original| book.entry(original).frame);
        book.entry_mut(place).repeats = frame;
        book.put_carried(place, eap.as_deref(), frame);
        if let (Some(eap), Role::Supplicant) = (&eap, said.role) {
            book.pass_carried(eap, conversation);
        }
        match repeats {
            Some(original) => self.ask_again(&said, original, place, book),
            None => self.take_turn(&said, place, book),
        }
    }

    /// Files a frame of data with the latest conversation of its two sides; one to a group with the latest of its access point.
    fn file_data(
        &mut self,
        passed: &Passed,
        from_access_point: bool,
        name: &str,
        dissected: Dissected,
        book: &mut Book,
    ) {
        let role = if from_access_point { Role::Authenticator } else { Role::Supplicant };
        let (from, to) = (passed.datagram.from, passed.to().filter(|to| !is_group(*to)));
        let known = match (role, to) {
            (_, None) => self.stations.get(&(role, from)),
            (Role::Supplicant, Some(to)) => self.pairs.get(&(from, to)),
            (Role::Authenticator, Some(to)) => self.pairs.get(&(to, from)),
        };
        let begin = |book: &mut Book| book.begin(Kind::of("wlan", "802.11").without_end());
        let Some(conversation) = known.copied().or_else(|| begin(book)) else { return };
        self.join(conversation, role, from, to);
        book.push_traffic(conversation, Entry::new(passed, dissected, role.ends()), name);
    }

    fn said(&self, passed: &Passed, content: &dyn Content) -> Said {
        if let Some(managed) = content.of::<Managed>() {
            let role = if managed.from_access_point { Role::Authenticator } else { Role::Supplicant };
            let sort = Sort::Managed(managed.step, role);
            let digest = digest(passed, content);
            let (refuses, is_retry) = (managed.refusal.is_some(), managed.is_retry);
            return Said { role, sort, digest, refuses, is_retry, sequence: Some(managed.sequence) };
        }
        let (role, sort) = match content.of::<Eapol>().map(|eapol| &eapol.body) {
            Some(Body::Eap(eap)) => (None, sort_of(eap)),
            Some(Body::Start) => (Some(Role::Supplicant), Sort::Start),
            Some(Body::Logoff) => (Some(Role::Supplicant), Sort::Logoff),
            Some(Body::Key(key)) => (Some(role_of(key)), key.handshake.map_or(Sort::Key, Sort::Handshake)),
            None => (None, Sort::Unreadable),
        };
        let role = role.unwrap_or_else(|| match sort {
            Sort::Request { .. } | Sort::Success | Sort::Failure => Role::Authenticator,
            Sort::Response { .. } => Role::Supplicant,
            _ if self.stations.contains_key(&(Role::Authenticator, passed.datagram.from)) => {
                Role::Authenticator
            }
            _ => Role::Supplicant,
        });
        let digest = digest(passed, content);
        Said { role, sort, digest, refuses: false, is_retry: false, sequence: None }
    }

    /// The conversation of a message: a known one that it may go on with, or a new one.
    fn conversation(&mut self, passed: &Passed, said: &Said, book: &mut Book) -> Option<usize> {
        let to = passed.to().filter(|to| !is_group(*to));
        let known = self.find(said, passed.datagram.from, to);
        let known = known.filter(|known| !self.dialogues[known].is_restarted_by(said));
        let conversation = match known {
            Some(known) => known,
            None => book.begin(said.sort.kind())?,
        };
        // What cannot be read tells nobody's role.
        if said.sort != Sort::Unreadable {
            self.join(conversation, said.role, passed.datagram.from, to);
        }
        Some(conversation)
    }

    /// A question that still waits, asked again.
    fn ask_again(&mut self, said: &Said, original: Place, place: Place, book: &mut Book) {
        let dialogue = self.dialogues.entry(place.0).or_default();
        dialogue.repeat(said);
        let question = dialogue.questions.get_mut(&said.role);
        if let Some(question) = question.filter(|question| question.places.first() == Some(&original)) {
            question.places.push(place);
            book.entry_mut(place).unanswered = true;
        }
    }

    /// What a message answers, and what it asks.
    fn take_turn(&mut self, said: &Said, place: Place, book: &mut Book) {
        let dialogue = self.dialogues.entry(place.0).or_default();
        dialogue.go_on(said, place);
        let answered =
            dialogue.waits_for(said).then(|| dialogue.questions.remove(&said.role.other())).flatten();
        if said.sort.asks() {
            dialogue.questions.insert(said.role, Question { asked: said.sort, places: vec![place] });
        }
        book.entry_mut(place).unanswered = said.sort.asks();
        match answered {
            Some(question) => book.answer(&question.places, place),
            None if matches!(said.sort, Sort::Response { .. }) => {
                let remark = "answers nothing that is in this capture".to_owned();
                book.entry_mut(place).remarks.push(remark);
            }
            None => {}
        }
    }
}

impl Dialogues {
    /// The conversation that a station goes on with: the one that waits for what it says, else the latest.
    fn find(&self, said: &Said, from: Addr, to: Option<Addr>) -> Option<usize> {
        let role = said.role;
        let own = self.stations.get(&(role, from)).copied();
        let lacking = self.lacking.get(&role).copied().filter(|it| self.may_join(*it, role, to));
        let candidates = match to {
            None => [own, lacking, None],
            Some(to) => {
                let pair = if role == Role::Supplicant { (from, to) } else { (to, from) };
                let pair = self.pairs.get(&pair).copied();
                // Whoever has spoken to the group only meets the other now.
                let own = own.filter(|own| !self.dialogues[own].members.contains_key(&role.other()));
                let met = self.stations.get(&(role.other(), to)).copied();
                [pair.max(own), lacking, met.filter(|it| self.may_join(*it, role, Some(to)))]
            }
        };
        let candidates = candidates.into_iter().flatten();
        let waits = candidates.clone().filter(|it| self.dialogues[it].waits_for(said)).max();
        waits.or_else(|| candidates.max())
    }

    /// Whether a conversation lacks somebody of this role, and whoever is in it is the one who is spoken to.
    fn may_join(&self, conversation: usize, role: Role, to: Option<Addr>) -> bool {
        let dialogue = &self.dialogues[&conversation];
        let other = dialogue.members.get(&role.other());
        let is_meant = to.is_none_or(|to| other.is_none_or(|other| *other == to));
        dialogue.stage != Stage::Over && !dialogue.members.contains_key(&role) && is_meant
    }

    /// Notes who takes part in a conversation.
    fn join(&mut self, conversation: usize, role: Role, from: Addr, to: Option<Addr>) {
        let dialogue = self.dialogues.entry(conversation).or_default();
        dialogue.members.entry(role).or_insert(from);
        if let Some(to) = to {
            dialogue.members.entry(role.other()).or_insert(to);
        }
        let member = |role| dialogue.members.get(&role).copied();
        let (supplicant, authenticator) = (member(Role::Supplicant), member(Role::Authenticator));
        for (role, member) in [(Role::Supplicant, supplicant), (Role::Authenticator, authenticator)] {
            match member {
                Some(station) => _ = self.stations.insert((role, station), conversation),
                None => _ = self.lacking.insert(role, conversation),
            }
        }
        if let Some(pair) = supplicant.zip(authenticator) {
            self.pairs.insert(pair, conversation);
        }
    }
}

impl Dialogue {
    /// Whether the other role has asked for it.
    fn waits_for(&self, said: &Said) -> bool {
        self.questions.get(&said.role.other()).is_some_and(|question| said.sort.answers(question.asked))
    }

    fn has_eap(&self) -> bool {
        let is_eap = |sort: &Sort| {
            matches!(sort, Sort::Request { .. } | Sort::Response { .. } | Sort::Success | Sort::Failure)
        };
        self.latest.keys().any(is_eap)
    }

    /// Whether it is about an association, in which a handshake renews keys.
    fn has_association(&self) -> bool {
        self.latest.keys().any(|sort| matches!(sort, Sort::Managed(Step::Association, _)))
    }

    /// Whether one of the two has left.
    fn has_farewell(&self) -> bool {
        self.latest.keys().any(|sort| matches!(sort, Sort::Managed(Step::Farewell, _)))
    }

    /// Where the message passed first that this one repeats.
    fn original(&self, said: &Said) -> Option<Place> {
        let latest = self.latest.get(&said.sort.slot())?;
        let is_same = latest.digest == said.digest && said.sort != Sort::Unreadable;
        let is_same = is_same && self.is_again(latest, said);
        let is_open = self.questions.get(&said.role).is_some_and(|question| question.asked == said.sort);
        // IEEE 802.11-2020 §12.7.7.2: each new group key is told in the same words.
        (is_same && (said.sort != Sort::Handshake(Handshake::Group(1)) || is_open)).then_some(latest.place)
    }

    // IEEE 802.11-2020 §9.2.4.4: a frame keeps its number when it is sent again. A station that repeats a question, or the answer to a repeated
    // question, makes another frame of the same message.
    /// Whether the same words are the same message, and not another one: two Disassociations are two.
    fn is_again(&self, latest: &Latest, said: &Said) -> bool {
        let is_same_frame = latest.sequence == said.sequence;
        is_same_frame || said.sort.asks() || self.asked_again.contains(&said.role.other())
    }

    /// Notes that a message was sent again.
    fn repeat(&mut self, said: &Said) {
        let latest = self.latest.get_mut(&said.sort.slot());
        let is_another_frame = latest.as_ref().is_some_and(|latest| latest.sequence != said.sequence);
        latest.into_iter().for_each(|latest| latest.sequence = said.sequence);
        if said.sort.asks() {
            self.asked_again.insert(said.role);
        } else if is_another_frame {
            self.asked_again.remove(&said.role.other());
        }
    }

    /// Whether a message begins another conversation.
    fn is_restarted_by(&self, said: &Said) -> bool {
        let is_latest = self.latest.get(&said.sort.slot()).is_some_and(|latest| latest.digest == said.digest);
        match said.sort {
            Sort::Start => self.stage > Stage::Begun,
            Sort::Request { identity: true, .. } => self.stage > Stage::Begun,
            Sort::Request { identity: false, .. } => self.stage == Stage::Over && !is_latest,
            // After EAP, handshakes are what it was for; without it each is an authentication.
            Sort::Handshake(Handshake::FourWay(1)) => {
                self.stage == Stage::Over && !self.has_eap() && !self.has_association() && !is_latest
            }
            // Of an association, and of what was left, nothing is sent again: it is the same request anew.
            Sort::Managed(Step::Authentication { sequence: 1 }, Role::Supplicant) => {
                self.has_association() || self.has_farewell() || (self.stage > Stage::Begun && !is_latest)
            }
            // After a Deauthentication or Disassociation a station may associate again without another authentication.
            Sort::Managed(Step::Association, Role::Supplicant) => {
                self.has_association() && self.has_farewell() && !said.is_retry
            }
            _ => false,
        }
    }

    fn go_on(&mut self, said: &Said, place: Place) {
        match said.sort {
            // A new handshake: its other messages are new, too.
            Sort::Handshake(Handshake::FourWay(1)) => {
                self.latest.retain(|sort, _| !matches!(sort, Sort::Handshake(Handshake::FourWay(_))));
            }
            Sort::Handshake(Handshake::Group(1)) => {
                self.latest.retain(|sort, _| !matches!(sort, Sort::Handshake(Handshake::Group(_))));
            }
            _ => {}
        }
        let latest = Latest { digest: said.digest, sequence: said.sequence, place };
        self.latest.insert(said.sort.slot(), latest);
        self.asked_again.remove(&said.role.other());
        let is_alone = !self.has_eap();
        self.stage = match said.sort {
            Sort::Success | Sort::Failure | Sort::Logoff => Stage::Over,
            Sort::Handshake(Handshake::FourWay(4)) if is_alone => Stage::Over,
            Sort::Managed(..) if said.refuses => Stage::Over,
            Sort::Response { identity: false, .. } => self.stage.max(Stage::Method),
            _ => self.stage,
        };
    }
}

fn role_of(key: &Key) -> Role {
    if key.from_authenticator { Role::Authenticator } else { Role::Supplicant }
}

fn eap_of(content: &dyn Content) -> Option<Vec<u8>> {
    match &content.of::<Eapol>()?.body {
        Body::Eap(eap) => Some(eap.clone()),
        _ => None,
    }
}

/// IEEE 802 §8.2.2: the first bit on the wire tells groups, such as 01:80:c2:00:00:03 of 802.1X, from stations.
const fn is_group(addr: Addr) -> bool {
    matches!(addr, Addr::Mac([first, ..]) if first & 1 != 0)
}

fn sort_of(eap: &[u8]) -> Sort {
    let Some(eap) = Eap::read(eap) else { return Sort::Unreadable };
    let (identity, identifier) = (eap.is_identity(), eap.identifier);
    match eap.code {
        Code::Request => Sort::Request { identity, identifier },
        Code::Response => Sort::Response { identity, identifier },
        Code::Success => Sort::Success,
        Code::Failure => Sort::Failure,
    }
}

/// What tells a message from others of its sort, and not from itself sent again. The version is of no matter.
fn digest(passed: &Passed, content: &dyn Content) -> u64 {
    let mut hasher = DefaultHasher::new();
    if let Some(managed) = content.of::<Managed>() {
        managed.body.hash(&mut hasher);
        return hasher.finish();
    }
    match content.of::<Eapol>().map(|eapol| &eapol.body) {
        Some(Body::Eap(eap)) => eap.hash(&mut hasher),
        Some(Body::Start | Body::Logoff) => {}
        Some(Body::Key(Key { handshake: Some(Handshake::Group(_)), .. })) => {}
        // IEEE 802.11-2020 §12.7.2: the replay counter of what is sent again is greater.
        Some(Body::Key(key)) => key.nonce.hash(&mut hasher),
        None => passed.datagram.bytes.hash(&mut hasher),
    }
    hasher.finish()
}

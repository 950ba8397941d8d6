//! Devices behind one RADIUS client, which is their access server: PAP, CHAP or EAP over RADIUS. RFC 2865 §2, RFC 3579 §2.

use std::collections::VecDeque;
use std::fmt;
use std::time::Duration;

use keytoll_crypto_api::{Rng, Secret, Seed};
use keytoll_eap::packet::{self, MethodType};
use keytoll_engine::map::FastMap;
use keytoll_engine::{Ctx, Deadline, Engine, Input, Output, Time};
use keytoll_net::Host;
use keytoll_radius::client::{
    Accept, Authenticate, Client, Command as Request, Config, ConversationId, Credential, Event as Answer,
    Reason, Streams,
};
use keytoll_radius::wire::{Attributes, State};

use super::{Call, Callers, Command, Credentials, DeviceIndex, Event, stream};
use crate::eap::{Carrier, Eap};
use crate::supplicant::{EapCredentials, Supplicant};

/// A device's name and its proof.
#[derive(Clone)]
pub enum User {
    /// A password that is sent, hidden by the secret of client and server.
    Pap(Vec<u8>, Secret),
    /// A password that is proved.
    Chap(Vec<u8>, Secret),
    /// EAP, whose identity is the name.
    Eap(EapCredentials),
}

/// The access server with its devices.
pub struct RadiusCallers {
    radius: Client,
    users: Credentials<User>,
    calls: FastMap<u64, Conversation>,
    /// The one whose first request is being made.
    beginning: Option<Call>,
    rng: Rng,
    out: VecDeque<Output<Event>>,
}

/// An authentication under way.
enum Conversation {
    /// The answer decides.
    Password,
    /// Packets to and fro, under this name.
    Eap(Box<Supplicant>, Vec<u8>),
}

/// A device that talks to nobody but the server: what RADIUS loses it repeats, and streams lose nothing, and nothing else authenticates the server.
// RFC 3579 §2.6.3: the client takes the server's word; a device that would refuse a method would be no load.
const CARRIER: Carrier = Carrier { is_reliable: true, proves_server: true };

/// The server has ended EAP without a word of EAP.
const NO_EAP: &str = "RADIUS Access-Accept without an EAP Success";
/// The server denies access, and says nothing of EAP.
const REJECT: &str = "RADIUS Access-Reject";
/// How long an identifier is waited for that an answer or the end of a wait may free at any time.
const BUSY: Duration = Duration::from_millis(50);
/// A device has nothing to say where it should.
const MUTE: &str = "EAP packet without an answer";

impl RadiusCallers {
    /// Devices with these credentials, whose access server speaks over datagrams or over streams; random streams are named
    /// `{name}/…`.
    pub fn new(
        (config, streams): (Config, Option<Streams>),
        users: Credentials<User>,
        seed: &Seed,
        name: &str,
    ) -> Self {
        let radius = Client::new(config, seed.stream(&format!("{name}/radius"))).taking_bare_answers();
        Self {
            radius: match streams {
                Some(streams) => radius.over_streams(streams),
                None => radius,
            },
            users,
            calls: FastMap::default(),
            beginning: None,
            rng: seed.stream(&format!("{name}/eap")),
            out: VecDeque::new(),
        }
    }

    fn begin(&mut self, call: Call, device: DeviceIndex, cx: &mut Ctx<'_>) {
        match (self.users)(device) {
            User::Pap(name, password) => self.begin_password(call, name, Credential::Password(password), cx),
            User::Chap(name, password) => self.begin_password(call, name, Credential::Chap(password), cx),
            User::Eap(credentials) => self.begin_eap(call, credentials, cx),
        }
    }

    fn begin_password(&mut self, call: Call, name: Vec<u8>, credential: Credential, cx: &mut Ctx<'_>) {
        self.calls.insert(call.0, Conversation::Password);
        self.ask(call, name, credential, None, cx);
    }

    // RFC 3579 §2.1: the access server asks for the identity itself, and begins with the answer.
    fn begin_eap(&mut self, call: Call, credentials: EapCredentials, cx: &mut Ctx<'_>) {
        let name = credentials.identity.now();
        let mut supplicant = Supplicant::new(credentials, CARRIER, stream(&mut self.rng));
        let question = packet::request(0, MethodType::IDENTITY, &[]);
        let answer = supplicant.step(&question, cx);
        self.calls.insert(call.0, Conversation::Eap(Box::new(supplicant), name));
        self.pass_on(call, answer, None, cx);
    }

    /// Passes a device's answer to the server.
    fn pass_on(&mut self, call: Call, answer: Option<Eap>, state: Option<State>, cx: &mut Ctx<'_>) {
        let Some(Conversation::Eap(supplicant, name)) = self.calls.get_mut(&call.0) else { return };
        match answer {
            Some(Eap::Packet(packet)) => {
                let name = name.clone();
                self.ask(call, name, Credential::Eap(packet), state, cx);
            }
            Some(Eap::Failure { .. }) => {
                let why = supplicant.failure().map_or(MUTE, |reason| reason.0);
                self.fail(call, why);
            }
            Some(Eap::Success { .. }) | None => self.fail(call, MUTE),
        }
    }

    fn ask(
        &mut self,
        call: Call,
        user_name: Vec<u8>,
        credential: Credential,
        state: Option<State>,
        cx: &mut Ctx<'_>,
    ) {
        let request = Authenticate {
            conversation: ConversationId(call.0),
            peer: station(call),
            user_name,
            credential,
            state,
            attributes: Attributes::default(),
        };
        self.radius.handle(Input::Command(Request::Authenticate(request)), cx);
    }

    fn fail(&mut self, call: Call, why: &'static str) {
        if self.calls.remove(&call.0).is_some() {
            self.out.push_back(Output::Event(Event::Failed(call, why)));
        }
    }

    /// A first request that found no identifier or no connection was not sent. A server that is never there is another matter.
    fn failed(&mut self, call: Call, why: Reason, now: Time) {
        let until = match why {
            Reason::Busy => Some(now + BUSY),
            Reason::Unconnected => self.radius.usable_at(),
            _ => None,
        };
        match until.filter(|_| self.beginning == Some(call)) {
            Some(until) if self.calls.remove(&call.0).is_some() => {
                self.out.push_back(Output::Event(Event::Refused(call, why.name(), until)));
            }
            _ => self.fail(call, why.name()),
        }
    }

    fn on_answer(&mut self, answer: Answer, cx: &mut Ctx<'_>) {
        match answer {
            Answer::Challenge { conversation, eap, state } => {
                self.challenged(Call(conversation.0), &eap, state, cx);
            }
            Answer::Accept(accept) => self.accepted(&accept, cx),
            Answer::Reject { conversation, eap } => {
                self.rejected(Call(conversation.0), eap.as_deref(), cx);
            }
            Answer::Failed(conversation, why) => self.failed(Call(conversation.0), why, cx.now),
            // Nothing is reported of how much was used.
            Answer::Accounted(_) | Answer::Unaccounted(..) => {}
        }
    }

    fn challenged(&mut self, call: Call, eap: &[u8], state: Option<State>, cx: &mut Ctx<'_>) {
        match self.calls.get_mut(&call.0) {
            Some(Conversation::Eap(supplicant, _)) => {
                let answer = supplicant.step(eap, cx);
                self.pass_on(call, answer, state, cx);
            }
            Some(Conversation::Password) => self.fail(call, MUTE),
            None => {}
        }
    }

    fn accepted(&mut self, accept: &Accept, cx: &mut Ctx<'_>) {
        let call = Call(accept.conversation.0);
        let verdict = match self.calls.get_mut(&call.0) {
            None => return,
            Some(Conversation::Password) => Ok(()),
            Some(Conversation::Eap(supplicant, _)) => success(supplicant, accept.eap.as_deref(), cx),
        };
        match verdict {
            Ok(()) => {
                self.calls.remove(&call.0);
                self.out.push_back(Output::Event(Event::Usable(call)));
            }
            Err(why) => self.fail(call, why),
        }
    }

    /// The device may know better than the server why it was rejected.
    fn rejected(&mut self, call: Call, eap: Option<&[u8]>, cx: &mut Ctx<'_>) {
        let why = match (self.calls.get_mut(&call.0), eap) {
            (Some(Conversation::Eap(supplicant, _)), Some(eap)) => {
                supplicant.step(eap, cx);
                supplicant.failure().map_or(REJECT, |reason| reason.0)
            }
            _ => REJECT,
        };
        self.fail(call, why);
    }

    /// RADIUS keeps no session: a device that is in has nothing to close.
    fn leave(&mut self, call: Call, cx: &mut Ctx<'_>) {
        if self.calls.remove(&call.0).is_some() {
            self.radius.handle(Input::Command(Request::Abandon(ConversationId(call.0))), cx);
        }
        self.out.push_back(Output::Event(Event::Ended(call, None)));
    }

    fn drain(&mut self, cx: &mut Ctx<'_>) {
        while let Some(output) = self.radius.poll() {
            match output.event() {
                Ok(answer) => self.on_answer(answer, cx),
                Err(output) => self.out.push_back(output),
            }
        }
    }
}

/// Whether the device accepts the server's Success.
fn success(supplicant: &mut Supplicant, eap: Option<&[u8]>, cx: &mut Ctx<'_>) -> Result<(), &'static str> {
    match eap.and_then(|eap| supplicant.step(eap, cx)) {
        Some(Eap::Success { .. }) => Ok(()),
        Some(Eap::Failure { .. }) => Err(supplicant.failure().map_or(NO_EAP, |reason| reason.0)),
        _ => Err(NO_EAP),
    }
}

/// Each call is a station of its own: no share of the identifiers limits one. The second lowest bit of the first octet makes the
/// address locally administered (IEEE 802-2014 §8.4.4).
fn station(call: Call) -> Host {
    let [_, _, a, b, c, d, e, f] = call.0.to_be_bytes();
    Host::Mac([a & !1 | 2, b, c, d, e, f])
}

impl Callers for RadiusCallers {
    fn sessions(&self) -> Option<&'static str> {
        None
    }
}

impl Engine for RadiusCallers {
    type Command = Command;
    type Event = Event;

    fn handle(&mut self, input: Input<'_, Command>, cx: &mut Ctx<'_>) {
        match input.command() {
            Ok(Command::Begin(call, device)) => {
                self.beginning = Some(call);
                self.begin(call, device, cx);
            }
            Ok(Command::Leave(call)) => self.leave(call, cx),
            Err(input) => self.radius.handle(input, cx),
        }
        self.drain(cx);
        self.beginning = None;
    }

    fn poll(&mut self) -> Option<Output<Event>> {
        self.out.pop_front()
    }

    fn deadline(&self) -> Option<Deadline> {
        self.radius.deadline()
    }
}

impl fmt::Debug for RadiusCallers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RadiusCallers").field("calls", &self.calls.len()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::net::{IpAddr, Ipv4Addr};

    use keytoll_crypto::Null;
    use keytoll_engine::trace::NoTrace;
    use keytoll_radius::client::{Retransmission, Server};

    use super::*;

    #[test]
    fn a_call_that_finds_no_identifier_was_not_sent() {
        let local = IpAddr::V4(Ipv4Addr::LOCALHOST);
        let config = Config {
            local,
            ports: vec![40_000],
            server: Server::new(local, Secret::from(&b"secret"[..])),
            nas_identifier: "nas".into(),
            retransmission: Retransmission::default(),
        };
        let user = |_| User::Pap(b"nemo".to_vec(), Secret::from(&b"mellon"[..]));
        let mut callers = RadiusCallers::new((config, None), Box::new(user), &Seed::from(1), "test");
        let mut cx = Ctx { now: Time::ZERO, crypto: &mut Null, trace: &mut NoTrace };
        for call in 0..257 {
            callers.handle(Input::Command(Command::Begin(Call(call), DeviceIndex(0))), &mut cx);
        }
        let outputs = std::iter::from_fn(|| callers.poll());
        let events: Vec<_> = outputs
            .filter_map(|output| if let Output::Event(event) = output { Some(event) } else { None })
            .collect();
        let refused = Event::Refused(Call(256), "RADIUS identifiers exhausted", Time::ZERO + BUSY);
        assert_eq!(events, [refused]);
    }
}

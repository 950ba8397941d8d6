//! The EAP authenticator in pass-through mode: forwards packets between the carrier of EAP and RADIUS, and trusts the AAA
//! server's decision. RFC 3748 §2.3, RFC 3579 §2, RFC 7296 §2.16.

use std::collections::BTreeMap;

use keytoll_crypto_api::Seed;
use keytoll_eap::EAP;
use keytoll_eap::packet::{self, MethodType, Packet};
use keytoll_engine::trace::Fact;
use keytoll_engine::{Ctx, Deadline, Engine, Input, Output};
use keytoll_net::{Addr, Host};
use keytoll_radius::RADIUS;
use keytoll_radius::client::{
    self, Accept, Account, Authenticate, Client, Command, ConversationId, Credential, Event,
};
use keytoll_radius::number::AttributeType;
use keytoll_radius::wire::{Attribute, Attributes, State};

use crate::accounting::Ledger;
use crate::eap::{Carrier, Conversation, Eap};

/// How an authenticator reaches the AAA server.
#[derive(Debug, Clone)]
pub struct AaaAccess {
    /// The RADIUS client.
    pub radius: client::Config,
    /// Whether it requests the EAP identity; otherwise it passes on the identity that the carrier knows, which saves a round
    /// trip (RFC 7296 §2.16).
    pub asks_identity: bool,
    /// Whether its requests contain the IP address of the peer (RFC 2865 §5.31), as they always do with an address of a LAN. An AAA
    /// server that limits the attempts for a user recognises the user's own devices by it.
    pub names_addresses: bool,
    /// Whether it reports the start and stop of sessions (RFC 2866).
    pub accounts: bool,
}

/// State of a peer under authentication.
#[derive(Debug)]
struct Session {
    /// The peer's address.
    peer: Host,
    /// The identity that it claims.
    user_name: Vec<u8>,
    state: Option<State>,
    /// Identifier of the last request sent to the peer.
    identifier: u8,
    /// Whether that request was our own Identity request.
    asked: bool,
}

/// The peers under authentication, each in a conversation that carries its EAP packets.
#[derive(Debug)]
pub struct Authenticator<C> {
    carrier: Carrier,
    asks_identity: bool,
    names_addresses: bool,
    /// In ascending order.
    ports: Vec<u16>,
    /// What every request says of the place where peers knock.
    place: Attributes,
    radius: Client,
    sessions: BTreeMap<C, Session>,
    ledger: Option<Ledger<C>>,
}

/// An action for the authenticator's owner.
#[derive(Debug)]
pub enum Wanted<C> {
    /// Pass this to the carrier.
    Tell(C, Eap),
    /// An output of the RADIUS client.
    Pass(Output<crate::Event>),
}

impl<C: Conversation> Authenticator<C> {
    /// Nobody is under authentication yet; its random stream is named `{name}/radius`.
    pub fn new(access: AaaAccess, carrier: Carrier, seed: &Seed, name: &str) -> Self {
        let mut ports = access.radius.ports.clone();
        ports.sort_unstable();
        Self {
            carrier,
            asks_identity: access.asks_identity,
            names_addresses: access.names_addresses,
            ports,
            place: Attributes::new(),
            radius: Client::new(access.radius, seed.stream(&format!("{name}/radius"))),
            sessions: BTreeMap::new(),
            ledger: access.accounts.then(Ledger::new),
        }
    }

    /// The same, whose requests say this of the place where peers knock (RFC 3580 §3).
    #[must_use]
    pub fn at(self, place: Attributes) -> Self {
        Self { place, ..self }
    }

    /// Whether a datagram to this address is for the RADIUS client.
    pub fn owns(&self, to: Addr) -> bool {
        to.udp_port().is_some_and(|port| self.ports.binary_search(&port).is_ok())
    }

    /// How many peers are under authentication.
    pub fn session_count(&self) -> usize {
        self.sessions.len()
    }

    /// How many RADIUS requests have no answer yet.
    pub fn outstanding(&self) -> usize {
        self.radius.outstanding()
    }

    /// When the RADIUS client has something to do.
    pub fn deadline(&self) -> Option<Deadline> {
        self.radius.deadline()
    }

    /// Gives the RADIUS client what is for it: datagrams and ticks.
    pub fn handle(&mut self, input: Input<'_, Command>, cx: &mut Ctx<'_>) {
        self.radius.handle(input, cx);
    }

    /// Starts the authentication of a peer at this address; the carrier knows it by this identity.
    pub fn begin(&mut self, id: C, identity: &[u8], peer: Host, cx: &mut Ctx<'_>) -> Option<Wanted<C>> {
        let asked = self.asks_identity;
        let session = Session { peer, user_name: identity.to_vec(), state: None, identifier: 0, asked };
        self.sessions.insert(id, session);
        if asked {
            return Some(Wanted::Tell(id, Eap::Packet(packet::request(0, MethodType::IDENTITY, &[]))));
        }
        // RFC 3579 §2.1: the NAS may answer the Identity request itself if it knows the answer.
        self.ask(id, packet::response(0, MethodType::IDENTITY, identity), cx);
        None
    }

    // RFC 3579 §2.2: the NAS checks Code, Identifier and Length before it forwards a packet. Over a protected carrier that
    // does not retransmit, a wrong packet is the peer's own, so it ends the conversation instead of being discarded silently.
    /// The peer has answered.
    pub fn answered(&mut self, id: C, eap: Vec<u8>, cx: &mut Ctx<'_>) -> Option<Wanted<C>> {
        let session = self.sessions.get_mut(&id)?;
        if let Err(why) = session.take(&eap) {
            if !self.carrier.is_reliable {
                cx.discard(EAP, why);
                return None;
            }
            cx.trace.record(Fact::Failed { why: why.into() });
            return self.refuse(id, None);
        }
        self.ask(id, eap, cx);
        None
    }

    fn ask(&mut self, id: C, eap: Vec<u8>, cx: &mut Ctx<'_>) {
        let Some(session) = self.sessions.get_mut(&id) else { return };
        let request = Authenticate {
            conversation: ConversationId(id.number()),
            peer: session.peer,
            user_name: session.user_name.clone(),
            credential: Credential::Eap(eap),
            state: session.state.take(),
            attributes: with_calling_station(self.place.clone(), session.peer, self.names_addresses),
        };
        self.radius.handle(Input::Command(Command::Authenticate(request)), cx);
    }

    /// The peer is in.
    pub fn established(&mut self, id: C, cx: &mut Ctx<'_>) {
        let report = self.ledger.as_mut().and_then(|ledger| ledger.started(id, cx.now));
        self.report(report, cx);
    }

    /// The peer has left.
    pub fn closed(&mut self, id: C, cx: &mut Ctx<'_>) {
        let report = self.ledger.as_mut().and_then(|ledger| ledger.stopped(id, cx.now));
        self.report(report, cx);
    }

    /// The conversation has another name.
    pub fn rekeyed(&mut self, old: C, new: C) {
        if let Some(ledger) = &mut self.ledger {
            ledger.rekeyed(old, new);
        }
    }

    fn report(&mut self, report: Option<Account>, cx: &mut Ctx<'_>) {
        if let Some(mut account) = report {
            self.place.iter().for_each(|attribute| account.attributes.push(attribute));
            self.radius.handle(Input::Command(Command::Account(account)), cx);
        }
    }

    /// Drops the conversation and ends the session: the peer has left, or is not in.
    pub fn forget(&mut self, id: C, cx: &mut Ctx<'_>) {
        self.closed(id, cx);
        self.abandon(id, cx);
    }

    /// Drops the conversation alone: a peer that is in may prove itself again.
    pub fn abandon(&mut self, id: C, cx: &mut Ctx<'_>) {
        if self.sessions.remove(&id).is_some() {
            self.radius.handle(Input::Command(Command::Abandon(ConversationId(id.number()))), cx);
        }
    }

    /// The next thing to be done.
    pub fn poll(&mut self, cx: &mut Ctx<'_>) -> Option<Wanted<C>> {
        loop {
            match self.radius.poll()?.event() {
                Ok(event) => {
                    if let Some(wanted) = self.on_event(event, cx) {
                        return Some(wanted);
                    }
                }
                Err(output) => return Some(Wanted::Pass(output)),
            }
        }
    }

    fn on_event(&mut self, event: Event, cx: &mut Ctx<'_>) -> Option<Wanted<C>> {
        match event {
            Event::Challenge { conversation, eap, state } => {
                self.challenge(C::of_number(conversation.0), eap, state, cx)
            }
            Event::Accept(accept) => self.accept(accept),
            Event::Reject { conversation, eap } => self.refuse(C::of_number(conversation.0), eap),
            Event::Failed(conversation, reason) => {
                cx.trace.record(Fact::Failed { why: reason.name().into() });
                self.refuse(C::of_number(conversation.0), None)
            }
            Event::Accounted(_) => None,
            Event::Unaccounted(_, reason) => {
                let why = format!("accounting report lost: {}", reason.name()).into();
                cx.trace.record(Fact::Discarded { protocol: RADIUS, why });
                None
            }
        }
    }

    // RFC 3579 §2.2: a challenge carries a request, whose identifier the peer must repeat.
    fn challenge(
        &mut self,
        id: C,
        eap: Vec<u8>,
        state: Option<State>,
        cx: &mut Ctx<'_>,
    ) -> Option<Wanted<C>> {
        let Ok(Packet::Request(request)) = Packet::read(&eap) else {
            cx.trace.record(Fact::Failed { why: "RADIUS challenge without an EAP request".into() });
            return self.refuse(id, None);
        };
        let session = self.sessions.get_mut(&id)?;
        (session.state, session.identifier) = (state, request.identifier);
        Some(Wanted::Tell(id, Eap::Packet(eap)))
    }

    // RFC 7296 §2.16: the authenticated identity comes from the AAA server; RFC 2865 §5.1: as the User-Name of its
    // Access-Accept. The identity that the peer claimed is no substitute.
    fn accept(&mut self, accept: Accept) -> Option<Wanted<C>> {
        let id = C::of_number(accept.conversation.0);
        let session = self.sessions.remove(&id)?;
        if let Some(ledger) = &mut self.ledger {
            ledger.accepted(id, session.user_name, &accept.attributes);
        }
        let packet = accept.eap.unwrap_or_else(|| packet::success(session.identifier));
        let msk = accept.keys.map(|keys| keys.msk());
        let named = accept.attributes.get(AttributeType::USER_NAME).filter(|name| !name.is_empty());
        let identity = named.map(<[u8]>::to_vec);
        Some(Wanted::Tell(id, Eap::Success { packet, msk, identity }))
    }

    fn refuse(&mut self, id: C, eap: Option<Vec<u8>>) -> Option<Wanted<C>> {
        let session = self.sessions.remove(&id)?;
        // RFC 3579 §2.6.3: the code decides; a contradicting packet in an Access-Reject would only confuse the peer.
        let failure = eap.filter(|eap| matches!(Packet::read(eap), Ok(Packet::Failure(_))));
        let packet = failure.unwrap_or_else(|| packet::failure(session.identifier));
        Some(Wanted::Tell(id, Eap::Failure { packet }))
    }
}

/// Adds the address of the peer.
fn with_calling_station(mut place: Attributes, peer: Host, names_addresses: bool) -> Attributes {
    let station = match peer {
        // RFC 3580 §3.21: the address of a station in hexadecimal digits, with hyphens.
        Host::Mac(station) => Some(keytoll_net::hyphenated(station)),
        // Without the port, which a NAT changes.
        Host::Ip(address) => names_addresses.then(|| address.to_string()),
    };
    let attribute =
        station.as_ref().map(|station| Attribute::new(AttributeType::CALLING_STATION_ID, station.as_bytes()));
    place.extend(attribute.into_iter().flatten());
    place
}

impl Session {
    /// Accepts the peer's response to the last request.
    fn take(&mut self, eap: &[u8]) -> Result<(), &'static str> {
        let Ok(Packet::Response(response)) = Packet::read(eap) else {
            return Err("EAP packet that is no response");
        };
        if response.identifier != self.identifier {
            return Err("EAP unexpected identifier");
        }
        if self.asked {
            if response.kind != MethodType::IDENTITY {
                return Err("EAP response of another type than Identity");
            }
            self.user_name = response.data.to_vec();
            self.asked = false;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use keytoll_crypto::Null;
    use keytoll_crypto_api::Secret;
    use keytoll_engine::Time;
    use keytoll_engine::trace::NoTrace;

    use super::*;

    /// A port of an access point.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
    struct Port(u64);

    impl Conversation for Port {
        fn number(self) -> u64 {
            self.0
        }

        fn of_number(number: u64) -> Self {
            Self(number)
        }
    }

    fn authenticator(is_reliable: bool) -> Authenticator<Port> {
        let [local, server] = ["192.0.2.1:49152", "192.0.2.2:1812"].map(|at| {
            at.parse::<std::net::SocketAddr>().map(keytoll_net::Socket::from).expect("a literal address")
        });
        let server =
            client::Server { authentication: server, accounting: server, secret: Secret::from(&b"lab"[..]) };
        let radius = client::Config {
            local: local.ip,
            ports: vec![local.port],
            server,
            nas_identifier: "ap.lab".to_owned(),
            retransmission: client::Retransmission::default(),
        };
        let access = AaaAccess { radius, asks_identity: true, names_addresses: false, accounts: false };
        Authenticator::new(access, Carrier { is_reliable, proves_server: false }, &Seed::from(1), "ap")
    }

    /// The reaction to a response with the wrong identifier, and the number of RADIUS requests after a correct one.
    fn after_a_wrong_identifier(is_reliable: bool) -> (Option<Eap>, usize) {
        let mut ap = authenticator(is_reliable);
        let mut cx = Ctx { now: Time::ZERO, crypto: &mut Null, trace: &mut NoTrace };
        let port = Port(3);
        assert!(matches!(
            ap.begin(port, b"", Host::Mac([2, 0, 0, 0, 0, 3]), &mut cx),
            Some(Wanted::Tell(Port(3), Eap::Packet(_)))
        ));
        let identity = |identifier| packet::response(identifier, MethodType::IDENTITY, b"sta@lab");
        let told = match ap.answered(port, identity(9), &mut cx) {
            Some(Wanted::Tell(_, eap)) => Some(eap),
            _ => None,
        };
        ap.answered(port, identity(0), &mut cx);
        (told, ap.outstanding())
    }

    /// The attributes of the first request about this peer.
    fn said_of(peer: Host, names_addresses: bool) -> Attributes {
        let place = [Attribute::fixed(AttributeType::NAS_PORT_TYPE, &[0, 0, 0, 19])].into_iter().collect();
        let mut ap = Authenticator { names_addresses, ..authenticator(false).at(place) };
        let mut cx = Ctx { now: Time::ZERO, crypto: &mut Null, trace: &mut NoTrace };
        assert!(ap.begin(Port(3), &[], peer, &mut cx).is_some());
        let identity = packet::response(0, MethodType::IDENTITY, b"ue");
        assert!(ap.answered(Port(3), identity, &mut cx).is_none());
        let Some(Wanted::Pass(Output::Datagram(request))) = ap.poll(&mut cx) else { panic!("a request") };
        keytoll_radius::wire::Packet::read(&request.bytes).unwrap().attributes.iter().collect()
    }

    /// RFC 3580 §3: the server learns the place and the address of the peer.
    #[test]
    fn a_request_contains_the_place_and_the_address_of_the_peer() {
        let station = |peer, names_addresses| {
            let said = said_of(peer, names_addresses);
            assert_eq!(said.get_u32(AttributeType::NAS_PORT_TYPE), Some(19));
            said.get(AttributeType::CALLING_STATION_ID).map(<[u8]>::to_vec)
        };
        let (mac, ip) = (Host::Mac([2, 0, 0, 0, 0, 0xab]), Host::Ip([192, 0, 2, 7].into()));
        assert_eq!(station(mac, false), Some(b"02-00-00-00-00-AB".to_vec()));
        assert_eq!(station(ip, false), None);
        assert_eq!(station(ip, true), Some(b"192.0.2.7".to_vec()));
    }

    #[test]
    fn a_wrong_packet_ends_the_conversation_only_over_a_reliable_carrier() {
        let failure = Eap::Failure { packet: packet::failure(0) };
        assert_eq!(after_a_wrong_identifier(true), (Some(failure), 0));
        assert_eq!(after_a_wrong_identifier(false), (None, 1));
    }
}

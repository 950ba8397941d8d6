//! IKE of a host, whichever version its connections use: one endpoint of each. Messages are dispatched by the version in
//! their header (RFC 2408 §3.1, RFC 7296 §3.1), commands by the owner of the SA.

use std::net::IpAddr;
use std::sync::Arc;

use keytoll_crypto_api::{Rng, Seed};
use keytoll_engine::{Ctx, Deadline, Engine, Input, Output, Time};
use keytoll_net::Socket;

use crate::config::{Config, Connection};
use crate::event::{Command, Event, Reason, SaId};
use crate::spis::Spis;
use crate::{v1, v2};

/// An IKE endpoint of both versions.
#[derive(Debug)]
pub struct Endpoint {
    v2: v2::Endpoint,
    /// Present if a connection uses it; without it messages of IKEv1 are refused as those of an unknown version.
    v1: Option<Box<v1::Endpoint>>,
    /// Whether each connection uses IKEv1, by index.
    are_v1: Arc<[bool]>,
    /// The port on which four zero octets precede a message.
    marked_port: Option<u16>,
}

/// What follows from a configuration. Endpoints with the same one share it.
#[derive(Debug, Clone)]
pub struct Setup {
    config: Arc<Config>,
    v2: Arc<v2::Setup>,
    /// Whether each connection uses IKEv1, by index.
    are_v1: Arc<[bool]>,
}

impl Setup {
    /// What follows from this configuration.
    pub fn new(config: Config) -> Self {
        let are_v1 = config.connections.iter().map(|connection| !connection.version.is_v2()).collect();
        let v2 = Arc::new(v2::Setup::new(config));
        Self { config: v2.config(), v2, are_v1 }
    }

    /// The configuration.
    pub fn config(&self) -> &Config {
        &self.config
    }
}

/// What is kept of an endpoint at rest ([`Endpoint::stand`]).
#[derive(Debug)]
pub struct Standing(v2::Standing);

impl Standing {
    /// The SA in use.
    pub fn sa(&self) -> Option<SaId> {
        self.0.sa()
    }

    /// When it needs a tick.
    pub fn deadline(&self) -> Option<Deadline> {
        self.0.deadline()
    }

    /// Whether the SA in use needs a tick now, for which the endpoint must be made again.
    pub fn is_in_use_due(&self, now: Time) -> bool {
        self.0.is_in_use_due(now)
    }

    /// Forgets the closed SAs that have lingered for long enough; whether there were any. A tick would do no more, unless the SA in use
    /// needs it.
    pub fn forget(&mut self, now: Time) -> bool {
        self.0.forget(now)
    }
}

impl Endpoint {
    /// An endpoint whose random streams are `{name}/ike` and, for IKEv1, `{name}/ikev1`.
    pub fn new(config: Config, seed: &Seed, name: &str) -> Self {
        Self::of(&Setup::new(config), seed, name)
    }

    /// The same with a setup that others may share.
    pub fn of(setup: &Setup, seed: &Seed, name: &str) -> Self {
        let spis = Spis::default();
        let v1 = setup.are_v1.contains(&true).then(|| {
            let rng = seed.stream_of(format_args!("{name}/ikev1"));
            Box::new(v1::Endpoint::among(Config::clone(&setup.config), rng, spis.clone()))
        });
        let v2 = v2::Endpoint::among(&setup.v2, stream(seed, name), spis);
        Self { v2, v1, are_v1: Arc::clone(&setup.are_v1), marked_port: marked_port(&setup.config) }
    }

    /// Whether nothing is to be done but to keep one SA of IKEv2 in use, or none, in which case [`Self::stand`] does.
    pub fn can_stand(&self) -> bool {
        self.v1.is_none() && self.v2.can_stand()
    }

    /// The SA of IKEv2 that is in use, if [`Self::can_stand`].
    pub fn in_use(&self) -> Option<SaId> {
        self.v2.in_use()
    }

    /// Keeps only what does not follow from its setup, its seed and its name.
    ///
    /// # Panics
    /// Unless it [can](Self::can_stand).
    pub fn stand(self) -> Standing {
        assert!(self.can_stand(), "an endpoint stands when it has nothing to do");
        Standing(self.v2.stand())
    }

    /// The endpoint as it was, from the same setup, seed and name.
    pub fn resume(setup: &Setup, seed: &Seed, name: &str, standing: Standing) -> Self {
        let v2 = v2::Endpoint::resume(&setup.v2, stream(seed, name), Spis::default(), standing.0);
        let are_v1 = Arc::clone(&setup.are_v1);
        Self { v2, v1: None, are_v1, marked_port: marked_port(&setup.config) }
    }

    /// As [`Command::Initiate`]; returns the id of the SA, also if it failed at once, or `None` without such a connection.
    pub fn initiate(
        &mut self,
        connection: usize,
        between: (IpAddr, IpAddr),
        cx: &mut Ctx<'_>,
    ) -> Option<SaId> {
        self.initiate_as(connection, None, between, cx)
    }

    /// As [`Self::initiate`], with these terms in place of the connection's: one endpoint is then thousands of devices. They
    /// differ in identity and credentials at most, and with IKEv2 are forgotten when the SA is established.
    pub fn initiate_as(
        &mut self,
        connection: usize,
        terms: Option<Arc<Connection>>,
        between: (IpAddr, IpAddr),
        cx: &mut Ctx<'_>,
    ) -> Option<SaId> {
        match self.v1.as_mut().filter(|_| self.are_v1.get(connection) == Some(&true)) {
            Some(v1) => v1.initiate(connection, terms, between, cx),
            None => self.v2.initiate(connection, terms, between, cx),
        }
    }

    /// Whether an IKE SA belongs to this endpoint, half-open and closing ones included.
    pub fn holds(&self, sa: SaId) -> bool {
        self.v2.holds(sa) || self.v1.as_ref().is_some_and(|v1| v1.holds(sa))
    }

    /// Gives up an attempt to set up an IKE SA, without a word to the responder or an event.
    pub fn abandon(&mut self, sa: SaId) {
        self.v2.abandon(sa);
        if let Some(v1) = &mut self.v1 {
            v1.abandon(sa);
        }
    }

    /// Whether an IKE SA is gone, on both sides if its protocol confirms that, or only repeats its last response.
    pub fn is_over(&self, sa: SaId) -> bool {
        self.v2.is_over(sa) && self.v1.as_ref().is_none_or(|v1| !v1.holds(sa))
    }

    /// What somebody has told of an IKE SA that is being set up, unproved: why it fails unless a better answer arrives.
    pub fn refusal(&self, sa: SaId) -> Option<Reason> {
        self.v2.refusal(sa).or_else(|| self.v1.as_ref()?.refusal(sa))
    }

    /// When an IKE SA last made progress: it accepted a message of its peer, or sent a new request.
    pub fn went_on(&self, sa: SaId) -> Option<Time> {
        self.v2.went_on(sa).or_else(|| self.v1.as_ref()?.went_on(sa))
    }

    /// The number of its IKE SAs, half-open and closing ones included.
    pub fn sa_count(&self) -> usize {
        self.v2.sa_count() + self.v1.as_ref().map_or(0, |v1| v1.sa_count())
    }

    /// The number of IKE SAs that wait for the peer to confirm their deletion.
    pub fn closing_count(&self) -> usize {
        self.v2.closing_count() + self.v1.as_ref().map_or(0, |v1| v1.closing_count())
    }

    /// The number of closed IKE SAs that only retransmit their last response.
    pub fn lingering_count(&self) -> usize {
        self.v2.lingering_count()
    }

    /// Where the peer of an IKE SA is.
    pub fn remote(&self, sa: SaId) -> Option<Socket> {
        self.v2.remote(sa).or_else(|| self.v1.as_ref()?.remote(sa))
    }

    /// Source and destination of an SA's messages, if we are behind a NAT whose mapping must be kept alive.
    pub fn path_to_keep(&self, sa: SaId) -> Option<(Socket, Socket)> {
        self.v2.path_to_keep(sa).or_else(|| self.v1.as_ref()?.path_to_keep(sa))
    }

    /// The number of half-open SAs as responder.
    pub fn half_open_count(&self) -> usize {
        self.v2.half_open_count() + self.v1.as_ref().map_or(0, |v1| v1.half_open_count())
    }

    /// Whether the header of a datagram has major version 1.
    fn is_v1(&self, port: Option<u16>, bytes: &[u8]) -> bool {
        let is_marked = port.is_some() && self.marked_port == port;
        // RFC 3948 §2.2: four zero octets on the NAT-T port; RFC 2408 §3.1: the version is the 18th octet of the header.
        let version = bytes.get(if is_marked { 4 + 17 } else { 17 });
        version.is_some_and(|version| version >> 4 == 1)
    }

    fn on_command(&mut self, command: Command, cx: &mut Ctx<'_>) {
        let Some(v1) = &mut self.v1 else { return self.v2.handle(Input::Command(command), cx) };
        let is_v1 = match &command {
            Command::Initiate { connection, .. } => self.are_v1.get(*connection) == Some(&true),
            Command::Drain => {
                v1.handle(Input::Command(Command::Drain), cx);
                false
            }
            other => sa_of(other).is_some_and(|sa| v1.holds(sa)),
        };
        if is_v1 {
            v1.handle(Input::Command(command), cx);
        } else {
            self.v2.handle(Input::Command(command), cx);
        }
    }
}

fn stream(seed: &Seed, name: &str) -> Rng {
    seed.stream_of(format_args!("{name}/ike"))
}

fn marked_port(config: &Config) -> Option<u16> {
    Some(config.nat_port).filter(|port| *port != config.port)
}

/// The SA that a command is for.
const fn sa_of(command: &Command) -> Option<SaId> {
    match command {
        Command::Initiate { .. } | Command::Drain => None,
        Command::CreateChild(sa)
        | Command::RekeyChild(sa, _)
        | Command::RekeyIke(sa)
        | Command::DeleteChild(sa, _)
        | Command::ChildHeard(sa, _)
        | Command::Delete(sa)
        | Command::Probe(sa)
        | Command::Eap(sa, _) => Some(*sa),
    }
}

impl Engine for Endpoint {
    type Command = Command;
    type Event = Event;

    fn handle(&mut self, input: Input<'_, Command>, cx: &mut Ctx<'_>) {
        match input {
            Input::Datagram { to, bytes, .. } => {
                let is_v1 = self.is_v1(to.udp_port(), bytes);
                match self.v1.as_mut().filter(|_| is_v1) {
                    Some(v1) => v1.handle(input, cx),
                    None => self.v2.handle(input, cx),
                }
            }
            Input::Command(command) => self.on_command(command, cx),
            Input::Tick => {
                self.v2.handle(Input::Tick, cx);
                if let Some(v1) = &mut self.v1 {
                    v1.handle(Input::Tick, cx);
                }
            }
            Input::Recover => {
                self.v2.handle(Input::Recover, cx);
                if let Some(v1) = &mut self.v1 {
                    v1.handle(Input::Recover, cx);
                }
            }
            // IKE uses datagrams only, and forwards no user packets.
            Input::Inner(_) | Input::Secured { .. } | Input::Lost { .. } => {}
        }
    }

    fn poll(&mut self) -> Option<Output<Event>> {
        self.v2.poll().or_else(|| self.v1.as_mut().and_then(|v1| v1.poll()))
    }

    fn deadline(&self) -> Option<Deadline> {
        Deadline::earlier(self.v2.deadline(), self.v1.as_ref().and_then(|v1| v1.deadline()))
    }
}

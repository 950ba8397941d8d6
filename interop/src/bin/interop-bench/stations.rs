//! Many stations behind one RADIUS client: EAP peers that keep a number of authentications in flight. An authentication
//! counts when the peer believes the server and the server's keys are the peer's own. Read RFC 3579 §2, RFC 2548 §2.4.

use std::collections::{BTreeMap, VecDeque};
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use keytoll_crypto::Real;
use keytoll_crypto_api::{Rng, Secret, Seed};
use keytoll_eap::methods::tls::TlsPeer;
use keytoll_eap::packet;
use keytoll_eap::tunnel::Framing;
use keytoll_eap::{Limits, MethodType, Peer, PeerConfig, PeerOffer, PeerOutput};
use keytoll_engine::trace::NoTrace;
use keytoll_engine::{Ctx, Deadline, Engine, Input, Output};
use keytoll_hosts::tunnels::tls_client;
use keytoll_interop::eap::{RADIUS_SECRET, USER};
use keytoll_live::{Driver, Sockets};
use keytoll_net::Host;
use keytoll_radius::client::{
    Accept, Authenticate, Client, Command, Config, ConversationId, Credential, Event, Retransmission, Server,
};
use keytoll_radius::protect::MppeKeys;
use keytoll_radius::wire::{Attributes, State};
use keytoll_tls as tls;

use crate::devices::own_cpu_ns;
use crate::ike::Auth;
use crate::load::{Load, Outcome};
use crate::trouble::Result;

/// No authentication that is going on takes as long as this.
const SILENCE_MAX: Duration = Duration::from_secs(20);
/// Where requests come from: 256 may be outstanding at each.
const PORTS: std::ops::RangeInclusive<u16> = 49_152..=49_155;

/// What the stations do: EAP-TLS with TLS 1.2.
#[derive(Debug, clap::Args)]
pub(crate) struct Stations {
    /// Their address.
    #[arg(long)]
    local: IpAddr,
    /// The server's address.
    #[arg(long)]
    remote: IpAddr,
    /// The directory of certificates.
    #[arg(long)]
    pki: PathBuf,
    #[command(flatten)]
    load: Load,
}

/// Runs them to the end.
pub(crate) fn run(stations: &Stations) -> Result<Outcome> {
    let seed = Seed::system()?;
    let crowd = Crowd {
        radius: Client::new(radius(stations), seed.stream("radius")),
        peers: Arc::new(PeerConfig { methods: vec![method(stations)?], limits: Limits::default() }),
        rng: seed.stream("eap"),
        conversations: BTreeMap::new(),
        next: 0,
        out: VecDeque::new(),
    };
    let addresses: Vec<_> = PORTS.map(|port| SocketAddr::new(stations.local, port)).collect();
    let mut driver = Driver::new(crowd, Real::default(), Sockets::bind(&addresses)?);
    let (begin, cpu_before) = (Instant::now(), own_cpu_ns());
    let mut outcome = serve(&mut driver, &stations.load)?;
    outcome.wall_ns = u64::try_from(begin.elapsed().as_nanos()).unwrap_or(u64::MAX);
    outcome.cpu_ns = own_cpu_ns() - cpu_before;
    Ok(outcome)
}

fn radius(stations: &Stations) -> Config {
    Config {
        local: stations.local,
        ports: PORTS.collect(),
        server: Server::new(stations.remote, Secret::from(RADIUS_SECRET.as_bytes())),
        nas_identifier: "bench".into(),
        retransmission: Retransmission::default(),
    }
}

fn method(stations: &Stations) -> Result<Arc<dyn PeerOffer>> {
    let Auth::Certificate(credential, trust) = Auth::load(Some(&stations.pki))? else {
        return Err("EAP-TLS takes certificates".into());
    };
    let version = tls::Version::Tls12;
    let config = tls::Config {
        credential: Some(credential),
        trust: Some(trust),
        oldest: version,
        newest: version,
        resumption: false,
        ..tls::Config::new()
    };
    Ok(Arc::new(TlsPeer { tunnels: tls_client(&config)?, framing: Framing::default() }))
}

fn serve(driver: &mut Driver<Crowd, Real>, load: &Load) -> Result<Outcome> {
    let (mut outcome, mut started, mut alone_since) = (Outcome::default(), 0, None);
    while outcome.over() < load.count {
        while started < load.count && started - outcome.over() < load.window {
            alone_since = (load.window == 1).then(Instant::now);
            driver.command(Begin, &mut NoTrace);
            started += 1;
        }
        match driver.next_event(SILENCE_MAX, &mut NoTrace) {
            Some(Over(Ok(()))) => outcome.succeed(alone_since),
            Some(Over(Err(why))) => outcome.fail(&why),
            None => return Err(format!("the server fell silent after {outcome:?}").into()),
        }
    }
    Ok(outcome)
}

/// One more authentication.
#[derive(Debug)]
struct Begin;

/// One less, and why in vain.
#[derive(Debug)]
struct Over(std::result::Result<(), String>);

/// All stations.
struct Crowd {
    radius: Client,
    peers: Arc<PeerConfig>,
    rng: Rng,
    conversations: BTreeMap<ConversationId, Peer>,
    next: u64,
    out: VecDeque<Output<Over>>,
}

impl Crowd {
    fn begin(&mut self, cx: &mut Ctx<'_>) {
        let conversation = ConversationId(self.next);
        self.next += 1;
        self.conversations.insert(conversation, Peer::new(Arc::clone(&self.peers), USER.into()));
        // RFC 3579 §2.1: the NAS may answer the Identity request itself if it knows the answer.
        let identity = packet::response(0, MethodType::IDENTITY, USER.as_bytes());
        self.ask(conversation, identity, None, cx);
    }

    fn ask(&mut self, conversation: ConversationId, eap: Vec<u8>, state: Option<State>, cx: &mut Ctx<'_>) {
        let [_, _, station @ ..] = conversation.0.to_be_bytes();
        let request = Authenticate {
            conversation,
            peer: Host::Mac(station),
            user_name: USER.into(),
            credential: Credential::Eap(eap),
            state,
            attributes: Attributes::default(),
        };
        self.radius.handle(Input::Command(Command::Authenticate(request)), cx);
    }

    fn drain(&mut self, cx: &mut Ctx<'_>) {
        while let Some(output) = self.radius.poll() {
            match output.event() {
                Ok(event) => self.on_event(event, cx),
                Err(output) => self.out.push_back(output),
            }
        }
    }

    fn on_event(&mut self, event: Event, cx: &mut Ctx<'_>) {
        match event {
            Event::Challenge { conversation, eap, state } => self.on_challenge(conversation, &eap, state, cx),
            Event::Accept(accept) => {
                let verdict = self.judge(&accept, cx);
                self.end(accept.conversation, verdict);
            }
            Event::Reject { conversation, .. } => self.end(conversation, Err("rejected".into())),
            Event::Failed(conversation, why) => self.end(conversation, Err(why.name().into())),
            Event::Accounted(_) | Event::Unaccounted(..) => {}
        }
    }

    fn on_challenge(
        &mut self,
        conversation: ConversationId,
        eap: &[u8],
        state: Option<State>,
        cx: &mut Ctx<'_>,
    ) {
        let Some(peer) = self.conversations.get_mut(&conversation) else { return };
        match peer.step(eap, &mut self.rng, cx) {
            PeerOutput::Send(answer) => self.ask(conversation, answer, state, cx),
            other => self.end(conversation, Err(format!("challenged, the peer says {other:?}"))),
        }
    }

    /// The peer must believe it, and the keys must be the same.
    fn judge(&mut self, accept: &Accept, cx: &mut Ctx<'_>) -> std::result::Result<(), String> {
        let peer = self.conversations.get_mut(&accept.conversation).ok_or("accepted twice")?;
        let packet = accept.eap.as_deref().ok_or("accepted without EAP-Success")?;
        match peer.step(packet, &mut self.rng, cx) {
            PeerOutput::Success(keys) if keys.msk == accept.keys.as_ref().map(MppeKeys::msk) => Ok(()),
            PeerOutput::Success(_) => Err("the keys differ".into()),
            other => Err(format!("accepted, the peer says {other:?}")),
        }
    }

    fn end(&mut self, conversation: ConversationId, verdict: std::result::Result<(), String>) {
        self.conversations.remove(&conversation);
        self.out.push_back(Output::Event(Over(verdict)));
    }
}

impl Engine for Crowd {
    type Command = Begin;
    type Event = Over;

    fn handle(&mut self, input: Input<'_, Begin>, cx: &mut Ctx<'_>) {
        match input.command() {
            Ok(Begin) => self.begin(cx),
            Err(input) => self.radius.handle(input, cx),
        }
        self.drain(cx);
    }

    fn poll(&mut self) -> Option<Output<Over>> {
        self.out.pop_front()
    }

    fn deadline(&self) -> Option<Deadline> {
        self.radius.deadline()
    }
}

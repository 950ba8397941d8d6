//! The flood: datagrams that no gateway or AAA server wants, from many addresses and ports, at a given rate. Samples are
//! made by our own engines, so that what is cut, flipped and repeated was good once. Read RFC 7296 §2.6, RFC 3579 §3.2.

use std::net::{IpAddr, Ipv4Addr, SocketAddr, UdpSocket};
use std::os::fd::AsFd;
use std::thread::sleep;
use std::time::{Duration, Instant};

use keytoll_crypto::Real;
use keytoll_crypto_api::{Rng, Secret, Seed};
use keytoll_eap::{MethodType, packet};
use keytoll_engine::trace::NoTrace;
use keytoll_engine::{Ctx, Engine, Input, Output, Time};
use keytoll_ike::Event;
use keytoll_interop::eap::{RADIUS_SECRET, USER};
use keytoll_native::datagrams;
use keytoll_radius::client::{self, Authenticate, Client, ConversationId, Credential};
use keytoll_radius::wire::Attributes;
use serde::{Deserialize, Serialize};

use crate::ike::{Auth, config};
use crate::initiator::Initiator;
use crate::siege::Attack;
use crate::trouble::Result;

/// Datagrams go in lots of so many, one system call each.
const LOT: usize = datagrams::BATCH;
/// A UDP datagram that no link cuts is not longer.
const GARBAGE_BYTES_MAX: u64 = 1400;

/// No answer of a gateway at rest takes as long.
const PATIENCE: Duration = Duration::from_secs(5);

/// What is flooded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Victim {
    /// IKE and ESP.
    Gateway,
    /// RADIUS.
    Aaa,
}

/// What the flooder is told.
#[derive(Debug, clap::Args)]
pub(crate) struct Flood {
    /// Of what kind the victim is.
    #[arg(long, value_enum)]
    victim: Victim,
    /// Its address.
    #[arg(long)]
    to: IpAddr,
    /// The addresses to send from.
    #[arg(long, value_delimiter = ',')]
    from: Vec<Ipv4Addr>,
    /// The IKE suite that samples are made with.
    #[arg(long, default_value = "aes128-sha256-x25519")]
    ike: String,
    /// Datagrams a second.
    #[arg(long)]
    rate: u64,
    /// For how long.
    #[arg(long)]
    seconds: u64,
}

/// What was sent.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Sent {
    /// Datagrams that the system took.
    pub(crate) datagrams: u64,
    /// From the first to the last.
    pub(crate) seconds: f64,
}

impl Attack for Sent {
    fn seconds(&self) -> f64 {
        self.seconds
    }
}

/// Floods.
pub(crate) fn run(flood: &Flood) -> Result<Sent> {
    let seed = Seed::system()?;
    let samples = match flood.victim {
        Victim::Gateway => ike_samples(flood, &seed)?,
        Victim::Aaa => radius_samples(flood, &seed)?,
    };
    let sockets = sockets(flood)?;
    let mut rng = seed.stream("flood");
    let (begin, mut sent) = (Instant::now(), Sent::default());
    let end = Duration::from_secs(flood.seconds);
    let mut turn = 0;
    while begin.elapsed() < end {
        let due = begin.elapsed().as_micros() as u64 * flood.rate / 1_000_000;
        if sent.datagrams >= due {
            sleep(Duration::from_micros(200));
            continue;
        }
        let lot: Vec<_> = (0..LOT).map(|_| samples.draw(&mut rng)).collect();
        let lot = lot.iter().map(|(bytes, port)| (bytes.as_slice(), SocketAddr::new(flood.to, *port)));
        // What a full buffer or an ICMP error keeps back is not counted.
        sent.datagrams += datagrams::send(sockets[turn % sockets.len()].as_fd(), lot).unwrap_or(0) as u64;
        turn += 1;
    }
    sent.seconds = begin.elapsed().as_secs_f64();
    Ok(sent)
}

/// From every address the ports of IKE and a few that the system chooses.
fn sockets(flood: &Flood) -> Result<Vec<UdpSocket>> {
    let mut sockets = Vec::new();
    for &address in &flood.from {
        for port in [500, 4500, 0, 0] {
            let port = if flood.victim == Victim::Aaa { 0 } else { port };
            sockets.push(UdpSocket::bind((address, port))?);
        }
    }
    Ok(sockets)
}

/// Good datagrams with the port each belongs to.
struct Samples {
    good: Vec<(Vec<u8>, u16)>,
    ports: Vec<u16>,
    /// Where in a datagram for which port something that names a conversation is: an SPI, an identifier.
    name_at: fn(u16) -> std::ops::Range<usize>,
}

impl Samples {
    /// One datagram more.
    fn draw(&self, rng: &mut Rng) -> (Vec<u8>, u16) {
        let (mut bytes, port) = self.good[rng.below(self.good.len() as u64) as usize].clone();
        match rng.below(5) {
            0 => {
                let port = self.ports[rng.below(self.ports.len() as u64) as usize];
                return (garbage(rng), port);
            }
            1 => bytes.truncate(rng.below(bytes.len() as u64) as usize),
            2 => {
                let at = rng.below(bytes.len() as u64) as usize;
                bytes[at] ^= 1 << rng.below(8);
            }
            // Word for word what was good once.
            3 => {}
            _ => {
                for byte in bytes.get_mut((self.name_at)(port)).unwrap_or_default() {
                    *byte = rng.below(256) as u8;
                }
            }
        }
        (bytes, port)
    }
}

fn garbage(rng: &mut Rng) -> Vec<u8> {
    let mut bytes = vec![0; rng.below(GARBAGE_BYTES_MAX) as usize];
    bytes.iter_mut().for_each(|byte| *byte = rng.below(256) as u8);
    bytes
}

/// IKE_SA_INIT, IKE_AUTH and an ESP packet of an SA that there is.
fn ike_samples(flood: &Flood, seed: &Seed) -> Result<Samples> {
    let local = IpAddr::V4(*flood.from.first().ok_or("no address to flood from")?);
    let config = config(&Auth::Psk, &flood.ike, Some("aes128-sha256"))?;
    let initiator = Initiator::new(config, (local, flood.to), seed.stream("samples"), PATIENCE)?;
    let mut handshake = Handshake { initiator, good: Vec::new(), child: None };
    let outputs = handshake.initiator.initiate();
    handshake.note(outputs)?;
    while handshake.child.is_none() {
        let (_, outputs) = handshake.initiator.receive()?.ok_or("the gateway is silent")?;
        handshake.note(outputs)?;
    }
    let mut good: Vec<_> = handshake.good.into_iter().map(|bytes| (bytes, 500)).collect();
    let marked: Vec<_> = good.iter().map(|(bytes, _)| ([&[0; 4], bytes.as_slice()].concat(), 4500)).collect();
    good.extend(marked);
    let spi = handshake.child.unwrap_or_default().to_be_bytes();
    good.push(([spi.as_slice(), &[0, 0, 0, 1], &[0x5a; 96]].concat(), 4500));
    Ok(Samples { good, ports: vec![500, 4500], name_at: |port| if port == 500 { 0..8 } else { 4..12 } })
}

/// Our end of the handshake that samples are taken from.
struct Handshake {
    initiator: Initiator,
    good: Vec<Vec<u8>>,
    /// What the gateway receives on.
    child: Option<u32>,
}

impl Handshake {
    fn note(&mut self, outputs: Vec<Output<Event>>) -> Result<()> {
        for output in outputs {
            match output {
                Output::Datagram(datagram) => {
                    self.initiator.send(&datagram)?;
                    self.good.push(datagram.bytes);
                }
                Output::Event(Event::ChildUp(_, child)) => self.child = Some(child.pair.outbound_spi),
                Output::Event(Event::Failed(_, why, _)) => return Err(why.name().into()),
                Output::Event(_) => {}
                Output::Inner(_) | Output::Close { .. } => unreachable!("IKE speaks datagrams"),
            }
        }
        Ok(())
    }
}

/// The first Access-Request of a conversation, with the right secret and with a wrong one.
fn radius_samples(flood: &Flood, seed: &Seed) -> Result<Samples> {
    let local = IpAddr::V4(*flood.from.first().ok_or("no address to flood from")?);
    let port = client::Server::AUTHENTICATION_PORT;
    let mut good = Vec::new();
    for secret in [RADIUS_SECRET, "another secret"] {
        let config = client::Config {
            local,
            ports: vec![1],
            server: client::Server::new(flood.to, Secret::from(secret.as_bytes())),
            nas_identifier: "flood".into(),
            retransmission: client::Retransmission::default(),
        };
        let request = Authenticate {
            conversation: ConversationId(1),
            peer: local.into(),
            user_name: USER.into(),
            credential: Credential::Eap(packet::response(0, MethodType::IDENTITY, USER.as_bytes())),
            state: None,
            attributes: Attributes::default(),
        };
        let mut client = Client::new(config, seed.stream(secret));
        let (mut crypto, mut trace) = (Real::default(), NoTrace);
        let mut cx = Ctx { now: Time::ZERO, crypto: &mut crypto, trace: &mut trace };
        client.handle(Input::Command(client::Command::Authenticate(request)), &mut cx);
        while let Some(output) = client.poll() {
            if let Output::Datagram(datagram) = output {
                good.push((datagram.bytes, port));
            }
        }
    }
    // RFC 2865 §3: the identifier.
    Ok(Samples { good, ports: vec![port], name_at: |_| 1..2 })
}

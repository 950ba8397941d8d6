//! ryke as a gateway for one device after another, with echoes through the CHILD SA. `mode=500` is `ryke::Server` as it is: without
//! NAT_DETECTION, and without answers after IKE_AUTH. Otherwise this file calls the functions for responders that ryke exports.

use std::collections::HashMap;
use std::io::stdin;
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::sync::mpsc::{Receiver, channel};
use std::thread;

use ryke::{
    AssignedConfig, ChildSa, CompletedSaInit, CookiePolicy, EapEvent, EapResponder, Entropy, ExchangeType,
    IkeError, IkeHeader, LocalSecret, OsEntropy, Role, SaInitResult, Server, ServerEvent, is_eap_request,
    peer_id_from_request, responder_process_auth, responder_respond_natt, unwrap_ike_4500, wrap_ike_4500,
};

use crate::credentials::{identity, of_both, of_gateway, shown};
use crate::packet::reply_to;
use crate::requests::{Change, Peer, fresh_spi, iv};
use crate::settings::Settings;
use crate::wire::receive;
use crate::{Outcome, answer, five_g};

/// Serves until it is killed.
pub fn run(settings: &Settings) -> Outcome<()> {
    let listen: Ipv4Addr = settings.need("listen")?.parse()?;
    if settings.get("mode") == Some("500") {
        as_it_is(settings, listen)
    } else {
        Gateway::new(settings, listen)?.run()
    }
}

/// `ryke::Server`, and its CHILD SA at port 4500.
fn as_it_is(settings: &Settings, listen: Ipv4Addr) -> Outcome<()> {
    let mut server = Server::bind((listen, 500), OsEntropy::new()?, of_both(settings)?)?;
    let socket = UdpSocket::bind((listen, 4500))?;
    println!("listening");
    loop {
        match server.handle_one()? {
            ServerEvent::SaInit { .. } => println!("half-open"),
            ServerEvent::Ignored => println!("ignored"),
            ServerEvent::Established { spi_i, spi_r, peer_id } => {
                println!("established with {}", shown(&peer_id));
                serve_echoes(server.take_child(spi_i, spi_r).ok_or("no CHILD SA")?, &socket)?;
            }
        }
    }
}

/// Answers the echo requests of a CHILD SA in a thread.
pub fn serve_echoes(mut child: ChildSa, socket: &UdpSocket) -> Outcome<()> {
    let socket = socket.try_clone()?;
    thread::spawn(move || {
        while let Ok((datagram, from)) = receive(&socket) {
            echo(&mut child, &datagram, from, &socket);
        }
    });
    Ok(())
}

/// Answers an echo request that came through this SA.
fn echo(child: &mut ChildSa, datagram: &[u8], from: SocketAddr, socket: &UdpSocket) -> bool {
    let Ok((inner, next)) = child.inbound.open(datagram) else { return false };
    let Some(reply) = reply_to(&inner) else { return true };
    let sent = child.outbound.seal(&reply, next).map(|sealed| socket.send_to(&sealed, from));
    println!("echo {}", if matches!(sent, Ok(Ok(_))) { "answered" } else { "not answered" });
    true
}

/// An IKE SA with its device.
struct Session {
    peer: Peer,
    eap: Option<EapResponder>,
    /// The last request and its response, RFC 7296 §2.1.
    last: (Vec<u8>, Vec<u8>),
}

/// Where a datagram came from.
#[derive(Clone, Copy)]
struct Source {
    from: SocketAddr,
    is_marked: bool,
}

/// An input of the gateway.
enum Event {
    Datagram(Vec<u8>, Source),
    /// A line of stdin: `probe`, `rekey` or `delete`, about the newest SA.
    Command(String),
}

struct Gateway<'a> {
    settings: &'a Settings,
    sockets: [UdpSocket; 2],
    entropy: OsEntropy,
    secret: [u8; 32],
    sessions: HashMap<u64, Session>,
    newest: u64,
    children: Vec<ChildSa>,
}

impl<'a> Gateway<'a> {
    fn new(settings: &'a Settings, listen: Ipv4Addr) -> Outcome<Self> {
        let sockets = [UdpSocket::bind((listen, 500))?, UdpSocket::bind((listen, 4500))?];
        let mut entropy = OsEntropy::new()?;
        let secret = entropy.next_array32();
        let (sessions, children) = (HashMap::new(), Vec::new());
        Ok(Self { settings, sockets, entropy, secret, sessions, newest: 0, children })
    }

    fn run(&mut self) -> Outcome<()> {
        let events = self.events()?;
        println!("listening");
        for event in events {
            let done = match event {
                Event::Command(word) => self.command(&word),
                Event::Datagram(datagram, source) if !source.is_marked => self.request(&datagram, source),
                Event::Datagram(datagram, source) => match unwrap_ike_4500(&datagram) {
                    Some(request) => self.request(request, source),
                    None => {
                        self.esp(&datagram, source.from);
                        Ok(())
                    }
                },
            };
            if let Err(why) = done {
                println!("failed: {why}");
            }
        }
        Ok(())
    }

    /// Both sockets and stdin, each with a thread.
    fn events(&self) -> Outcome<Receiver<Event>> {
        let (sender, events) = channel();
        for (socket, is_marked) in self.sockets.iter().zip([false, true]) {
            let (socket, sender) = (socket.try_clone()?, sender.clone());
            thread::spawn(move || {
                while let Ok((datagram, from)) = receive(&socket) {
                    let _ = sender.send(Event::Datagram(datagram, Source { from, is_marked }));
                }
            });
        }
        thread::spawn(move || {
            stdin().lines().map_while(Result::ok).try_for_each(|line| sender.send(Event::Command(line)))
        });
        Ok(events)
    }

    fn command(&mut self, word: &str) -> Outcome<()> {
        let peer = &mut self.sessions.get_mut(&self.newest).ok_or("no SA")?.peer;
        match word {
            "probe" => peer.probe(),
            "delete" => peer.end(),
            "rekey" => {
                let child = peer.rekey(self.children.last().ok_or("no CHILD SA")?)?;
                self.children.push(child);
                Ok(())
            }
            _ => Err(format!("no command {word}").into()),
        }
    }

    /// ESP of whichever CHILD SA has its key.
    fn esp(&mut self, datagram: &[u8], from: SocketAddr) {
        let opened = self.children.iter_mut().any(|child| echo(child, datagram, from, &self.sockets[1]));
        if !opened {
            println!("ESP of no CHILD SA");
        }
    }

    fn request(&mut self, request: &[u8], source: Source) -> Outcome<()> {
        let header = IkeHeader::parse(request)?;
        if header.exchange_type == ExchangeType::IkeSaInit {
            return self.sa_init(request, source);
        }
        let Some(mut session) = self.sessions.remove(&header.responder_spi) else {
            return Err("no such SA".into());
        };
        let keeps = if session.last.0 == request {
            self.send(&session.last.1.clone(), source)?;
            true
        } else {
            let (response, keeps) = self.response(&mut session, request, source)?;
            self.send(&response, source)?;
            session.last = (request.to_vec(), response);
            keeps
        };
        if keeps {
            self.sessions.insert(header.responder_spi, session);
        }
        Ok(())
    }

    fn send(&self, message: &[u8], source: Source) -> Outcome<()> {
        let [ike, marked] = &self.sockets;
        if source.is_marked {
            marked.send_to(&wrap_ike_4500(message), source.from)?;
        } else {
            ike.send_to(message, source.from)?;
        }
        Ok(())
    }

    fn sa_init(&mut self, request: &[u8], source: Source) -> Outcome<()> {
        let local = LocalSecret::generate(&mut self.entropy, 32);
        let own = self.sockets[usize::from(source.is_marked)].local_addr()?;
        let peer = source.from.to_string().into_bytes();
        let required = self.settings.steps.iter().any(|word| word == "cookie");
        let policy = CookiePolicy { secret: &self.secret, peer: &peer, required };
        // The device finds a NAT where an address of its own is not as it knows it: RFC 7296 §2.23.
        match responder_respond_natt(request, &local, own, source.from, Some(policy)) {
            Err(IkeError::NoProposalChosen) => {
                println!("refused: no common suite");
                self.send(&answer::no_proposal(request)?, source)
            }
            Err(why) => Err(why.into()),
            Ok(SaInitResult::Established { response, sa }) => {
                println!("half-open");
                self.keep(sa, source);
                self.send(&response, source)
            }
            Ok(SaInitResult::InvalidKe { response, group }) => {
                println!("wants group {group}");
                self.send(&response, source)
            }
            Ok(SaInitResult::CookieRequired { response }) => {
                println!("wants a cookie");
                self.send(&response, source)
            }
        }
    }

    fn keep(&mut self, sa: CompletedSaInit, source: Source) {
        let peer = Peer { sa, at: source.from, is_marked: source.is_marked, next_id: 0 };
        self.newest = peer.sa.spi_r;
        self.sessions.insert(self.newest, Session { peer, eap: None, last: (Vec::new(), Vec::new()) });
    }

    /// The response, and whether the SA stays.
    fn response(
        &mut self,
        session: &mut Session,
        request: &[u8],
        source: Source,
    ) -> Outcome<(Vec<u8>, bool)> {
        if IkeHeader::parse(request)?.exchange_type == ExchangeType::IkeAuth {
            (session.peer.at, session.peer.is_marked) = (source.from, source.is_marked);
            println!("device at {}", source.from);
            return match self.authenticate(session, request) {
                Ok(response) => Ok((response, true)),
                Err(why) => {
                    println!("refused: {why}");
                    Ok((answer::not_authenticated(&session.peer.sa, request, &iv()?)?, false))
                }
            };
        }
        let assigned = self.assigned()?.map(|config| config.ip);
        let (response, change) = session.peer.answer(request, assigned)?;
        match change {
            Change::None => {}
            Change::End => return Ok((response, false)),
            Change::Child(child) => self.children.push(child),
            Change::Ike(sa) => {
                self.keep(*sa, Source { from: session.peer.at, is_marked: session.peer.is_marked })
            }
        }
        Ok((response, true))
    }

    fn assigned(&self) -> Outcome<Option<AssignedConfig>> {
        let address = self.settings.get("assigned").map(str::parse).transpose()?;
        Ok(address.map(|ip| AssignedConfig { ip, dns: Vec::new() }))
    }

    fn authenticate(&mut self, session: &mut Session, request: &[u8]) -> Outcome<Vec<u8>> {
        let has_eap = session.eap.is_some() || is_eap_request(&session.peer.sa, request);
        if has_eap && self.settings.get("user").is_none() {
            return five_g::response(&session.peer.sa, self.settings, request, &iv()?);
        }
        if has_eap {
            return self.eap(session, request);
        }
        let (spi, assigned) = (fresh_spi(&mut self.entropy), self.assigned()?);
        let proof = of_both(self.settings)?;
        let iv = iv()?;
        let (response, peer, peer_spi) =
            responder_process_auth(&session.peer.sa, request, &proof, spi, &iv, assigned.as_ref())?;
        self.up(&session.peer.sa, spi, peer_spi);
        println!("established with {}", shown(&peer));
        Ok(response)
    }

    fn eap(&mut self, session: &mut Session, request: &[u8]) -> Outcome<Vec<u8>> {
        let mut eap = match session.eap.take() {
            Some(eap) => eap,
            None => {
                let claimed = peer_id_from_request(&session.peer.sa, request).ok_or("no identity")?;
                println!("EAP with {}", shown(&claimed));
                let (user, password) = (self.settings.need("user")?, self.settings.need("password")?);
                let (id, auth) = (identity(self.settings.need("id")?), of_gateway(self.settings)?);
                let (user, password) = (user.as_bytes().to_vec(), password.to_owned());
                let mut eap = EapResponder::new(session.peer.sa.clone(), id, auth, user, password, EAP_SPI);
                eap.set_assigned(self.assigned()?);
                eap
            }
        };
        match eap.handle(request, &mut self.entropy)? {
            EapEvent::Reply(response) => {
                session.eap = Some(eap);
                Ok(response)
            }
            EapEvent::Established(response) => {
                self.up(&session.peer.sa, EAP_SPI, eap.peer_child_spi().ok_or("no SPI")?);
                println!("established by EAP-MSCHAPv2 with {}", String::from_utf8_lossy(eap.user()));
                response.ok_or_else(|| "no last response".into())
            }
            EapEvent::Failed => Err("EAP failed".into()),
        }
    }

    fn up(&mut self, sa: &CompletedSaInit, spi: u32, peer_spi: u32) {
        self.children.push(ChildSa::derive(&sa.keys.sk_d, &sa.ni, &sa.nr, Role::Responder, spi, peer_spi));
    }
}

/// The SPI of packets to a gateway with EAP.
const EAP_SPI: u32 = 0x7279_6b67;

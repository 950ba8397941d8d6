//! 802.1X over a cable: our supplicant before hostapd, and our authenticator, with its EAP server inside, before wpa_supplicant.
//! Each of ours is an engine on a packet socket inside the namespace, which a thread of the test enters. Read IEEE 802.1X-2020
//! §11.1 (addresses and EtherType) first.

use std::collections::VecDeque;
use std::fs::File;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use keytoll_crypto::{Real, keys};
use keytoll_crypto_api::credentials::{AlternativeName, Credential, Trust};
use keytoll_daemons::Place;
use keytoll_eap::methods::TlsParts;
use keytoll_eap::methods::peap::Binding;
use keytoll_eap::tunnel::{Framing, Tunnels};
use keytoll_eap::{PeerConfig, ServerConfig};
use keytoll_engine::trace::{NoTrace, Protocol};
use keytoll_engine::{Addr, Ctx, Datagram, Deadline, Engine, Input, Output};
use keytoll_hosts::tunnels::{tls_client, tls_server};
use keytoll_live::{Driver, OnLink, Sockets};
use keytoll_native::clock::unix_seconds;
use keytoll_pki::{Anchors, Purpose, pem};
use keytoll_tls::{Config, Version};
use keytoll_wlan::MacAddr;
use keytoll_wlan::dot1x::{
    Authenticator, AuthenticatorConfig, AuthenticatorOutput, Eap, PAE_GROUP_ADDRESS, Supplicant,
    SupplicantConfig, SupplicantOutput, WepConfig, WepKey,
};
use keytoll_wlan::eapol::ETHER_TYPE;
use nix::sched::{CloneFlags, setns};

use crate::eap::{self, Login, PASSWORD, USER};
use crate::eap_sides::{self, PeerSide, ServerSide, peer_config, random};
use crate::lab::{Lab, Node};
use crate::pki::Pki;
use crate::run::Trouble;

const EAPOL: Protocol = Protocol::new(&"eapol");

/// How long one of ours may take.
const LIMIT: Duration = Duration::from_secs(20);

/// What one of ours reports.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// The port is authorized; whether EAP has made keys.
    Authorized {
        /// Whether there is an MSK.
        has_keys: bool,
    },
    /// A key of dynamic WEP came, or was sent.
    Key(WepKey),
    /// It is not authorized, and why.
    Refused(String),
}

/// Ethernet header, IEEE 802.3-2022 §3.1: destination(6) source(6) type(2); then the PDU.
fn frame(to: MacAddr, from: MacAddr, pdu: &[u8]) -> Output<Event> {
    let bytes = [&to[..], &from, &ETHER_TYPE.to_be_bytes(), pdu].concat();
    Output::Datagram(Datagram { protocol: EAPOL, from: Addr::Mac(from), to: Addr::Mac(to), bytes })
}

/// What is behind the Ethernet header.
fn pdu(frame: &[u8]) -> &[u8] {
    frame.get(14..).unwrap_or_default()
}

/// What both engines have: where they are, and what leaves them.
struct Desk {
    address: MacAddr,
    out: VecDeque<Output<Event>>,
}

/// Our supplicant with an EAP peer.
struct Device {
    desk: Desk,
    pae: Supplicant,
    eap: PeerSide,
}

impl Device {
    fn new(address: MacAddr, config: Arc<PeerConfig>) -> Self {
        let desk = Desk { address, out: VecDeque::new() };
        let pae = Supplicant::new(SupplicantConfig::default());
        Self { desk, pae, eap: PeerSide::new(config, USER) }
    }

    fn perform(&mut self, outputs: Vec<SupplicantOutput>, cx: &mut Ctx<'_>) {
        for output in outputs {
            match output {
                // IEEE 802.1X-2020 §11.1.1: a supplicant on a LAN does not know its authenticator's address.
                SupplicantOutput::Send(pdu) => {
                    self.desk.out.push_back(frame(PAE_GROUP_ADDRESS, self.desk.address, &pdu));
                }
                SupplicantOutput::EapStart => self.eap.begin(),
                SupplicantOutput::Eap(packet) => self.ask_peer(&packet, cx),
                SupplicantOutput::Authorized(msk) => {
                    self.tell(Event::Authorized { has_keys: msk.is_some() });
                }
                SupplicantOutput::Failed => {}
                SupplicantOutput::Unanswered => self.tell(Event::Refused("nobody answers".to_owned())),
                SupplicantOutput::Install(key) => self.tell(Event::Key(key)),
            }
        }
    }

    fn ask_peer(&mut self, packet: &[u8], cx: &mut Ctx<'_>) {
        let Some((eap, refusal)) = self.eap.answer(packet, cx) else { return };
        if let Some(why) = refusal {
            self.tell(Event::Refused(why.to_owned()));
        }
        let outputs = self.pae.on_eap(eap, cx);
        self.perform(outputs, cx);
    }

    fn tell(&mut self, event: Event) {
        self.desk.out.push_back(Output::Event(event));
    }
}

impl Engine for Device {
    type Command = ();
    type Event = Event;

    fn handle(&mut self, input: Input<'_, ()>, cx: &mut Ctx<'_>) {
        let outputs = match input {
            Input::Datagram { bytes, .. } => self.pae.on_pdu(pdu(bytes), cx).unwrap_or_default(),
            Input::Command(()) => self.pae.start(cx),
            Input::Tick => self.pae.tick(cx),
            _ => Vec::new(),
        };
        self.perform(outputs, cx);
    }

    fn poll(&mut self) -> Option<Output<Event>> {
        self.desk.out.pop_front()
    }

    fn deadline(&self) -> Option<Deadline> {
        self.pae.deadline()
    }
}

/// Our authenticator with an EAP server.
struct Port {
    desk: Desk,
    pae: Authenticator,
    eap: ServerSide,
}

impl Port {
    fn new(address: MacAddr, config: Arc<ServerConfig>, wep: Option<WepConfig>) -> Self {
        let desk = Desk { address, out: VecDeque::new() };
        let pae = AuthenticatorConfig { wep, ..AuthenticatorConfig::default() };
        let pae = Authenticator::new(pae, random("port/wep"));
        Self { desk, pae, eap: ServerSide::new(config) }
    }

    fn perform(&mut self, outputs: Vec<AuthenticatorOutput>, cx: &mut Ctx<'_>) {
        for output in outputs {
            match output {
                AuthenticatorOutput::Send(station, pdu) => {
                    self.desk.out.push_back(frame(station, self.desk.address, &pdu));
                }
                AuthenticatorOutput::EapStart(station) => {
                    let begun = self.eap.begin(station, cx);
                    self.serve(station, begun, cx);
                }
                AuthenticatorOutput::Eap(station, packet) => {
                    let answer = self.eap.answer(station, &packet, cx);
                    self.serve(station, answer, cx);
                }
                AuthenticatorOutput::Authorized(_, msk) => {
                    self.tell(Event::Authorized { has_keys: msk.is_some() });
                }
                AuthenticatorOutput::Install(_, key) => self.tell(Event::Key(key)),
                AuthenticatorOutput::Ended(station, why) => {
                    self.eap.forget(station);
                    self.tell(Event::Refused(why.to_string()));
                }
            }
        }
    }

    fn serve(&mut self, station: MacAddr, eap: Option<Eap>, cx: &mut Ctx<'_>) {
        let Some(eap) = eap else { return };
        let outputs = self.pae.on_eap(station, eap, cx).unwrap_or_default();
        self.perform(outputs, cx);
    }

    fn tell(&mut self, event: Event) {
        self.desk.out.push_back(Output::Event(event));
    }
}

impl Engine for Port {
    type Command = ();
    type Event = Event;

    fn handle(&mut self, input: Input<'_, ()>, cx: &mut Ctx<'_>) {
        let outputs = match input {
            Input::Datagram { from: Addr::Mac(station), bytes, .. } => {
                self.pae.on_pdu(station, pdu(bytes), cx).unwrap_or_default()
            }
            Input::Tick => self.pae.tick(cx),
            _ => Vec::new(),
        };
        self.perform(outputs, cx);
    }

    fn poll(&mut self) -> Option<Output<Event>> {
        self.desk.out.pop_front()
    }

    fn deadline(&self) -> Option<Deadline> {
        self.pae.deadline()
    }
}

/// Runs one of ours at the end of the cable in a place, until it has reported so many events or its time is over. `meanwhile` runs
/// beside it once it listens.
fn run<E: Engine<Command = (), Event = Event>, R>(
    place: &Place,
    make: impl FnOnce(MacAddr) -> E + Send,
    event_count: usize,
    meanwhile: impl FnOnce() -> R,
) -> (Vec<Event>, R) {
    let (listens, ready) = std::sync::mpsc::channel();
    thread::scope(|scope| {
        let ours = scope.spawn(move || {
            enter(place);
            let at = OnLink {
                interface: "eth0".to_owned(),
                ether_type: ETHER_TYPE,
                groups: vec![PAE_GROUP_ADDRESS],
                protocol: EAPOL,
            };
            let sockets = Sockets::bind(&[]).expect("nothing to bind");
            let sockets = sockets.on_links(&[at]).unwrap_or_else(|why| panic!("{why}"));
            let &[Addr::Mac(address)] = &sockets.addresses()[..] else {
                panic!("one interface has one address")
            };
            let mut driver = Driver::new(make(address), Real::default(), sockets);
            listens.send(()).expect("somebody waits");
            driver.command((), &mut NoTrace);
            let (begun, mut events) = (Instant::now(), Vec::new());
            while events.len() < event_count && begun.elapsed() < LIMIT {
                events.extend(driver.next_event(Duration::from_millis(100), &mut NoTrace));
            }
            // Let what was sent last arrive.
            driver.next_event(Duration::from_millis(300), &mut NoTrace);
            events
        });
        // If our side cannot listen, its panic is reported below.
        let _ = ready.recv_timeout(LIMIT);
        let done = meanwhile();
        (ours.join().unwrap_or_else(|why| std::panic::resume_unwind(why)), done)
    })
}

/// Moves this thread into a namespace.
fn enter(place: &Place) {
    let Place::Namespace(name) = place else { panic!("the lab's places are namespaces") };
    let namespace = File::open(format!("/run/netns/{name}")).expect("the lab made the namespace");
    setns(namespace, CloneFlags::CLONE_NEWNET).expect("root may enter a namespace");
}

/// Runs our supplicant in the device's place.
pub fn supplicant(lab: &Lab, login: &Login, pki: &Pki, event_count: usize) -> Vec<Event> {
    let config = peer(login, pki);
    run(&lab.place(Node::Ue), |address| Device::new(address, config), event_count, || ()).0
}

/// Runs our authenticator in the gateway's place, and `meanwhile` beside it.
pub fn authenticator<R>(
    lab: &Lab,
    login: &Login,
    pki: &Pki,
    wep: Option<WepConfig>,
    event_count: usize,
    meanwhile: impl FnOnce() -> Result<R, Trouble>,
) -> (Vec<Event>, Result<R, Trouble>) {
    let config = server(login, pki);
    run(&lab.place(Node::Gw), |address| Port::new(address, config, wep), event_count, meanwhile)
}

/// The device's method.
fn peer(login: &Login, pki: &Pki) -> Arc<PeerConfig> {
    let tls = login.method.tls.map(|_| tls(login, tls_client(&client_config(login, pki)).expect(USABLE)));
    peer_config(login.method.eap.name, USER, login.password, tls)
}

/// The server's method.
fn server(login: &Login, pki: &Pki) -> Arc<ServerConfig> {
    let tls = login.method.tls.map(|_| tls(login, tls_server(&server_config(login, pki)).expect(USABLE)));
    eap_sides::server_config(login.method.eap.name, USER, PASSWORD, tls)
}

const USABLE: &str = "the lab's certificates are usable";

fn tls(login: &Login, tunnels: Arc<dyn Tunnels>) -> TlsParts {
    let binding = login.method.binding.unwrap_or(Binding::Off);
    TlsParts { tunnels, framing: Framing::default(), binding }
}

fn common(login: &Login) -> Config {
    let version = match login.method.tls {
        Some(eap::Version::Tls13) => Version::Tls13,
        Some(eap::Version::Tls12) | None => Version::Tls12,
    };
    Config { oldest: version, newest: version, ..Config::new() }
}

fn client_config(login: &Login, pki: &Pki) -> Config {
    let server_name =
        |names: &[AlternativeName]| names.contains(&AlternativeName::Dns(Node::Aaa.id().to_owned()));
    Config {
        credential: login.method.has_certificate().then(|| credential(pki, Node::Ue)),
        trust: Some(anchors(pki, Purpose::TlsServer)),
        name: Some(Arc::new(move |peer| server_name(&peer.alternatives))),
        ..common(login)
    }
}

fn server_config(login: &Login, pki: &Pki) -> Config {
    Config {
        credential: Some(credential(pki, Node::Aaa)),
        trust: login.method.has_certificate().then(|| anchors(pki, Purpose::TlsClient)),
        ..common(login)
    }
}

fn credential(pki: &Pki, node: Node) -> Credential {
    let chain = pem::load_certificates(&pki.certificate(node)).expect(USABLE);
    let key = pem::load_private_key(&pki.key(node)).expect(USABLE);
    Credential { chain: chain.into(), key: keys::from_pkcs8(&key).expect(USABLE) }
}

fn anchors(pki: &Pki, purpose: Purpose) -> Arc<dyn Trust> {
    let roots = pem::load_certificates(&pki.root_certificate()).expect(USABLE);
    let anchors = Anchors::new(roots.iter().map(Vec::as_slice), unix_seconds(), &mut Real::default());
    Arc::new(anchors.expect(USABLE).for_purpose(purpose))
}

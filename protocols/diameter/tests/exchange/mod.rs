//! Properties that hold for arbitrary bytes: the functions behind `tests/corpus.rs` and the fuzz targets `diameter_codec` and
//! `diameter_engines`. RFC 6733 §3 and §5.
//!
//! In `diameter_engines` a genuine client and a genuine server talk, and the bytes alter everything in transit:
//!
//!   0 Wanted(1) Count(1)         the client's owner asks
//!   1                            the next message in flight arrives
//!   2                            it gets lost
//!   3 At(2) Byte(1)              it arrives with another byte
//!   4 Command(1) Application(1) Flags(1) Length(2) AVPs(*)
//!                                a message around these AVPs arrives: a request at the server, else the answer to the
//!                                client's last request
//!   5 Length(2) Bytes(*)         these bytes arrive at both
//!   6                            the client's next deadline passes
//!   7                            the client's owner disconnects
//!   8 Which(1)                   an earlier message is replayed

#![allow(dead_code, reason = "a fuzz target uses its part of it")]

use std::collections::{BTreeMap, VecDeque};

use keytoll_crypto::Null;
use keytoll_crypto_api::{Crypto, Rng, Secret};
use keytoll_diameter::number::{AvpCode, application, command};
use keytoll_diameter::server::VectorSource;
use keytoll_diameter::wire::{Avps, Builder, Header, Message};
use keytoll_diameter::{Client, Name, Refusal, Request, Server, Vector, Wanted, client, server};
use keytoll_engine::trace::NoTrace;
use keytoll_engine::{Ctx, Datagram, Engine, Input, Output, Time};
use keytoll_net::{Addr, Socket, wire::Reader};

/// Decodes a message and its contents; a header is the same after encoding and decoding again.
pub(crate) fn check(bytes: &[u8]) -> bool {
    let Ok(message) = Message::read(bytes) else { return false };
    walk(&message.avps, 0);
    let again = Builder::new(message.header).finish();
    assert_eq!(Message::read(&again).map(|again| again.header), Ok(message.header));
    true
}

/// Decodes everything that a message may contain; only termination matters.
fn walk(avps: &Avps<'_>, depth: usize) {
    const GROUPS: [AvpCode; 6] = [
        AvpCode::VENDOR_SPECIFIC_APPLICATION_ID,
        AvpCode::EXPERIMENTAL_RESULT,
        AvpCode::SIP_AUTH_DATA_ITEM,
        AvpCode::REQUESTED_EUTRAN_AUTHENTICATION_INFO,
        AvpCode::AUTHENTICATION_INFO,
        AvpCode::E_UTRAN_VECTOR,
    ];
    let _ = (avps.text(AvpCode::USER_NAME), avps.u32(AvpCode::RESULT_CODE), avps.array::<16>(AvpCode::RAND));
    if depth < 4 {
        for code in GROUPS {
            avps.groups(code).flatten().for_each(|group| walk(&group, depth + 1));
        }
    }
}

/// A subscriber database that has everybody, within limits.
struct Source;

impl VectorSource for Source {
    fn vectors(&mut self, request: &Request, _: &mut dyn Crypto) -> Result<Vec<Vector>, Refusal> {
        let secret = |len| Secret::new(vec![7; len]);
        let vector = match request.wanted {
            Wanted::Sim => Vector::Gsm { rand: [1; 16], sres: secret(4), kc: secret(8) },
            _ => {
                Vector::Umts { rand: [1; 16], autn: [2; 16], xres: secret(8), ck: secret(16), ik: secret(16) }
            }
        };
        match request.imsi.as_str() {
            "1" => Err(Refusal::UserUnknown),
            _ => Ok(vec![vector; request.count as usize]),
        }
    }
}

const OUTSTANDING_MAX: usize = 8;
/// The number of messages remembered for replay, and the maximum number in flight.
const WIRE_MAX: usize = 64;
/// More deadlines than any request has.
const TICKS_MAX: usize = 1000;

/// A client, a server, and the link between them.
struct Table {
    client: Client,
    server: Server<Source>,
    now: Time,
    wire: VecDeque<Datagram>,
    said: Vec<Datagram>,
    /// The header of the client's last request.
    asked: Option<Header>,
    /// How often each question was answered.
    answers: BTreeMap<u64, usize>,
}

/// Runs the bytes; returns how many questions got vectors.
///
/// # Panics
/// If an invariant does not hold.
pub(crate) fn run(bytes: &[u8]) -> usize {
    let mut r = Reader::new(bytes);
    let mut table = Table::new();
    let mut served = 0;
    while let Some(more) = table.step(&mut r) {
        served += more;
        assert!(table.client.outstanding() <= OUTSTANDING_MAX + 2, "requests are bounded");
    }
    served + table.close()
}

fn addr(last: u8) -> Socket {
    Socket::new([10, 0, 0, last].into(), 3868)
}

fn name(host: &str) -> Name {
    Name { host: format!("{host}.example.org"), realm: "example.org".into() }
}

impl Table {
    fn new() -> Self {
        let mut config = client::Config::new(addr(1), addr(2), name("aaa"), "example.org".into());
        config.outstanding_max = OUTSTANDING_MAX;
        Self {
            client: Client::new(config, &mut Rng::named(1, "aaa/diameter")),
            server: Server::new(server::Config::new(addr(2), name("hss")), Source),
            now: Time::ZERO,
            wire: VecDeque::new(),
            said: Vec::new(),
            asked: None,
            answers: BTreeMap::new(),
        }
    }

    /// How many questions got vectors.
    fn step(&mut self, r: &mut Reader<'_>) -> Option<usize> {
        Some(match r.u8("step").ok()? % 10 {
            0 => {
                let [wanted, count] = r.array("question").ok()?;
                self.ask(wanted, count)
            }
            1 => self.arrive(|_| {}),
            2 => {
                self.wire.pop_front();
                0
            }
            3 => {
                let (at, byte) = (usize::from(r.u16("at").ok()?), r.u8("byte").ok()?);
                self.arrive(|bytes| {
                    let at = at % bytes.len();
                    bytes[at] = byte;
                })
            }
            4 => {
                let [which, application, flags] = r.array("message").ok()?;
                let avps = taken(r)?;
                self.made_up(which, application, flags, avps)
            }
            5 => {
                let bytes = taken(r)?;
                self.tell_server(addr(1), bytes);
                self.tell_client(bytes)
            }
            6 => self.tick().unwrap_or(0),
            7 => self.client(Input::Command(client::Command::Disconnect)),
            9 => self.cut(),
            _ => {
                let which = usize::from(r.u8("which").ok()?);
                let earlier = self.said.get(which % self.said.len().max(1)).cloned();
                earlier.map_or(0, |datagram| self.deliver(&datagram))
            }
        })
    }

    fn ask(&mut self, wanted: u8, count: u8) -> usize {
        let id = self.answers.len() as u64;
        self.answers.insert(id, 0);
        let wanted = match wanted % 4 {
            0 => Wanted::Sim,
            1 => Wanted::Aka,
            2 => Wanted::AkaPrime(b"WLAN".to_vec()),
            _ => Wanted::Eps([0, 0xf1, 0x10]),
        };
        let (imsi, count) = (format!("{}", count % 3), u32::from(count) % 8 + 1);
        let request = Request { imsi, wanted, count, resynchronisation: None };
        self.client(Input::Command(client::Command::Ask { id, request }))
    }

    fn arrive(&mut self, change: impl FnOnce(&mut Vec<u8>)) -> usize {
        let Some(mut datagram) = self.wire.pop_front() else { return 0 };
        change(&mut datagram.bytes);
        self.deliver(&datagram)
    }

    fn deliver(&mut self, datagram: &Datagram) -> usize {
        if datagram.to == Addr::Tcp(addr(1)) {
            return self.tell_client(&datagram.bytes);
        }
        self.tell_server(datagram.from.socket().unwrap(), &datagram.bytes);
        0
    }

    fn made_up(&mut self, which: u8, of: u8, flags: u8, avps: &[u8]) -> usize {
        let commands = [
            command::CAPABILITIES_EXCHANGE,
            command::DEVICE_WATCHDOG,
            command::DISCONNECT_PEER,
            command::MULTIMEDIA_AUTH,
            command::AUTHENTICATION_INFORMATION,
        ];
        let command = commands.get(usize::from(which)).copied().unwrap_or(u32::from(which));
        let application = [application::BASE, application::SWX, application::S6A][usize::from(of % 3)];
        let made_up = Header { flags, command, application, hop_by_hop: 1, end_to_end: 2 };
        if made_up.is_request() {
            self.tell_server(addr(1), &around(made_up, avps));
            return 0;
        }
        let header = self.asked.map_or(made_up, |asked| Header { flags, ..asked });
        self.tell_client(&around(header, avps))
    }

    fn tell_client(&mut self, bytes: &[u8]) -> usize {
        self.client(Input::Datagram { from: Addr::Tcp(addr(2)), to: Addr::Tcp(addr(1)), bytes })
    }

    fn client(&mut self, input: Input<'_, client::Command>) -> usize {
        let mut cx = Ctx { now: self.now, crypto: &mut Null, trace: &mut NoTrace };
        self.client.handle(input, &mut cx);
        self.drain()
    }

    /// Processes the client's outputs.
    fn drain(&mut self) -> usize {
        let mut served = 0;
        while let Some(output) = self.client.poll() {
            match output {
                Output::Datagram(datagram) => self.send(datagram),
                Output::Event(client::Event::Answered { id, vectors }) => {
                    *self.answers.get_mut(&id).expect("what is answered was asked") += 1;
                    assert!(
                        vectors.as_ref().map_or(true, |vectors| !vectors.is_empty()),
                        "none is no answer"
                    );
                    served += usize::from(vectors.is_ok());
                }
                Output::Event(client::Event::Down) | Output::Close { .. } => {}
                Output::Inner(_) => unreachable!("Diameter carries no packets of users"),
            }
        }
        served
    }

    fn tell_server(&mut self, from: Socket, bytes: &[u8]) {
        let mut cx = Ctx { now: self.now, crypto: &mut Null, trace: &mut NoTrace };
        self.server.handle(Input::Datagram { from: Addr::Tcp(from), to: Addr::Tcp(addr(2)), bytes }, &mut cx);
        while let Some(output) = self.server.poll() {
            if let Output::Datagram(datagram) = output {
                self.send(datagram);
            }
        }
    }

    fn send(&mut self, datagram: Datagram) {
        let message = Message::read(&datagram.bytes).expect("what we say can be read");
        if message.header.is_request() {
            self.asked = Some(message.header.answer());
        }
        if self.said.len() < WIRE_MAX {
            self.said.push(datagram.clone());
        }
        if self.wire.len() < WIRE_MAX {
            self.wire.push_back(datagram);
        }
    }

    /// Breaks the stream, with everything on it.
    fn cut(&mut self) -> usize {
        self.wire.clear();
        let mut cx = Ctx { now: self.now, crypto: &mut Null, trace: &mut NoTrace };
        self.server.handle(Input::Lost { peer: Addr::Tcp(addr(1)), local: Addr::Tcp(addr(2)) }, &mut cx);
        self.client.handle(Input::Lost { peer: Addr::Tcp(addr(2)), local: Addr::Tcp(addr(1)) }, &mut cx);
        self.drain()
    }

    /// Advances to the client's next deadline, if there is one.
    fn tick(&mut self) -> Option<usize> {
        self.now = self.now.max(self.client.deadline()?.at);
        Some(self.client(Input::Tick))
    }

    /// The link is cut, time passes, and every question must have had one answer.
    fn close(&mut self) -> usize {
        let mut served = 0;
        for tick in 0.. {
            assert!(tick < TICKS_MAX, "{} requests never end", self.client.outstanding());
            match (self.client.outstanding(), self.tick()) {
                (0, _) | (_, None) => break,
                (_, Some(more)) => served += more,
            }
        }
        let often: Vec<_> = self.answers.values().filter(|&&often| often != 1).collect();
        assert!(often.is_empty(), "a question has one answer, not {often:?}");
        served
    }
}

/// Length(2) and so many bytes, or what is left.
fn taken<'a>(r: &mut Reader<'a>) -> Option<&'a [u8]> {
    let length = usize::from(r.u16("length").ok()?).min(r.len());
    r.take(length, "bytes").ok()
}

/// A message around unaltered AVPs.
fn around(header: Header, avps: &[u8]) -> Vec<u8> {
    let mut bytes = [&Builder::new(header).finish()[..], avps].concat();
    bytes.truncate(bytes.len() / 4 * 4);
    let length = u32::try_from(bytes.len()).expect("16 bits of AVPs").to_be_bytes();
    bytes[1..4].copy_from_slice(&length[1..]);
    bytes
}

/// Conversations about everything, as steps: unaltered, and with every message written out.
pub(crate) fn seeds() -> Vec<(String, Vec<u8>)> {
    let mut seeds = Vec::new();
    for wanted in 0..4 {
        let ask = [0, wanted, 3];
        let through = [&ask[..], &[1; 4], &ask, &[1; 2], &[7], &[1; 2]].concat();
        seeds.push((format!("through-{wanted}"), through.clone()));
        seeds.push((format!("cut-{wanted}"), [&ask[..], &[1, 1, 1, 9, 6], &[1; 6], &[7, 9]].concat()));
        seeds.push((format!("lost-{wanted}"), [&ask[..], &[2, 6, 1, 1, 2, 6, 1, 1, 6, 1, 1]].concat()));
        let mut table = Table::new();
        let mut r = Reader::new(&through);
        while table.step(&mut r).is_some() {}
        let spelt: Vec<u8> = table.said.iter().flat_map(|said| spelt(&said.bytes)).collect();
        seeds.push((format!("spelt-{wanted}"), [&ask[..], &spelt].concat()));
    }
    seeds
}

/// The messages of the same conversations.
pub(crate) fn messages() -> Vec<(String, Vec<u8>)> {
    let mut messages = Vec::new();
    for wanted in 0..4 {
        let mut table = Table::new();
        table.ask(wanted, 3);
        assert_eq!((0..4).map(|_| table.arrive(|_| {})).sum::<usize>(), 1, "one question, one answer");
        let of =
            |(n, datagram): (usize, &Datagram)| (format!("message-{wanted}-{n}"), datagram.bytes.clone());
        messages.extend(table.said.iter().enumerate().map(of));
    }
    messages
}

/// A step that delivers this message.
fn spelt(message: &[u8]) -> Vec<u8> {
    let header = Message::read(message).expect("what we say can be read").header;
    let which = match header.command {
        command::CAPABILITIES_EXCHANGE => 0,
        command::DEVICE_WATCHDOG => 1,
        command::DISCONNECT_PEER => 2,
        command::MULTIMEDIA_AUTH => 3,
        _ => 4,
    };
    let of = match header.application {
        application::BASE => 0,
        application::SWX => 1,
        _ => 2,
    };
    let avps = &message[20..];
    let length = u16::try_from(avps.len()).expect("short messages").to_be_bytes();
    [&[4, which, of, header.flags], &length[..], avps].concat()
}

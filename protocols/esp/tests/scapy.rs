//! Packets that scapy protected, ESP and AH, opened; and AH made again, byte for byte, for nothing in it is drawn by lot.
//! Some of AH have a route in their headers, RFC 4302 §3.3.3.1.

use crate::support;

use keytoll_crypto::Real;
use keytoll_crypto_api::algorithm::{Encryption, Integrity};
use keytoll_crypto_api::{Secret, TrafficKey};
use keytoll_esp::lifetime::Lifetime;
use keytoll_esp::replay::Window;
use keytoll_esp::sad::{Headers, Mode, OuterHeader, Path, Start};
use keytoll_esp::selector::{Addresses, Selectors};
use keytoll_esp::{Dropped, Frame, Inbound, PairConfig, ah};
use keytoll_net::{Addr, ip::Header};
use support::{HITS, Host, Room, beet, hex};

/// A line of the file.
struct Line {
    is_ah: bool,
    key: TrafficKey,
    high: Option<u64>,
    sequence: u64,
    before: Vec<u8>,
    after: Vec<u8>,
}

impl Line {
    fn read(line: &str) -> Self {
        let fields: Vec<_> = line.split(' ').collect();
        let &[kind, encryption, key, integrity, integrity_key, high, sequence, before, after] = &fields[..]
        else {
            panic!("nine fields: {line}")
        };
        let secret = |digits| Secret::new(hex(digits));
        let encryption = Encryption::named(encryption).unwrap_or(Encryption::Null);
        let high: Option<u64> = high.parse().ok();
        Self {
            is_ah: kind == "ah",
            key: TrafficKey::new(encryption, Integrity::named(integrity), secret(key), secret(integrity_key)),
            high,
            sequence: high.unwrap_or(0) << 32 | sequence.parse::<u64>().expect("a number"),
            before: hex(before),
            after: hex(after),
        }
    }

    fn is_tunnel(&self) -> bool {
        header(&self.after).source() != header(&self.before).source()
    }

    fn name(&self) -> String {
        format!(
            "{} {:?} ah {} tunnel {} esn {:?}",
            header(&self.before).source(),
            self.key,
            self.is_ah,
            self.is_tunnel(),
            self.high
        )
    }
}

fn header(packet: &[u8]) -> Header {
    Header::read(packet).expect("an IP packet")
}

fn lines(is_ah: bool) -> Vec<Line> {
    let text = include_str!("published/scapy.txt");
    let lines = text.lines().filter(|line| line.starts_with("esp ") || line.starts_with("ah "));
    lines.map(Line::read).filter(|line| line.is_ah == is_ah).collect()
}

#[test]
fn esp_is_opened() {
    let lines = lines(false);
    assert_eq!(lines.len(), 89);
    for line in lines {
        let mut inbound =
            Inbound::with(0x222, line.key.clone(), line.high.is_some(), Window::default(), Lifetime::NONE);
        inbound.resume_after(line.sequence - 1);
        let mut packet = line.after[header(&line.after).header_len..].to_vec();
        let mut frame = Frame::whole(&mut packet);
        let opened = inbound.open(&mut frame, &mut Real::default(), &mut ());
        let inner = if line.is_tunnel() { 0 } else { header(&line.before).header_len };
        assert_eq!(frame.bytes(), &line.before[inner..], "{}: {opened:?}", line.name());
    }
}

/// With everything around: the IP packet that scapy made becomes the one it was made from.
#[test]
fn ip_packets_come_back_as_they_were() {
    for line in lines(false).into_iter().filter(|line| line.high.is_none()) {
        let (inner, outer) = (header(&line.before), header(&line.after));
        let mut host = Host::with(PairConfig {
            inbound_spi: 0x222,
            outbound_spi: 0x222,
            inbound_key: line.key.clone(),
            outbound_key: line.key.clone(),
            esn: false,
            mode: if line.is_tunnel() { Mode::Tunnel } else { Mode::Transport },
            selectors: Selectors::between(
                Addresses::one(inner.destination()),
                Addresses::one(inner.source()),
            ),
            path: Path {
                local: Addr::Ip { ip: outer.destination(), protocol: 50 },
                remote: Addr::Ip { ip: outer.source(), protocol: 50 },
                headers: Headers::Here(OuterHeader::default()),
            },
            follows_peer: false,
            original: None,
            replay_window: 32,
            lifetime: Lifetime::NONE,
            start: Start::Now,
        });
        let (arrived, packet) =
            host.receive_packet(&line.after).unwrap_or_else(|why| panic!("{}: {why}", line.name()));
        assert_eq!(packet, line.before, "{}", line.name());
        assert_eq!((arrived.flow.protocol(), arrived.flow.ports()), (6, Some((45012, 80))));
    }
}

/// RFC 7402 §B.1.2: what scapy made in transport mode is a packet of BEET mode, and its payload is between the HITs.
#[test]
fn transport_mode_comes_out_between_hits() {
    let lines: Vec<_> = lines(false).into_iter().filter(|line| !line.is_tunnel()).collect();
    assert!(lines.len() > 30, "{}", lines.len());
    for line in lines {
        let outer = header(&line.after);
        let at = |ip| Addr::Ip { ip, protocol: 50 };
        let headers = Headers::Here(OuterHeader::default());
        let path = Path { local: at(outer.destination()), remote: at(outer.source()), headers };
        let mut host = Host::with(PairConfig { inbound_spi: 0x222, path, ..beet(1, &line.key) });
        // Extended sequence numbers do not begin at the first one here.
        if line.high.is_some() {
            continue;
        }
        let (arrived, packet) =
            host.receive_packet(&line.after).unwrap_or_else(|why| panic!("{}: {why}", line.name()));
        let payload = &line.before[header(&line.before).header_len..];
        assert_eq!((arrived.header_len, &packet[40..]), (40, payload), "{}", line.name());
        let inner = header(&packet);
        assert_eq!([inner.source(), inner.destination()], HITS.map(support::ip));
        assert_eq!(
            (inner.class, packet[7], inner.protocol),
            (outer.class, line.after[if outer.is_v4 { 8 } else { 7 }], 6)
        );
    }
}

#[test]
fn ah_is_checked_and_made_again() {
    let lines = lines(true);
    assert_eq!(lines.len(), 32);
    for line in lines {
        check_opened(&line);
        if !line.is_tunnel() {
            let mut outbound = ah::Outbound::new(0x222, line.key.clone(), line.high.is_some());
            outbound.resume_after(line.sequence - 1);
            let mut room = Room::around(&line.before);
            let mut frame = room.frame();
            outbound
                .seal(&mut frame, &mut Real::default())
                .unwrap_or_else(|why| panic!("{}: {why}", line.name()));
            assert_eq!(frame.bytes(), line.after, "{}", line.name());
        }
    }
}

fn check_opened(line: &Line) {
    let mut inbound = ah::Inbound::new(0x222, line.key.clone(), line.high.is_some(), Window::default());
    inbound.resume_after(line.sequence - 1);
    let mut open = |packet: &[u8]| {
        let mut packet = packet.to_vec();
        let mut frame = Frame::whole(&mut packet);
        inbound.open(&mut frame, &mut Real::default())?;
        Ok(frame.bytes().to_vec())
    };
    // What routers change does not matter, everything else does.
    let mut hopped = line.after.clone();
    let (hop_limit, immutable) = if hopped[0] >> 4 == 4 { (8, 12) } else { (7, 8) };
    hopped[hop_limit] -= 1;
    for at in [immutable, header(&hopped).header_len + 8, hopped.len() - 1] {
        let mut damaged = hopped.clone();
        damaged[at] ^= 1;
        let why = open(&damaged).expect_err("it was changed");
        assert!(matches!(why, Dropped::Integrity | Dropped::Replay), "{} at {at}: {why}", line.name());
    }
    check_cut(line);
    let mut packet = open(&hopped).unwrap_or_else(|why| panic!("{}: {why}", line.name()));
    assert_eq!(open(&hopped), Err(Dropped::Replay));
    let used = inbound.used();
    assert_eq!((used.packets, used.bytes), (1, packet.len() as u64), "{}", line.name());
    let inner = if line.is_tunnel() { header(&packet).header_len } else { 0 };
    if inner == 0 {
        // The hop is in the packet, and in its checksum.
        packet[hop_limit] += 1;
        if packet[0] >> 4 == 4 {
            packet[10..12].copy_from_slice(&line.before[10..12]);
        }
    }
    assert_eq!(packet[inner..], line.before, "{}", line.name());
}

/// A packet that ends inside AH, by the length in its header, is malformed.
fn check_cut(line: &Line) {
    let header_len = header(&line.after).header_len;
    let ah_len = 4 * (usize::from(line.after[header_len + 1]) + 2);
    for len in header_len..header_len + ah_len {
        let mut packet = line.after[..len].to_vec();
        let (at, value) = if packet[0] >> 4 == 4 { (2, len) } else { (4, len - 40) };
        packet[at..at + 2].copy_from_slice(&(value as u16).to_be_bytes());
        let mut inbound = ah::Inbound::new(0x222, line.key.clone(), line.high.is_some(), Window::default());
        let why = inbound.open(&mut Frame::whole(&mut packet), &mut Real::default());
        assert!(matches!(why, Err(Dropped::Malformed(_))), "{} cut at {len}: {why:?}", line.name());
    }
}

/// A packet whose destination changes on its way.
struct Route<'a> {
    name: &'a str,
    key: TrafficKey,
    sequence: u64,
    before: Vec<u8>,
    sent: Vec<u8>,
    arrived: Vec<u8>,
}

impl<'a> Route<'a> {
    fn read(line: &'a str) -> Self {
        let fields: Vec<_> = line.split(' ').collect();
        let &[name, integrity, key, sequence, before, sent, arrived] = &fields[..] else {
            panic!("seven fields: {line}")
        };
        let [none, key] = [Secret::default(), Secret::new(hex(key))];
        Self {
            name,
            key: TrafficKey::new(Encryption::Null, Integrity::named(integrity), none, key),
            sequence: sequence.parse().expect("a number"),
            before: hex(before),
            sent: hex(sent),
            arrived: hex(arrived),
        }
    }

    fn seal(&self, packet: &[u8]) -> Result<Vec<u8>, Dropped> {
        let mut outbound = ah::Outbound::new(0x222, self.key.clone(), false);
        outbound.resume_after(self.sequence - 1);
        let mut room = Room::around(packet);
        let mut frame = room.frame();
        outbound.seal(&mut frame, &mut Real::default())?;
        Ok(frame.bytes().to_vec())
    }

    fn open(&self, packet: &[u8]) -> Result<Vec<u8>, Dropped> {
        let mut inbound = ah::Inbound::new(0x222, self.key.clone(), false, Window::default());
        inbound.resume_after(self.sequence - 1);
        let mut packet = packet.to_vec();
        let mut frame = Frame::whole(&mut packet);
        inbound.open(&mut frame, &mut Real::default())?;
        Ok(frame.bytes().to_vec())
    }
}

fn routes() -> Vec<Route<'static>> {
    let lines = include_str!("published/scapy-routes.txt").lines();
    let routes: Vec<_> =
        lines.filter(|line| !line.starts_with('#') && !line.is_empty()).map(Route::read).collect();
    assert_eq!(routes.len(), 10);
    routes
}

/// RFC 4302 §3.3.3.1: source routes and routing headers count as they are when they arrive, and so does the destination.
#[test]
fn a_route_counts_as_it_arrives() {
    for route in routes() {
        let opened = route.open(&route.arrived).unwrap_or_else(|why| panic!("{}: {why}", route.name));
        let ah_len = route.arrived.len() - route.before.len();
        assert_eq!(opened.len() + ah_len, route.arrived.len(), "{}", route.name);
        assert!(opened.ends_with(b"testdata"), "{}", route.name);
        // Destination options without a route behind them are for the receiver alone: we protect them, scapy does not.
        if route.name == "destopt" {
            continue;
        }
        let sealed = route.seal(&route.before).unwrap_or_else(|why| panic!("{}: {why}", route.name));
        assert_eq!(sealed, route.sent, "{}", route.name);
    }
}

#[test]
fn where_a_packet_goes_cannot_be_changed() {
    for route in routes() {
        let end = header(&route.arrived).header_len;
        for destination in if route.arrived[0] >> 4 == 4 { 16..20 } else { 24..40 } {
            let mut damaged = route.arrived.clone();
            damaged[destination] ^= 1;
            assert_eq!(route.open(&damaged), Err(Dropped::Integrity), "{}", route.name);
        }
        // Whatever headers say, nothing falls over, and nothing else is sealed than what was asked for.
        for (at, bit) in (0..end).flat_map(|at| (0..8).map(move |bit| (at, 1 << bit))) {
            let (mut arrived, mut before) = (route.arrived.clone(), route.before.clone());
            arrived[at] ^= bit;
            let _ = route.open(&arrived);
            if let Some(byte) = before.get_mut(at) {
                *byte ^= bit;
                let _ = route.seal(&before);
            }
        }
    }
}

/// Who is on the way is not the receiver: it could not know what it would have to check.
#[test]
fn a_route_that_is_not_at_its_end_is_not_checked() {
    for route in routes().iter().filter(|route| route.name != "destopt") {
        let why = route.open(&route.sent).expect_err(route.name);
        let Dropped::Malformed(error) = why else { panic!("{}: {why}", route.name) };
        assert!(["Segments Left", "pointer of the source route"].contains(&error.field), "{error}");
    }
}

/// RFC 4302 §3.4.1: AH knows no fragments, and a fragment header of a packet that was never cut would go on reassembly.
#[test]
fn a_fragment_header_that_says_nothing_is_reassembly_s_business() {
    let route = routes().into_iter().find(|route| route.name == "destopt").expect("it is there");
    let atomic = |packet: &[u8]| {
        let payload = packet.len() as u16 - 40 + 8;
        let head = [&packet[..4], &payload.to_be_bytes(), &[44], &packet[7..40]].concat();
        [&head[..], &[packet[6], 0, 0, 0, 0, 0, 0, 1], &packet[40..]].concat()
    };
    assert_eq!(route.open(&atomic(&route.arrived)), Err(Dropped::Fragment));
    assert_eq!(route.seal(&atomic(&route.before)), Err(Dropped::Fragment));
}

/// RFC 791 §3.1: a source route without addresses, or behind its last one, leads nowhere else; one with half an address is
/// none, and so is one whose pointer points into the middle of one.
#[test]
fn a_source_route_that_is_used_up_changes_nothing() {
    let route = &routes()[0];
    let with = |option: &[u8]| {
        let packet = &route.before;
        let len = 20 + option.len() as u16 + (packet.len() - header(packet).header_len) as u16;
        let words = 0x40 | (5 + option.len() / 4) as u8;
        let head = [&[words, packet[1]], &len.to_be_bytes()[..], &packet[4..20], option].concat();
        [&head, &packet[header(packet).header_len..]].concat()
    };
    // The last one is no route at all, but three times nothing.
    for used_up in [&[131, 3, 4, 0][..], &[131, 7, 8, 10, 3, 3, 3, 0], &[137, 4, 8, 0], &[1, 1, 1, 0]] {
        let before = with(used_up);
        let sealed = route.seal(&before).expect("there is nothing wrong with it");
        let opened = route.open(&sealed).expect("it was just sealed");
        assert_eq!(opened[12..], before[12..], "{used_up:?}");
    }
    for wrong in [&[131, 2, 4, 0][..], &[131, 3, 3, 0], &[137, 6, 4, 10, 3, 3, 0, 0]] {
        let why = route.seal(&with(wrong)).expect_err("half a route");
        let Dropped::Malformed(error) = why else { panic!("{why}") };
        assert_eq!((error.field, error.offset), ("length of the source route", 21));
    }
    for pointer in [0, 3, 5, 6] {
        let why = route.seal(&with(&[131, 7, pointer, 10, 3, 3, 3, 0])).expect_err("it points at no address");
        let Dropped::Malformed(error) = why else { panic!("{why}") };
        assert_eq!((error.field, error.offset), ("pointer of the source route", 22));
    }
}

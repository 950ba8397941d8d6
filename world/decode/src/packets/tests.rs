//! What our own writer writes comes back; what networks and attackers do to packets does no harm.

use keytoll_capture::{Seen, Writer};
use keytoll_diameter::DIAMETER;
use keytoll_diameter::wire::{Builder, Header, message::REQUEST};
use keytoll_ike::IKE;
use keytoll_ike::number::ExchangeType;
use keytoll_ike::wire::{Flags, MessageBuilder, Nonce, Payload};
use keytoll_net::OnWire;
use keytoll_radius::RADIUS;
use keytoll_rigs::FAMILIES;
use proptest::prelude::*;

use super::*;
use crate::read::Capture;

fn datagram(
    protocol: Protocol,
    at: fn(IpAddr, u16) -> Addr,
    port: u16,
    bytes: Vec<u8>,
    v6: bool,
) -> Datagram {
    let ip = |last: u8| -> IpAddr {
        if v6 {
            [0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, last].into()
        } else {
            [10, 0, 0, last].into()
        }
    };
    Datagram { protocol, from: at(ip(1), port), to: at(ip(2), port), bytes }
}

fn esp_at(ip: IpAddr, _: u16) -> Addr {
    Addr::Ip { ip, protocol: protocol::ESP }
}

fn icmp_at(ip: IpAddr, _: u16) -> Addr {
    Addr::Ip { ip, protocol: protocol::icmp(ip) }
}

fn ike(len: usize) -> Vec<u8> {
    let header = keytoll_ike::wire::Header::new((1 << 60, 0), ExchangeType::IKE_SA_INIT, Flags::INITIATOR, 0);
    let mut message = MessageBuilder::plain(&header);
    message.push(&Payload::Nonce(Nonce { data: &[1; 16] }));
    let data = vec![5; len];
    message.push(&Payload::VendorId(keytoll_ike::wire::VendorId { data: &data }));
    message.finish()
}

fn radius() -> Vec<u8> {
    [&[1, 7, 0, 20][..], &[9; 16]].concat()
}

fn diameter(filler: usize) -> Vec<u8> {
    let header = Header { flags: REQUEST, command: 303, application: 1, hop_by_hop: 2, end_to_end: 3 };
    Builder::new(header).with(keytoll_diameter::number::AvpCode::USER_NAME, &vec![b'u'; filler]).finish()
}

/// The frames of a capture that our writer made of datagrams.
fn frames(datagrams: &[Datagram], mtu_bytes: u16) -> Vec<Frame> {
    let mut writer = Writer::new(Vec::new(), "test").unwrap();
    for (at_ns, datagram) in (1..).zip(datagrams) {
        let seen = Seen { at_ns, mtu_bytes, ..Seen::of(datagram, "ue-gw") };
        writer.datagram(&seen).unwrap();
    }
    Capture::new(&writer.finish().unwrap()[..]).unwrap().map(Result::unwrap).collect()
}

fn take(packets: &mut Packets, frames: &[Frame]) -> Vec<Passed> {
    frames.iter().flat_map(|frame| packets.take(frame)).collect()
}

/// Of every protocol and transport one, some longer than the link takes.
fn examples(v6: bool) -> Vec<Datagram> {
    let marked = [&[0; 4][..], &ike(30)].concat();
    let esp = |at, port| datagram(Protocol::ESP, at, port, vec![7; 700], v6);
    vec![
        datagram(IKE, Addr::udp, 500, ike(30), v6),
        datagram(IKE, Addr::udp, 4500, [&[0; 4][..], &ike(2000)].concat(), v6),
        datagram(IKE, Addr::udp, 45_001, marked, v6),
        datagram(RADIUS, Addr::udp, 1812, radius(), v6),
        datagram(RADIUS, Addr::udp, 11_812, radius(), v6),
        datagram(DIAMETER, Addr::tcp, 3868, diameter(10), v6),
        datagram(DIAMETER, Addr::tcp, 3868, diameter(3000), v6),
        datagram(DIAMETER, Addr::tcp, 13_868, diameter(100), v6),
        esp(Addr::udp, 4500),
        esp(Addr::udp, 45_001),
        esp(esp_at, 0),
        datagram(Protocol::ICMP, icmp_at, 0, vec![8, 0, 0, 0, 1, 1, 1, 1], v6),
    ]
}

#[test]
fn what_was_written_comes_back_with_its_packets_and_bytes() {
    for (v6, mtu) in [(false, 1500), (false, 576), (true, 1500), (true, 1280)] {
        let datagrams = examples(v6);
        let mut packets = Packets::new(FAMILIES);
        let passed = take(&mut packets, &frames(&datagrams, mtu));
        assert_eq!(packets.finish(), [], "{:?}", packets.skipped());
        assert_eq!(packets.skipped().total(), 0, "{:?}", packets.skipped());
        let read = passed.iter().map(|passed| &passed.datagram).collect::<Vec<_>>();
        assert_eq!(read, datagrams.iter().collect::<Vec<_>>());
        for passed in &passed {
            let on_wire = OnWire { packets: passed.packets, bytes: passed.wire_bytes };
            assert_eq!(
                OnWire::of(passed.datagram.to, passed.datagram.bytes.len(), mtu),
                Some(on_wire),
                "{:?}",
                passed.datagram.protocol
            );
        }
    }
}

#[test]
fn fragments_in_any_order_and_twice_are_one_datagram() {
    let mut frames = frames(&[datagram(IKE, Addr::udp, 500, ike(3000), false)], 1500);
    frames.reverse();
    frames.insert(1, frames[0].clone());
    let passed = take(&mut Packets::new(FAMILIES), &frames);
    assert_eq!((passed.len(), passed[0].packets, passed[0].datagram.bytes.len()), (1, 4, ike(3000).len()));
}

#[test]
fn a_fragment_that_never_passes_leaves_the_beginning() {
    let mut frames = frames(&[datagram(IKE, Addr::udp, 500, ike(3000), false)], 1500);
    frames.remove(1);
    let mut packets = Packets::new(FAMILIES);
    assert_eq!(take(&mut packets, &frames), []);
    let given_up = packets.finish();
    assert_eq!((given_up.len(), given_up[0].cut, given_up[0].packets), (1, Some(Cut::FragmentMissing), 2));
    assert_eq!(given_up[0].datagram.bytes, ike(3000)[..1472]);
}

#[test]
fn overlapping_fragments_are_not_put_together() {
    let mut frames = frames(&[datagram(IKE, Addr::udp, 500, ike(3000), false)], 1500);
    let mut forged = frames[1].clone();
    *forged.bytes.last_mut().unwrap() ^= 1;
    frames.insert(2, forged);
    let mut packets = Packets::new(FAMILIES);
    assert_eq!(take(&mut packets, &frames), []);
    assert!(packets.finish()[0].cut.is_some());
}

#[test]
fn open_fragments_are_bounded() {
    let first = &frames(&[datagram(IKE, Addr::udp, 500, ike(3000), false)], 1500)[0];
    let mut packets = Packets::new(FAMILIES);
    for identification in 0..5000_u16 {
        let mut frame = first.clone();
        frame.bytes[4..6].copy_from_slice(&identification.to_be_bytes());
        packets.take(&frame);
    }
    assert!(packets.finish().len() <= 257);
}

/// The bytes of one stream, cut into segments at other places.
fn segments(frame: &Frame, cuts: &[usize]) -> Vec<Frame> {
    const HEADERS: usize = 40;
    let (headers, data) = frame.bytes.split_at(HEADERS);
    let mut edges = cuts.iter().map(|cut| cut % data.len()).chain([0, data.len()]).collect::<Vec<_>>();
    edges.sort_unstable();
    edges.dedup();
    let segment = |from: usize, to: usize| {
        let mut bytes = [headers, &data[from..to]].concat();
        let sequence = u32::from_be_bytes(bytes[24..28].try_into().unwrap());
        bytes[24..28].copy_from_slice(&sequence.wrapping_add(from as u32).to_be_bytes());
        let total = bytes.len() as u16;
        bytes[2..4].copy_from_slice(&total.to_be_bytes());
        Frame { bytes, ..frame.clone() }
    };
    edges.windows(2).map(|edge| segment(edge[0], edge[1])).collect()
}

#[test]
fn messages_come_out_of_a_stream_in_any_order_of_its_segments() {
    let one = frames(&[datagram(DIAMETER, Addr::tcp, 3868, diameter(200), false)], 1500);
    let mut pieces = segments(&one[0], &[7, 30, 100]);
    // The first establishes the stream; the others come backwards, one of them twice.
    pieces[1..].reverse();
    pieces.insert(2, pieces[1].clone());
    let passed = take(&mut Packets::new(FAMILIES), &pieces);
    // Also the repeated one was on the wire.
    assert_eq!((passed.len(), passed[0].packets), (1, 5));
    assert_eq!(passed[0].datagram.bytes, diameter(200));
}

#[test]
fn a_stream_goes_on_after_a_gap() {
    let message = |_| datagram(DIAMETER, Addr::tcp, 3868, diameter(8), false);
    let mut frames = frames(&(0..100).map(message).collect::<Vec<_>>(), 1500);
    frames.remove(10);
    let passed = take(&mut Packets::new(FAMILIES), &frames);
    assert!(passed.len() > 90, "{}", passed.len());
}

#[test]
fn the_same_packet_at_two_points_is_one_a_repeated_packet_is_two() {
    let frame = &frames(&[datagram(IKE, Addr::udp, 500, ike(30), false)], 1500)[0];
    let elsewhere = Frame { interface: 1, at_ns: frame.at_ns + 1000, ..frame.clone() };
    let mut packets = Packets::new(FAMILIES);
    assert_eq!(take(&mut packets, &[frame.clone(), elsewhere.clone()]).len(), 1);
    assert_eq!(packets.skipped().total(), 1);
    let again = |frame: &Frame| Frame { at_ns: frame.at_ns + 1_000_000_000, ..frame.clone() };
    assert_eq!(take(&mut packets, &[again(frame), again(&elsewhere)]).len(), 1);
}

#[test]
fn links_of_every_kind_lead_to_the_packet() {
    let frame = &frames(&[datagram(IKE, Addr::udp, 500, ike(30), false)], 1500)[0];
    let with =
        |link_type, head: &[u8]| Frame { link_type, bytes: [head, &frame.bytes].concat(), ..frame.clone() };
    let mac = [2; 12];
    let cooked2 = [&[8, 0, 0, 0, 0, 0, 0, 3, 0, 1, 4, 6][..], &[0; 8]].concat();
    let links = [
        with(1, &[&mac[..], &[8, 0]].concat()),
        with(1, &[&mac[..], &[0x81, 0, 0, 5, 0x88, 0xa8, 0, 6, 8, 0]].concat()),
        with(113, &[&[0, 4, 0, 1, 0, 6][..], &[0; 8], &[8, 0]].concat()),
        with(276, &cooked2),
        with(0, &[2, 0, 0, 0]),
        with(0, &[0, 0, 0, 2]),
        with(108, &[0, 0, 0, 2]),
        with(101, &[]),
        with(228, &[]),
    ];
    for link in links {
        let mut packets = Packets::new(FAMILIES);
        let passed = packets.take(&link);
        assert_eq!(passed.len(), 1, "link type {}: {:?}", link.link_type, packets.skipped());
        for len in 0..link.bytes.len() {
            Packets::new(FAMILIES).take(&Frame { bytes: link.bytes[..len].to_vec(), ..link.clone() });
        }
    }
}

#[test]
fn what_is_of_no_use_is_counted_by_its_name() {
    let mut packets = Packets::new(FAMILIES);
    let frame = &frames(&[datagram(IKE, Addr::udp, 500, ike(30), false)], 1500)[0];
    let arp = Frame { link_type: 1, bytes: [&[2; 12][..], &[8, 6]].concat(), ..frame.clone() };
    let dns = datagram(IKE, Addr::udp, 53, vec![1; 30], false);
    take(&mut packets, &[&[arp.clone(), arp][..], &frames(&[dns], 1500)].concat());
    assert_eq!(packets.skipped().kinds(), [("ARP", 2), ("UDP port 53", 1)]);
    for kind in 0..1000 {
        packets.skipped.add(&kind.to_string(), 1);
    }
    assert_eq!(packets.skipped().kinds().len(), Skipped::KINDS_MAX + 1);
}

#[test]
fn a_short_snap_length_is_told() {
    let mut frame = frames(&[datagram(IKE, Addr::udp, 500, ike(300), false)], 1500).remove(0);
    let wire_bytes = frame.bytes.len() as u32;
    frame.bytes.truncate(96);
    let passed = Packets::new(FAMILIES).take(&frame);
    assert_eq!((passed[0].cut, passed[0].wire_bytes), (Some(Cut::Captured), wire_bytes));
    assert_eq!(passed[0].datagram.bytes, ike(300)[..68]);
}

proptest! {
    #[test]
    fn damaged_packets_do_no_harm(
        v6: bool, damage in prop::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>(), any::<u8>()), 0..12),
        order in any::<prop::sample::Index>(),
    ) {
        let mut frames = frames(&examples(v6), 576);
        for (which, at, byte) in damage {
            let bytes = &mut which.get(&frames).bytes.clone();
            let index = at.index(bytes.len());
            bytes[index] = byte;
            let which = which.index(frames.len());
            frames[which].bytes.clone_from(bytes);
        }
        let middle = order.index(frames.len());
        frames.rotate_left(middle);
        let mut packets = Packets::new(FAMILIES);
        take(&mut packets, &frames);
        packets.finish();
    }

    #[test]
    fn any_bytes_on_any_link_do_no_harm(link_type in 0_u16..300, bytes: Vec<u8>) {
        let frame = Frame { number: 1, at_ns: 0, link_type, interface: 0, bytes, original_bytes: 0, comment: None };
        let mut packets = Packets::new(FAMILIES);
        packets.take(&frame);
        packets.finish();
    }

    #[test]
    fn streams_survive_any_cut(cuts in prop::collection::vec(any::<usize>(), 0..10), swap: (usize, usize)) {
        let one = frames(&[datagram(DIAMETER, Addr::tcp, 3868, diameter(200), false)], 1500);
        let mut pieces = segments(&one[0], &cuts);
        let len = pieces.len();
        if len > 2 {
            pieces[1..].swap(swap.0 % (len - 1), swap.1 % (len - 1));
        }
        let passed = take(&mut Packets::new(FAMILIES), &pieces);
        // A first segment shorter than a header is not known to be Diameter except by its port, which it has.
        prop_assert_eq!(passed.len(), 1);
        prop_assert_eq!(&passed[0].datagram.bytes, &diameter(200));
        prop_assert_eq!(usize::from(passed[0].packets), len);
    }
}

#[test]
fn nothing_in_tls_is_taken_for_diameter() {
    // A record that goes on with what looks like a message of Diameter, segment by segment.
    let record = |kind: u8, inside: &[u8]| {
        [&[kind, 3, 3][..], &u16::try_from(inside.len()).unwrap().to_be_bytes(), inside].concat()
    };
    for port in [5658, 5868, 3868, 15_658] {
        let of = |bytes: Vec<u8>| datagram(DIAMETER, Addr::tcp, port, bytes, false);
        let back = |mut datagram: Datagram| {
            std::mem::swap(&mut datagram.from, &mut datagram.to);
            datagram
        };
        let inside = [diameter(100), diameter(200)].concat();
        let sealed = record(23, &inside);
        let (begin, rest) = sealed.split_at(5);
        let passed =
            [of(record(22, &[1; 40])), back(of(diameter(50))), of(begin.to_vec()), of(rest.to_vec())];
        let mut packets = Packets::new(FAMILIES);
        assert_eq!(take(&mut packets, &frames(&passed, 1500)), [], "{port}");
        assert_eq!(packets.skipped().total(), 4, "{:?}", packets.skipped());
        // In the clear the same is Diameter.
        assert_eq!(take(&mut Packets::new(FAMILIES), &frames(&[of(diameter(50))], 1500)).len(), 1, "{port}");
    }
}

#[test]
fn streams_of_tls_are_bounded_and_one_that_begins_anew_is_read_again() {
    let of = |port, bytes| datagram(DIAMETER, Addr::tcp, port, bytes, false);
    let sealed = |port| of(port, vec![22, 3, 1, 0, 100, 1]);
    let many: Vec<_> = (20_000..23_000).map(sealed).collect();
    let mut packets = Packets::new(FAMILIES);
    assert_eq!(take(&mut packets, &frames(&many, 1500)), []);
    let mut begun = frames(&[of(22_999, diameter(10))], 1500);
    assert_eq!(take(&mut packets, &begun), []);
    const FLAGS_AT: usize = 20 + 13;
    let mut synchronise = begun.remove(0);
    synchronise.bytes[FLAGS_AT] |= 2;
    synchronise.bytes.truncate(40);
    packets.take(&synchronise);
    assert_eq!(take(&mut packets, &frames(&[of(22_999, diameter(10))], 1500)).len(), 1);
}

/// AMQP 0-9-1 §2.3.5: a frame is type(1) channel(2) size(4) payload end(1); a method's type is 1, as Diameter's version is.
fn amqp_frame(channel: u16, payload: &[u8]) -> Vec<u8> {
    let size = u32::try_from(payload.len()).unwrap().to_be_bytes();
    [&[1][..], &channel.to_be_bytes(), &size, payload, &[0xce]].concat()
}

/// What streams of other protocols begin with is no message, however it is cut into segments.
#[test]
fn amqp_is_no_diameter_and_diameter_is_found_on_any_port() {
    let mut packets = Packets::new(FAMILIES);
    for channel in 0..64 {
        for len in [4, 13, 29, 63, 256, 257, 300, 1000] {
            let payload: Vec<u8> = [&[0, 60, 0, 40][..], &vec![0; len]].concat();
            let frame = [amqp_frame(channel, &payload), amqp_frame(channel, &[0; 12])].concat();
            let one = datagram(DIAMETER, Addr::tcp, 5672, frame, false);
            assert_eq!(take(&mut packets, &frames(&[one], 1500)), [], "channel {channel}, {len} bytes");
        }
    }
    assert_eq!(packets.skipped().kinds()[0].0, "TCP of other protocols");
    let real = datagram(DIAMETER, Addr::tcp, 5673, diameter(200), false);
    assert_eq!(take(&mut packets, &frames(&[real], 1500)).len(), 1);
}

proptest! {
    /// One bit of what a message begins with, turned, and on a port that is nobody's it is none any more, or still one whole.
    #[test]
    fn whoever_is_surely_diameter_has_avps_that_fill_it(turned in 0_usize..28 * 8, filler in 0_usize..64) {
        let mut message = diameter(filler);
        message[turned / 8] ^= 1 << (turned % 8);
        let mut packets = Packets::new(FAMILIES);
        let one = datagram(DIAMETER, Addr::tcp, 5673, message.clone(), false);
        for passed in take(&mut packets, &frames(&[one], 1500)) {
            prop_assert_eq!(passed.datagram.bytes, message.clone());
        }
    }
}

/// RFC 9260 §3.3.1: a DATA chunk with these flags, TSN and payload protocol.
fn data_chunk(flags: u8, tsn: u32, ppid: u32, data: &[u8]) -> Vec<u8> {
    let length = u16::try_from(16 + data.len()).unwrap().to_be_bytes();
    let mut chunk =
        [&[0, flags][..], &length, &tsn.to_be_bytes(), &[0, 1, 0, 7], &ppid.to_be_bytes(), data].concat();
    chunk.resize(chunk.len().next_multiple_of(4), 0);
    chunk
}

/// An IPv4 packet of SCTP between two ports 3868.
fn sctp_frame(number: u64, chunks: &[Vec<u8>]) -> Frame {
    let sctp = [&[0x0f, 0x1c, 0x0f, 0x1c, 0, 0, 0, 9, 0, 0, 0, 0][..], &chunks.concat()].concat();
    let length = u16::try_from(20 + sctp.len()).unwrap().to_be_bytes();
    let identification = u16::try_from(number).unwrap().to_be_bytes();
    let ip =
        [&[0x45, 0][..], &length, &identification, &[0, 0, 64, 132, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2], &sctp]
            .concat();
    let original_bytes = ip.len() as u32;
    Frame { number, at_ns: number, link_type: 101, interface: 0, bytes: ip, original_bytes, comment: None }
}

#[test]
fn diameter_over_sctp_is_put_together_from_its_chunks() {
    let message = diameter(600);
    let (first, rest) = message.split_at(300);
    let (second, third) = rest.split_at(200);
    // A bundle of a heartbeat and a whole message, the fragments of another out of order and one of them twice.
    let heartbeat = vec![4, 0, 0, 4];
    let captured = [
        sctp_frame(1, &[heartbeat, data_chunk(3, 1, 46, &diameter(5))]),
        sctp_frame(2, &[data_chunk(2, u32::MAX, 46, first)]),
        sctp_frame(3, &[data_chunk(1, 1 << 31, 46, &[1; 8])]),
        sctp_frame(4, &[data_chunk(2, u32::MAX, 46, first)]),
        sctp_frame(5, &[data_chunk(1, 1, 46, third)]),
        sctp_frame(6, &[data_chunk(0, 0, 46, second)]),
        sctp_frame(7, &[data_chunk(3, 9, 47, &[0; 40])]),
        sctp_frame(8, &[data_chunk(3, 10, 18, &[0; 40])]),
        sctp_frame(9, &[vec![3, 0, 0, 4]]),
    ];
    let mut packets = Packets::new(FAMILIES);
    let passed = take(&mut packets, &captured);
    let bytes = passed.iter().map(|passed| passed.datagram.bytes.clone()).collect::<Vec<_>>();
    assert_eq!(bytes, [diameter(5)], "the third fragment has the number of a message before");
    let mut packets = Packets::new(FAMILIES);
    let passed = take(&mut packets, &captured[1..]);
    assert_eq!(passed.len(), 1);
    assert_eq!((&passed[0].datagram.bytes, passed[0].packets, passed[0].first_ns), (&message, 3, 2));
    let skipped = packets.skipped().kinds();
    for what in ["Diameter in DTLS over SCTP", "SCTP of other protocols", "SCTP without data"] {
        assert!(skipped.contains(&(what, 1)), "{what}: {skipped:?}");
    }
}

proptest! {
    #[test]
    fn sctp_of_anybody_does_no_harm(packets in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..120), 0..20)) {
        let mut taken = Packets::new(FAMILIES);
        for (number, chunks) in (1..).zip(packets) {
            take(&mut taken, &[sctp_frame(number, &[chunks])]);
        }
    }
}

/// A PDU behind the headers of links that lead to it, padded as short frames are, and who is known to receive it.
fn eapol_frames(pdu: &[u8]) -> Vec<(Frame, Option<Addr>)> {
    let [to, from] = [[1, 0x80, 0xc2, 0, 0, 3], [2, 0, 0, 0, 0, 5]];
    let ethernet = [&to[..], &from].concat();
    let tagged = [&ethernet[..], &[0x81, 0, 0, 10, 0x88, 0xa8, 0, 11]].concat();
    let cooked = [&[0, 2, 0, 1, 0, 6][..], &from, &[0; 2]].concat();
    let cooked2 = [&[0x88, 0x8e, 0, 0, 0, 0, 0, 3, 0, 1, 2, 6][..], &from, &[0; 2]].concat();
    let ether_type = &[0x88, 0x8e][..];
    let links =
        [(1, ethernet, ether_type), (1, tagged, ether_type), (113, cooked, ether_type), (276, cooked2, &[])];
    let frame = |(link_type, header, ether_type): (u16, Vec<u8>, &[u8])| {
        let bytes = [&header[..], ether_type, pdu, &[0; 30]].concat();
        let original_bytes = bytes.len() as u32;
        let (number, at_ns, interface, comment) = (1, 1, 0, None);
        let frame = Frame { number, at_ns, link_type, interface, bytes, original_bytes, comment };
        (frame, (link_type == 1).then_some(Addr::Mac(to)))
    };
    links.map(frame).into()
}

#[test]
fn links_of_every_kind_lead_to_eapol_and_padding_is_left_out() {
    let pdu = [1, 0, 0, 5, 1, 7, 0, 5, 1];
    for (frame, to) in eapol_frames(&pdu) {
        let mut packets = Packets::new(FAMILIES);
        let [eapol] = &packets.take(&frame)[..] else { panic!("{:?}", packets.skipped()) };
        assert_eq!((eapol.datagram.from, eapol.to()), (Addr::Mac([2, 0, 0, 0, 0, 5]), to));
        assert_eq!((&eapol.datagram.bytes[..], eapol.wire_bytes, eapol.cut), (&pdu[..], 9, None));
    }
}

#[test]
fn eapol_cut_short_by_the_snap_length_says_so() {
    for (frame, _) in eapol_frames(&[1, 0, 0, 5, 1, 7, 0, 5, 1]) {
        let header_len = frame.bytes.len() - 30 - 9;
        for len in 0..header_len + 9 {
            let frame = Frame { bytes: frame.bytes[..len].to_vec(), ..frame.clone() };
            let mut packets = Packets::new(FAMILIES);
            match &packets.take(&frame)[..] {
                [eapol] => {
                    assert!(len >= header_len + 4);
                    let len = len - header_len;
                    assert_eq!((eapol.cut, eapol.datagram.bytes.len()), (Some(Cut::Captured), len));
                }
                _ => {
                    assert!(len < header_len + 4);
                    assert_eq!(packets.skipped().total(), 1);
                }
            }
        }
    }
}

#[test]
fn what_else_eapol_carries_is_counted_by_its_name() {
    let skipped = |pdu: &[u8]| {
        let mut packets = Packets::new(FAMILIES);
        eapol_frames(pdu).iter().take(1).for_each(|(frame, _)| _ = packets.take(frame));
        packets.skipped().kinds().iter().map(|(what, _)| (*what).to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(skipped(&[3, 5, 0, 0]), ["EAPOL-MKA"]);
    assert_eq!(skipped(&[3, 200, 0, 0]), ["EAPOL packet type 200"]);
    // An address of another length is none of a station.
    let (mut cooked, _) = eapol_frames(&[1, 1, 0, 0]).swap_remove(2);
    cooked.bytes[5] = 8;
    let mut packets = Packets::new(FAMILIES);
    packets.take(&cooked);
    assert_eq!(packets.skipped().kinds(), [("EAPOL of a link without addresses", 1)]);
}

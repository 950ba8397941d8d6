//! Two stations connected directly, with delay and losses.

use keytoll_crypto::Null;
use keytoll_engine::trace::NoTrace;
use proptest::prelude::*;

use super::*;

const MTU_BYTES: usize = 1500;
const ONE_WAY: Duration = Duration::from_millis(5);

/// The stations, the packets in flight to each, and the virtual time.
struct Pair {
    now: Time,
    stations: [Station; 2],
    way: [VecDeque<(Time, ip::Packet<'static>)>; 2],
    /// How long a packet takes to leave.
    serialisation: Duration,
    free_at: [Time; 2],
    /// From each station.
    carried: [u64; 2],
}

fn address(last: u8, v6: bool) -> IpAddr {
    if v6 {
        IpAddr::from([0x2001, 0xdb8, 0, 0, 0, 0, 0, u16::from(last)])
    } else {
        IpAddr::from([192, 0, 2, last])
    }
}

fn config(kind: Kind, sends: bool, [local, remote]: [IpAddr; 2]) -> Config {
    let duration = Duration::from_secs(2);
    Config {
        kind,
        sends,
        duration,
        packet_bytes: None,
        protected: false,
        local,
        remote,
        mtu_bytes: MTU_BYTES,
    }
}

fn lend<T>(now: Time, call: impl FnOnce(&mut Ctx<'_>) -> T) -> T {
    call(&mut Ctx { now, crypto: &mut Null, trace: &mut NoTrace })
}

impl Pair {
    fn new(kind: Kind, v6: bool) -> Self {
        let ends = [address(1, v6), address(2, v6)];
        let begin = |sends, ends| {
            lend(Time::ZERO, |cx| {
                Station::begin(&config(kind, sends, ends), &crate::ipsec::SaTable::default(), cx)
            })
        };
        Self {
            now: Time::ZERO,
            stations: [begin(true, ends), begin(false, [ends[1], ends[0]])],
            way: [VecDeque::new(), VecDeque::new()],
            serialisation: Duration::from_micros(100),
            free_at: [Time::ZERO; 2],
            carried: [0; 2],
        }
    }

    /// Runs for a duration; `lost` decides for the n-th packet of a station whether it is lost.
    fn run(&mut self, duration: Duration, mut lost: impl FnMut(usize, u64) -> bool) {
        let until = self.now + duration;
        loop {
            (0..2).for_each(|from| self.take(from, &mut lost));
            let ticks =
                self.stations.iter().filter_map(|station| station.deadline().map(|deadline| deadline.at));
            let arrivals = self.way.iter().filter_map(|way| way.front().map(|(at, _)| *at));
            let Some(next) = ticks.chain(arrivals).min().filter(|next| *next <= until) else { break };
            self.now = self.now.max(next);
            (0..2).for_each(|to| self.give(to));
        }
        self.now = until;
    }

    fn take(&mut self, from: usize, lost: &mut impl FnMut(usize, u64) -> bool) {
        let common = &mut self.stations[from].common;
        for Payload { protocol, bytes } in common.out.drain(..) {
            assert!(header_bytes(common.local) + bytes.len() <= MTU_BYTES);
            self.carried[from] += 1;
            self.free_at[from] = self.free_at[from].max(self.now) + self.serialisation;
            if !lost(from, self.carried[from]) {
                let (source, destination) = (common.local, common.remote);
                let packet = ip::Packet { source, destination, protocol, payload: bytes.leak() };
                self.way[1 - from].push_back((self.free_at[from] + ONE_WAY, packet));
            }
        }
    }

    fn give(&mut self, to: usize) {
        let (now, station) = (self.now, &mut self.stations[to]);
        if station.deadline().is_some_and(|deadline| deadline.at <= now) {
            station.tick(now);
        }
        while self.way[to].front().is_some_and(|(at, _)| *at <= now) {
            let (_, packet) = self.way[to].pop_front().unwrap();
            assert!(lend(now, |cx| station.arrived(&packet, cx)));
        }
    }

    fn told(&self) -> [&Traffic; 2] {
        [0, 1].map(|place: usize| &self.stations[place].common.account)
    }
}

const BULK: Kind = Kind::Bulk { window_bytes: 1 << 17 };

#[test]
fn pings_are_answered_and_timed() {
    for v6 in [false, true] {
        let mut pair = Pair::new(Kind::Echo { interval: Duration::from_millis(100) }, v6);
        pair.run(Duration::from_secs(3), |from, packet| (from, packet) == (0, 3));
        let [source, sink] = pair.told();
        assert_eq!((source.data_packets_sent, source.data_packets_got, sink.out_packets), (20, 19, 19));
        assert_eq!(source.out_bytes, 20 * (header_bytes(address(1, v6)) as u64 + 8 + 56));
        let (round_trip_ns, _) = source.round_trips.values().next().unwrap();
        assert!(round_trip_ns.abs_diff(10_200_000) < 200_000, "{round_trip_ns}");
        assert!((190_000_000..=210_000_000).contains(&source.longest_gap_ns), "the lost one leaves a gap");
    }
}

#[test]
fn datagrams_keep_their_rate_and_are_counted_once() {
    let mut pair = Pair::new(Kind::Constant { bits_per_s: 1_200_000 }, false);
    pair.run(Duration::from_secs(3), |_, packet| packet % 10 == 0);
    let [source, sink] = pair.told();
    // 1500 bytes at 1.2 Mbit/s are one every 10 ms.
    assert_eq!((source.data_packets_sent, source.out_bytes), (200, 200 * 1500));
    assert_eq!((sink.data_packets_got, sink.payload_bytes), (180, 180 * 1472));
    assert_eq!(sink.one_way.count(), 180);
    assert!((19_000_000..=21_000_000).contains(&sink.longest_gap_ns));
}

#[test]
fn bulk_data_grows_from_ten_segments_and_fills_its_window() {
    let mut pair = Pair::new(BULK, false);
    pair.take(0, &mut |_, _| false);
    assert_eq!(pair.carried, [0, 0], "nothing before its time");
    pair.run(Duration::ZERO, |_, _| false);
    assert_eq!(pair.carried, [10, 0], "RFC 6928");
    pair.run(Duration::from_secs(4), |_, _| false);
    let [source, sink] = pair.told();
    assert_eq!((source.repeated_packets, source.timeouts), (0, 0));
    assert_eq!(sink.payload_bytes, source.data_packets_sent * 1460);
    // The window of 128 KiB holds 89 segments, and a round trip takes 10 ms plus 0.2 to 0.4 ms of serialisation: 8.6 to 8.7
    // segments a millisecond, minus the time of slow start.
    let per_ms = sink.data_packets_got as f64 / (sink.last_arrival_ns as f64 / 1e6);
    assert!((8.3..8.75).contains(&per_ms), "{per_ms}");
    assert!(sink.out_packets < sink.data_packets_got * 6 / 10, "every second segment is acknowledged");
}

#[test]
fn one_lost_segment_is_repaired_by_three_duplicates_without_a_timeout() {
    let mut pair = Pair::new(BULK, true);
    pair.run(Duration::from_secs(4), |from, packet| (from, packet) == (0, 200));
    let [source, sink] = pair.told();
    assert_eq!((source.repeated_packets, source.timeouts), (1, 0));
    assert_eq!(sink.payload_bytes, (source.data_packets_sent - 1) * 1440);
}

/// Both ends agree that no window is smaller than two segments.
#[test]
fn a_window_smaller_than_a_segment_still_carries_data() {
    let mut pair = Pair::new(Kind::Bulk { window_bytes: 1000 }, false);
    pair.run(Duration::from_secs(4), |_, _| false);
    let [source, sink] = pair.told();
    assert_eq!((source.repeated_packets, sink.payload_bytes), (0, source.data_packets_sent * 1460));
    assert!(sink.payload_bytes > 100_000, "{}", sink.payload_bytes);
}

/// A peer may write any number into a datagram.
#[test]
fn numbers_of_datagrams_may_be_any() {
    let mut pair = Pair::new(Kind::Constant { bits_per_s: 1 }, false);
    let [local, remote] = [address(2, false), address(1, false)];
    let numbers = [u64::MAX, u64::MAX - 1, u64::MAX - 1, 5, u64::MAX, u64::MAX - 3000, 0];
    for number in numbers {
        let data = [number.to_be_bytes(), [0; 8]].concat();
        let payload = udp::write((remote, local), 9, &data);
        let packet = ip::Packet { source: remote, destination: local, protocol: udp::UDP, payload: &payload };
        assert!(lend(Time::ZERO, |cx| pair.stations[1].arrived(&packet, cx)));
    }
    let sink = pair.told()[1];
    // The last number but one, and one shortly before it.
    assert_eq!((sink.data_packets_got, sink.payload_bytes), (7, 2 * 16));
}

#[test]
fn when_everything_is_lost_for_a_while_the_timeout_repairs_it() {
    let mut pair = Pair::new(BULK, false);
    pair.run(Duration::from_millis(500), |_, _| false);
    pair.run(Duration::from_millis(300), |_, _| true);
    let before = pair.told()[1].payload_bytes;
    pair.run(Duration::from_secs(4), |_, _| false);
    let [source, sink] = pair.told();
    assert!(source.timeouts > 0 && sink.payload_bytes > before + 1_000_000, "{source:?}");
    assert_eq!(sink.payload_bytes % 1460, 0);
}

#[test]
fn packets_of_others_and_broken_ones_are_not_taken() {
    let mut pair = Pair::new(BULK, false);
    let [local, remote] = [address(2, false), address(1, false)];
    let mut judge = |source, protocol, payload: &[u8]| {
        let packet = ip::Packet { source, destination: local, protocol, payload };
        lend(Time::ZERO, |cx| pair.stations[1].arrived(&packet, cx))
    };
    assert!(!judge(address(9, false), segment::TCP, &[0; 20]), "a stranger's");
    assert!(!judge(remote, udp::UDP, &[0; 20]), "another protocol");
    assert!(judge(remote, segment::TCP, &[0; 20]), "ours, and discarded");
    assert_eq!(pair.told()[1].data_packets_got, 0);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    /// With any losses in both directions, what arrived is a prefix of the stream, counted once, and data continues.
    #[test]
    fn any_losses_are_survived(seed: u64, parts in 2_u64..40) {
        let mut state = seed | 1;
        let mut lost = move |_, _| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % parts == 0
        };
        let mut pair = Pair::new(BULK, false);
        pair.run(Duration::from_secs(2), &mut lost);
        // After the source has stopped it still retransmits what was lost.
        pair.run(Duration::from_secs(120), |_, _| false);
        let [source, sink] = pair.told();
        prop_assert_eq!(sink.payload_bytes, (source.data_packets_sent - source.repeated_packets) * 1460);
        prop_assert!(sink.payload_bytes > 0);
    }

    #[test]
    fn any_payload_is_read_or_refused(protocol: u8, payload in prop::collection::vec(any::<u8>(), 0..80)) {
        for kind in [BULK, Kind::Constant { bits_per_s: 1 }, Kind::Echo { interval: Duration::ZERO }] {
            let mut pair = Pair::new(kind, false);
            let packet = ip::Packet { source: address(2, false), destination: address(1, false), protocol, payload: &payload };
            lend(Time::ZERO, |cx| pair.stations[0].arrived(&packet, cx));
        }
    }

    #[test]
    fn what_is_written_is_read_and_damage_is_not(v6: bool, data in prop::collection::vec(any::<u8>(), 0..60), bit: prop::sample::Index) {
        let ends = (address(1, v6), address(2, v6));
        let segment = segment::Segment { sequence: 7, acknowledgement: 9, data: &data };
        let mut written = segment.write(ends, 9);
        prop_assert_eq!(segment::Segment::read(ends, 9, &written).unwrap(), segment);
        let datagram = udp::write(ends, 9, &data);
        prop_assert_eq!(udp::read(ends, 9, &datagram).unwrap(), &data[..]);
        for cut in 0..datagram.len() {
            prop_assert!(udp::read(ends, 9, &datagram[..cut]).is_err());
        }
        let bit = bit.index(written.len() * 8);
        written[bit / 8] ^= 1 << (bit % 8);
        prop_assert!(segment::Segment::read(ends, 9, &written).is_err());
    }
}

//! Files written by hand after the drafts, cut anywhere, damaged anywhere.

use proptest::prelude::*;

use super::*;

fn read(file: &[u8]) -> (Vec<Frame>, Option<ReadError>) {
    let mut frames = Vec::new();
    let capture = match Capture::new(file) {
        Ok(capture) => capture,
        Err(error) => return (frames, Some(error)),
    };
    for frame in capture {
        match frame {
            Ok(frame) => frames.push(frame),
            Err(error) => return (frames, Some(error)),
        }
    }
    (frames, None)
}

fn frames(file: &[u8]) -> Vec<Frame> {
    let (frames, error) = read(file);
    assert!(error.is_none(), "{error:?}");
    frames
}

/// A pcap of two packets; `big` in network order, `nanoseconds` with the other magic number.
fn pcap(big: bool, nanoseconds: bool) -> Vec<u8> {
    let number = |value: u32| if big { value.to_be_bytes() } else { value.to_le_bytes() };
    let half = |value: u16| if big { value.to_be_bytes() } else { value.to_le_bytes() };
    let magic = number(if nanoseconds { 0xa1b2_3c4d } else { 0xa1b2_c3d4 });
    let header = [&magic[..], &half(2), &half(4), &[0; 8], &number(65_535), &number(101)].concat();
    let packet = |fraction, data: &[u8], original| {
        [&number(7), &number(fraction), &number(data.len() as u32), &number(original), data].concat()
    };
    [header, packet(5, b"abc", 3), packet(6, b"defg", 99)].concat()
}

#[test]
fn both_byte_orders_and_resolutions_of_pcap() {
    for (big, nanoseconds) in [(false, false), (false, true), (true, false), (true, true)] {
        let frames = frames(&pcap(big, nanoseconds));
        let unit = if nanoseconds { 1 } else { 1000 };
        let first = Frame {
            number: 1,
            at_ns: 7_000_000_000 + 5 * unit,
            link_type: 101,
            interface: 0,
            bytes: b"abc".to_vec(),
            original_bytes: 3,
            comment: None,
        };
        let second = Frame {
            number: 2,
            at_ns: 7_000_000_000 + 6 * unit,
            bytes: b"defg".to_vec(),
            original_bytes: 99,
            ..first.clone()
        };
        assert_eq!(frames, [first, second], "{big} {nanoseconds}");
    }
}

/// Writes blocks in one byte order.
struct Blocks(bool, Vec<u8>);

impl Blocks {
    fn u32(&self, value: u32) -> [u8; 4] {
        if self.0 { value.to_be_bytes() } else { value.to_le_bytes() }
    }

    fn u16(&self, value: u16) -> [u8; 2] {
        if self.0 { value.to_be_bytes() } else { value.to_le_bytes() }
    }

    fn block(mut self, kind: u32, body: &[u8]) -> Self {
        let length = self.u32(12 + body.len() as u32);
        self.1.extend([&self.u32(kind)[..], &length, body, &length].concat());
        self
    }

    fn section(self) -> Self {
        let body = [&self.u32(0x1a2b_3c4d)[..], &self.u16(1), &self.u16(0), &[0xff; 8]].concat();
        self.block(0x0a0d_0d0a, &body)
    }

    fn option(&self, code: u16, value: &[u8]) -> Vec<u8> {
        let padded = [value, &[0; 3][..value.len().next_multiple_of(4) - value.len()]].concat();
        [&self.u16(code)[..], &self.u16(value.len() as u16), &padded].concat()
    }

    fn interface(self, link_type: u16, options: &[Vec<u8>]) -> Self {
        let body = [&self.u16(link_type)[..], &[0; 2], &self.u32(0), &options.concat()].concat();
        self.block(1, &body)
    }

    fn packet(self, interface: u32, units: u64, data: &[u8], options: &[Vec<u8>]) -> Self {
        let [high, low] = [(units >> 32) as u32, units as u32].map(|half| self.u32(half));
        let (id, len) = (self.u32(interface), self.u32(data.len() as u32));
        let padded = [data, &[0; 3][..data.len().next_multiple_of(4) - data.len()]].concat();
        let body = [&id[..], &high, &low, &len, &len, &padded, &options.concat()].concat();
        self.block(6, &body)
    }
}

/// Two sections of both byte orders, interfaces of several resolutions, blocks that are of no interest.
fn pcapng() -> Vec<u8> {
    let little = Blocks(false, Vec::new());
    let nanoseconds = little.option(9, &[9]);
    let offset = little.option(14, &100_i64.to_le_bytes());
    let comment = little.option(1, b"hello");
    let little = little
        .section()
        .interface(1, &[])
        .interface(101, &[nanoseconds, offset])
        .packet(0, 2_000_001, b"ab", &[])
        .block(0xbad, b"whatever")
        .packet(1, 5, b"cdef", &[comment])
        .block(3, &[&4_u32.to_le_bytes()[..], b"wxyz"].concat());
    let big = Blocks(true, little.1);
    let halves = big.option(9, &[0x80 | 1]);
    big.section().interface(228, &[halves]).packet(0, 3, b"", &[]).1
}

#[test]
fn sections_interfaces_and_resolutions_of_pcapng() {
    let frames = frames(&pcapng());
    let seen = frames.iter().map(|frame| (frame.number, frame.at_ns, frame.link_type, frame.interface));
    let expected = [
        (1, 2_000_001_000, 1, 0),
        (2, 100_000_000_005, 101, 1),
        (3, 100_000_000_005, 1, 0),
        (4, 1_500_000_000, 228, 2),
    ];
    assert_eq!(seen.collect::<Vec<_>>(), expected);
    let bytes = frames.iter().map(|frame| &frame.bytes[..]);
    assert_eq!(bytes.collect::<Vec<_>>(), [&b"ab"[..], b"cdef", b"wxyz", b""]);
    assert_eq!(frames[1].comment.as_deref(), Some("hello"));
}

#[test]
fn a_file_cut_short_gives_what_came_before() {
    for file in [pcap(false, false), pcap(true, true), pcapng()] {
        let whole = frames(&file);
        for cut in 0..file.len() {
            let (frames, error) = read(&file[..cut]);
            assert_eq!(frames, whole[..frames.len()], "cut at {cut}");
            assert!(error.is_none_or(|error| error.is_cut_short()), "cut at {cut}");
        }
    }
}

#[test]
fn what_is_wrong_is_named_with_its_offset() {
    let error = |file: &[u8]| read(file).1.unwrap().to_string();
    let mut file = pcap(false, false);
    file[32..36].copy_from_slice(&u32::MAX.to_le_bytes());
    assert_eq!(error(&file), "captured length at offset 40: length 4294967295 does not fit");
    assert_eq!(error(b"GIF89a"), "not a capture file: it begins with 47 49 46 38");
    assert!(error(&[0x1f, 0x8b, 8, 0]).ends_with("compressed with gzip: unpack it first"));
    let unknown = Blocks(false, Vec::new()).section().packet(3, 0, b"", &[]).1;
    assert_eq!(error(&unknown), "interface ID at offset 40: value 3 is not allowed");
    let long = Blocks(false, Vec::new()).section().interface(1, &[]).block(6, &[0; 16]).1;
    assert_eq!(error(&long), "original length at offset 72: length 4 does not fit");
}

proptest! {
    #[test]
    fn damage_anywhere_is_an_error_or_another_capture(
        which in 0_usize..3, damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
    ) {
        let mut file = [pcap(false, true), pcap(true, false), pcapng()][which].clone();
        for (at, byte) in damage {
            let at = at.index(file.len());
            file[at] = byte;
        }
        let _ = read(&file);
    }

    #[test]
    fn any_bytes_behind_a_magic_number_are_read_or_refused(which in 0_usize..3, tail: Vec<u8>) {
        let start = [&pcap(false, true)[..24], &pcap(true, false)[..24], &pcapng()[..48]][which].to_vec();
        let (frames, _) = read(&[start, tail].concat());
        prop_assert!(frames.len() < 10);
    }
}

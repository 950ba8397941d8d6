//! Named random streams: an additional draw in one place does not shift any other.
//!
//! Streams of an experiment follow from its seed. Those of a live node have no seed: the operating system makes every number at the moment when it
//! is drawn, so that earlier and later ones do not follow from the node's memory.

use std::fmt::{self, Write as _};
use std::io;

use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::{Rng as _, SeedableRng};
use zeroize::Zeroizing;

/// The root of all streams of a run or of a live node.
#[derive(Clone)]
pub struct Seed(Root);

#[derive(Clone)]
enum Root {
    /// Streams can be repeated and rewound.
    Experiment(Zeroizing<[u8; 32]>),
    /// Streams come from the operating system.
    System,
}

impl Seed {
    /// A root of streams that can be repeated: for experiments and tests.
    pub fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(Root::Experiment(Zeroizing::new(bytes)))
    }

    /// The root of a live node: its streams ask the operating system for every number and store no state.
    ///
    /// # Errors
    /// When the operating system has no randomness.
    pub fn system() -> io::Result<Self> {
        getrandom::fill(&mut [0; 32])?;
        Ok(Self(Root::System))
    }

    /// The stream with this name, e.g. `gateway/3/ike`. ChaCha20 keyed with the root, with the name's hash as stream number,
    /// yields the stream's own key.
    pub fn stream(&self, name: &str) -> Rng {
        self.numbered(Fnv1a::default().with(name.as_bytes()))
    }

    /// The stream with the name that these arguments make, which is not put together for it.
    pub fn stream_of(&self, name: fmt::Arguments<'_>) -> Rng {
        let mut hash = Fnv1a::default();
        hash.write_fmt(name).expect("hashing cannot fail");
        self.numbered(hash)
    }

    fn numbered(&self, Fnv1a(number): Fnv1a) -> Rng {
        let Root::Experiment(bytes) = &self.0 else { return Rng(Stream::System) };
        let mut root = ChaCha20Rng::from_seed(**bytes);
        root.set_stream(number);
        let mut key = Zeroizing::new([0; 32]);
        root.fill_bytes(key.as_mut());
        Rng(Stream::Ahead { key: *key, words: 0 })
    }
}

impl From<u64> for Seed {
    fn from(number: u64) -> Self {
        let mut bytes = [0; 32];
        bytes[..8].copy_from_slice(&number.to_le_bytes());
        Self::from_bytes(bytes)
    }
}

impl fmt::Debug for Seed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Seed(..)")
    }
}

/// One random stream.
pub struct Rng(Stream);

/// A world has millions of streams, few of which are drawn from at a time, many a few words only, and many never.
enum Stream {
    /// Nothing has been drawn since it began, or went to where so many words were.
    Ahead { key: [u8; 32], words: u64 },
    /// A few words, computed in advance.
    Begun(Begun),
    /// Some hundred bytes, computed in advance.
    Drawn(Box<ChaCha20Rng>),
    /// Nothing is computed in advance, and nothing is kept.
    System,
}

/// Numbers of the operating system, which had some when the node began ([`Seed::system`]).
fn of_system(buffer: &mut [u8]) {
    getrandom::fill(buffer).expect("the system had randomness at the beginning");
}

/// The words of a stream from some place on.
struct Begun {
    key: [u8; 32],
    /// How many words were before them.
    before: u64,
    /// How many bytes of them were drawn.
    drawn: usize,
    bytes: [u8; FEW_BYTES],
}

/// So many bytes need no memory of their own: enough for what a link of a population draws during an authentication.
const FEW_BYTES: usize = 64;
const WORD_BYTES: usize = 4;

impl Begun {
    #[inline(never)]
    fn from(key: &[u8; 32], before: u64) -> Self {
        let mut begun = Self { key: *key, before, drawn: 0, bytes: [0; FEW_BYTES] };
        stream_from(key, before).fill_bytes(&mut begun.bytes);
        begun
    }

    const fn place(&self) -> u64 {
        self.before + (self.drawn / WORD_BYTES) as u64
    }

    /// Two words, if they are here.
    #[inline]
    fn u64(&mut self) -> Option<u64> {
        let bytes = self.bytes.get(self.drawn..)?.first_chunk()?;
        self.drawn += bytes.len();
        Some(u64::from_le_bytes(*bytes))
    }
}

fn stream_from(key: &[u8; 32], words: u64) -> ChaCha20Rng {
    let mut stream = ChaCha20Rng::from_seed(*key);
    stream.set_word_pos(words.into());
    stream
}

impl Stream {
    #[inline]
    fn fill(&mut self, buffer: &mut [u8]) {
        if !matches!(self, Self::Drawn(_)) {
            self.begin();
        }
        match self {
            Self::Drawn(stream) => stream.fill_bytes(buffer),
            Self::System => of_system(buffer),
            Self::Ahead { .. } | Self::Begun(_) => unreachable!("it has just been begun"),
        }
    }

    /// Computes words in advance, for those who draw many.
    #[inline(never)]
    fn begin(&mut self) {
        *self = match self {
            Self::Ahead { key, words } => Self::Drawn(Box::new(stream_from(key, *words))),
            Self::Begun(begun) => Self::Drawn(Box::new(stream_from(&begun.key, begun.place()))),
            Self::Drawn(_) | Self::System => return,
        };
    }

    #[inline]
    fn u64(&mut self) -> u64 {
        if let Self::Ahead { key, words } = self {
            *self = Self::Begun(Begun::from(key, *words));
        }
        let few = if let Self::Begun(begun) = self { begun.u64() } else { None };
        few.unwrap_or_else(|| self.next_u64())
    }

    #[inline]
    fn next_u64(&mut self) -> u64 {
        if let Self::Drawn(stream) = self {
            return stream.next_u64();
        }
        let mut bytes = [0; 8];
        self.fill(&mut bytes);
        u64::from_le_bytes(bytes)
    }
}

impl Rng {
    /// The stream `name` under the root `seed`.
    pub fn named(seed: u64, name: &str) -> Self {
        Seed::from(seed).stream(name)
    }

    /// A root of further streams, drawn from this one.
    pub fn seed(&mut self) -> Seed {
        match self.0 {
            Stream::System => Seed(Root::System),
            _ => self.repeatable(),
        }
    }

    /// A root of repeatable streams, drawn from this one: for a schedule, never for keys.
    pub fn repeatable(&mut self) -> Seed {
        Seed::from_bytes(self.bytes())
    }

    /// How many words of 32 bits were drawn from the stream: with its name that is all there is to know of it. Streams of the operating system
    /// have no place and no memory: 0.
    pub fn drawn(&self) -> u64 {
        match &self.0 {
            Stream::System => 0,
            Stream::Ahead { words, .. } => *words,
            Stream::Begun(begun) => begun.place(),
            Stream::Drawn(stream) => u64::try_from(stream.get_word_pos()).expect("nobody draws 2⁶⁴ words"),
        }
    }

    /// Goes to where a stream of an experiment is from which so many words were drawn ([`Self::drawn`]). Those of the operating system cannot
    /// be rewound.
    pub fn go_to(&mut self, words: u64) {
        match &mut self.0 {
            Stream::System => {}
            Stream::Ahead { words: ahead, .. } => *ahead = words,
            Stream::Begun(begun) => self.0 = Stream::Ahead { key: begun.key, words },
            Stream::Drawn(stream) => stream.set_word_pos(words.into()),
        }
    }

    /// Fills a buffer.
    pub fn fill(&mut self, buffer: &mut [u8]) {
        self.0.fill(buffer);
    }

    /// An array of random bytes.
    pub fn bytes<const N: usize>(&mut self) -> [u8; N] {
        let mut bytes = [0; N];
        self.fill(&mut bytes);
        bytes
    }

    /// A random number.
    pub fn u64(&mut self) -> u64 {
        self.0.u64()
    }

    /// A random number below `limit`, 0 if `limit` is 0. The bias is below 2⁻³² for limits below 2³².
    pub fn below(&mut self, limit: u64) -> u64 {
        let wide = u128::from(self.u64()) * u128::from(limit);
        u64::try_from(wide >> 64).expect("the high half of a 128-bit product fits 64 bits")
    }

    /// True once in `1 / probability` draws; draws nothing for 0.
    pub fn chance(&mut self, probability: f64) -> bool {
        probability > 0.0 && self.unit() < probability
    }

    /// Uniform in [0, 1).
    pub fn unit(&mut self) -> f64 {
        const ULP: f64 = 1.0 / (1_u64 << 53) as f64;
        (self.u64() >> 11) as f64 * ULP
    }
}

impl fmt::Debug for Rng {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Rng(..)")
    }
}

/// FNV-1a, 64 bit: identifies a stream, protects nothing.
struct Fnv1a(u64);

impl Default for Fnv1a {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl Fnv1a {
    fn with(self, bytes: &[u8]) -> Self {
        let step = |hash: u64, &byte: &u8| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        Self(bytes.iter().fold(self.0, step))
    }
}

impl fmt::Write for Fnv1a {
    fn write_str(&mut self, part: &str) -> fmt::Result {
        *self = Self(self.0).with(part.as_bytes());
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_depend_on_seed_and_name_only() {
        let draw = |seed, name| Rng::named(seed, name).u64();
        assert_eq!(draw(1, "ue/ike"), draw(1, "ue/ike"));
        assert_ne!(draw(1, "ue/ike"), draw(2, "ue/ike"));
        assert_ne!(draw(1, "ue/ike"), draw(1, "gw/ike"));
        let (of, number) = ("ue", 7);
        let mut made = Seed::from(1).stream_of(format_args!("{of}/{number}/ike"));
        assert_eq!(made.u64(), draw(1, "ue/7/ike"));
    }

    #[test]
    fn a_stream_goes_on_where_it_was_left() {
        let (mut whole, mut parted) = (Rng::named(3, "parted"), Rng::named(3, "parted"));
        for length in (0..300).chain([1024, 0, 5000, 256, 4, 64, 1]) {
            let [mut one, mut other] = [vec![0; length], vec![0; length]];
            whole.fill(&mut one);
            parted.fill(&mut other);
            assert_eq!((one, whole.u64()), (other, parted.u64()));
            let drawn = parted.drawn();
            parted = Rng::named(3, "parted");
            parted.go_to(drawn);
        }
        assert_eq!(Rng::named(3, "new").drawn(), 0);
    }

    /// Whatever is drawn: a few words, many, and few again from elsewhere.
    #[test]
    fn a_stream_is_that_of_chacha() {
        let key = [7; 32];
        let mut reference = ChaCha20Rng::from_seed(key);
        let mut rng = Rng(Stream::Ahead { key, words: 0 });
        let mut place = 0;
        for lengths in [&[0; 40][..], &[1, 0, 4, 0, 0], &[0, 0, 3], &[0; 7], &[0, 100, 0], &[0; 9]] {
            for &length in lengths {
                let [mut expected, mut drawn] = [vec![0; length], vec![0; length]];
                if length > 0 {
                    reference.fill_bytes(&mut expected);
                    rng.fill(&mut drawn);
                }
                assert_eq!((drawn, rng.u64()), (expected, reference.next_u64()));
                assert_eq!(u128::from(rng.drawn()), reference.get_word_pos());
            }
            place += 1001;
            reference.set_word_pos(place);
            rng = Rng(Stream::Ahead { key, words: 0 });
            rng.go_to(place.try_into().unwrap());
        }
        let few = rng.u64();
        rng.go_to(place.try_into().unwrap());
        assert_eq!(rng.u64(), few);
    }

    #[test]
    fn a_stream_of_the_system_cannot_be_rewound() {
        let seed = Seed::system().unwrap();
        let (mut one, mut same_name) = (seed.stream("ue"), seed.stream("ue"));
        let first: [u8; 32] = one.bytes();
        assert_ne!(first, same_name.bytes());
        assert_eq!(one.drawn(), 0);
        one.go_to(0);
        assert_ne!(first, one.bytes());
        assert_ne!(one.seed().stream("child").u64(), one.seed().stream("child").u64());
        assert!((0..1000).any(|_| one.u64() > u64::MAX / 2));
    }

    #[test]
    fn below_stays_below_and_reaches_everything() {
        let mut rng = Rng::named(7, "below");
        let mut seen = [0; 5];
        (0..1000).for_each(|_| seen[usize::try_from(rng.below(5)).unwrap()] += 1);
        assert!(seen.iter().all(|&n| n > 150), "{seen:?}");
        assert_eq!(rng.below(0), 0);
    }
}

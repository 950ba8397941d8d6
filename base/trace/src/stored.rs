//! How values stand in a record of a file, and how names do: a name that the file has not had yet brings its text along.
//!
//! ```text
//! number   LEB128: seven bits a byte, the least first, the highest bit set in all but the last
//! f64      8 bytes LE              bool   0 or 1              Option   0, or 1 and the value
//! list     number of items, items  struct its fields in order enum     number of the variant, its fields in order
//! name     number of the name in the file, counted from 0; if it is the next new one: bytes of its text, UTF-8
//! ```
//!
//! Nothing says which field comes: that is what the version of the file is for. [`stored!`](macro@crate::stored) writes both ways of
//! a type from one list of its fields.

use std::borrow::Cow;
use std::collections::BTreeMap;

use crate::fact::{Fact, Fate, Link, Message, Node, Record};
use crate::name::{Name, NameError, Parts, Protocol};

/// What stands in a record.
pub trait Stored: Sized {
    /// Appends it.
    fn store(&self, to: &mut Encoder<'_>);

    /// Reads it. When what stands there cannot be such a value, any other is given, and the decoder keeps the error.
    fn read(from: &mut Decoder<'_>) -> Self;
}

/// Why a record makes no sense.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// It ends within a value.
    #[error("it is cut short")]
    Short,
    /// There is more than its values.
    #[error("{0} bytes too many")]
    Long(usize),
    /// A number does not fit its field.
    #[error("{0} is too large a number")]
    Range(u64),
    /// An enum has no such variant.
    #[error("there is no variant {0}")]
    Variant(u64),
    /// The file has had no such name.
    #[error("there is no name {0}")]
    UnknownName(u64),
    /// The text of a name is none.
    #[error("a name that is not UTF-8")]
    NotText,
    /// A name that cannot be one.
    #[error(transparent)]
    Name(#[from] NameError),
}

/// The names that a file being written has had, with their numbers.
#[derive(Debug, Clone, Default)]
pub(crate) struct WrittenNames {
    numbers: BTreeMap<String, u32>,
    /// Where in memory the texts of the program are: so they are found without being compared.
    places: BTreeMap<(usize, usize), u32>,
}

impl WrittenNames {
    /// The number of a text, and whether it is new.
    fn number(&mut self, text: &str) -> (u32, bool) {
        if let Some(&known) = self.numbers.get(text) {
            return (known, false);
        }
        let new = u32::try_from(self.numbers.len()).expect("a file has few names");
        self.numbers.insert(text.to_owned(), new);
        (new, true)
    }

    /// The same for a text that stays where it is.
    fn number_of_static(&mut self, text: &'static str) -> (u32, bool) {
        let place = (text.as_ptr().addr(), text.len());
        if let Some(&known) = self.places.get(&place) {
            return (known, false);
        }
        let numbered = self.number(text);
        self.places.insert(place, numbered.0);
        numbered
    }
}

/// Writes a record.
#[derive(Debug)]
pub struct Encoder<'a> {
    out: &'a mut Vec<u8>,
    names: &'a mut WrittenNames,
    error: Option<NameError>,
}

impl<'a> Encoder<'a> {
    /// Appends to `out`, with the names that the file has had so far.
    pub(crate) const fn new(out: &'a mut Vec<u8>, names: &'a mut WrittenNames) -> Self {
        Self { out, names, error: None }
    }

    /// The first name that could not be written.
    pub(crate) const fn finish(self) -> Result<(), NameError> {
        match self.error {
            Some(error) => Err(error),
            None => Ok(()),
        }
    }

    /// Appends a number.
    pub fn number(&mut self, mut number: u64) {
        while number >= 0x80 {
            self.out.push(number as u8 | 0x80);
            number >>= 7;
        }
        self.out.push(number as u8);
    }

    /// Appends a text of the program as a name.
    pub fn text(&mut self, text: &'static str) {
        let numbered = self.names.number_of_static(text);
        self.numbered(numbered, text);
    }

    /// Appends any text as a name.
    pub fn passing_text(&mut self, text: &str) {
        let numbered = self.names.number(text);
        self.numbered(numbered, text);
    }

    fn numbered(&mut self, (number, is_new): (u32, bool), text: &str) {
        self.number(number.into());
        if is_new {
            if text.len() > Name::BYTES_MAX {
                self.error.get_or_insert(NameError::TooLong { bytes: text.len() });
            }
            if number as usize >= Name::COUNT_MAX {
                self.error.get_or_insert(NameError::TooMany);
            }
            self.number(text.len() as u64);
            self.out.extend_from_slice(text.as_bytes());
        }
    }
}

/// Reads a record. After the first error, which is asked for when everything was read, all that follows is 0 and empty: so that
/// nobody has to look at a value of the many before it is in its place.
#[derive(Debug)]
pub struct Decoder<'a> {
    rest: &'a [u8],
    names: &'a mut Vec<Name>,
    error: Option<DecodeError>,
}

impl<'a> Decoder<'a> {
    /// Reads `bytes`, with the names that the file has had so far.
    pub(crate) const fn new(bytes: &'a [u8], names: &'a mut Vec<Name>) -> Self {
        Self { rest: bytes, names, error: None }
    }

    /// There must have been no error, and there must be nothing more.
    pub(crate) fn finish(self) -> Result<(), DecodeError> {
        match (self.error, self.rest.len()) {
            (Some(error), _) => Err(error),
            (None, 0) => Ok(()),
            (None, more) => Err(DecodeError::Long(more)),
        }
    }

    /// What stands here makes no sense.
    #[cold]
    pub fn fail(&mut self, error: DecodeError) {
        self.error.get_or_insert(error);
        self.rest = &[];
    }

    fn bytes(&mut self, count: usize) -> &'a [u8] {
        let Some((bytes, rest)) = self.rest.split_at_checked(count) else {
            self.fail(DecodeError::Short);
            return &[];
        };
        self.rest = rest;
        bytes
    }

    /// Reads a number. It is an error when the record ends within it, or it has more than 64 bits.
    #[inline]
    pub fn number(&mut self) -> u64 {
        match self.rest {
            [byte @ ..0x80, rest @ ..] => {
                self.rest = rest;
                u64::from(*byte)
            }
            _ => self.long_number(),
        }
    }

    /// A number of more than one byte.
    fn long_number(&mut self) -> u64 {
        let (mut number, mut shift) = (0, 0);
        while let [byte, rest @ ..] = self.rest {
            self.rest = rest;
            number |= u64::from(byte & 0x7F) << shift;
            match (byte, shift) {
                (..0x80, ..63) | (..2, 63) => return number,
                (_, 63) => return self.failed_number(DecodeError::Range(u64::MAX)),
                _ => shift += 7,
            }
        }
        self.failed_number(DecodeError::Short)
    }

    #[cold]
    fn failed_number(&mut self, error: DecodeError) -> u64 {
        self.fail(error);
        0
    }

    /// Reads how many items follow, of at least one byte each.
    fn count(&mut self) -> usize {
        let count = self.number();
        match usize::try_from(count) {
            Ok(count) if count <= self.rest.len() => count,
            _ => {
                self.fail(DecodeError::Short);
                0
            }
        }
    }

    /// Reads a name. It is an error when the file has had no such name, or a new one cannot be one.
    #[inline]
    pub fn name(&mut self) -> Name {
        let number = self.number();
        match usize::try_from(number).ok().and_then(|number| self.names.get(number)) {
            Some(&known) => known,
            None => self.first_seen(number),
        }
    }

    /// The name that stands here for the first time.
    #[cold]
    fn first_seen(&mut self, number: u64) -> Name {
        let name = self.new_name(number).and_then(|text| Ok(Name::intern(text)?));
        match name {
            Ok(name) => {
                self.names.push(name);
                name
            }
            Err(error) => {
                self.fail(error);
                Name::default()
            }
        }
    }

    /// The text of a name that must have the next free number.
    fn new_name(&mut self, number: u64) -> Result<&'a str, DecodeError> {
        if number != self.names.len() as u64 {
            return Err(DecodeError::UnknownName(number));
        }
        if self.names.len() >= Name::COUNT_MAX {
            return Err(NameError::TooMany.into());
        }
        let count = self.count();
        let bytes = self.bytes(count);
        match &self.error {
            Some(error) => Err(error.clone()),
            None => std::str::from_utf8(bytes).map_err(|_| DecodeError::NotText),
        }
    }
}

/// Writes and reads a struct, or an enum whose variants have these numbers, from 0, in this order of fields.
#[macro_export]
macro_rules! stored {
    (struct $name:ident { $($field:ident),+ $(,)? }) => {
        impl $crate::stored::Stored for $name {
            fn store(&self, to: &mut $crate::stored::Encoder<'_>) {
                let Self { $($field),+ } = self;
                $($crate::stored::Stored::store($field, to);)+
            }

            #[inline]
            fn read(from: &mut $crate::stored::Decoder<'_>) -> Self {
                $(let $field = $crate::stored::Stored::read(from);)+
                Self { $($field),+ }
            }
        }
    };
    (enum $name:ident {
        $($number:literal = $variant:ident $(($($item:ident),+))? $({ $($field:ident),+ })?),+ $(,)?
    }) => {
        impl $crate::stored::Stored for $name {
            fn store(&self, to: &mut $crate::stored::Encoder<'_>) {
                match self {
                    $(Self::$variant $(($($item),+))? $({ $($field),+ })? => {
                        to.number($number);
                        $($($crate::stored::Stored::store($item, to);)+)?
                        $($($crate::stored::Stored::store($field, to);)+)?
                    })+
                }
            }

            #[inline]
            fn read(from: &mut $crate::stored::Decoder<'_>) -> Self {
                match from.number() {
                    $($number => {
                        $($(let $item = $crate::stored::Stored::read(from);)+)?
                        $($(let $field = $crate::stored::Stored::read(from);)+)?
                        Self::$variant $(($($item),+))? $({ $($field),+ })?
                    })+
                    other => {
                        // From now on every number is 0: the first variant comes.
                        from.fail($crate::stored::DecodeError::Variant(other));
                        Self::read(from)
                    }
                }
            }
        }
    };
}

macro_rules! numbers {
    ($($number:ty),+) => {
        $(impl Stored for $number {
            fn store(&self, to: &mut Encoder<'_>) {
                to.number(u64::from(*self));
            }

            #[inline]
            fn read(from: &mut Decoder<'_>) -> Self {
                let number = from.number();
                Self::try_from(number).unwrap_or_else(|_| {
                    from.fail(DecodeError::Range(number));
                    0
                })
            }
        })+
    };
}

numbers!(u8, u16, u32, u64);

impl Stored for bool {
    fn store(&self, to: &mut Encoder<'_>) {
        to.number(u64::from(*self));
    }

    fn read(from: &mut Decoder<'_>) -> Self {
        match from.number() {
            0 => false,
            1 => true,
            other => {
                from.fail(DecodeError::Range(other));
                false
            }
        }
    }
}

impl Stored for f64 {
    fn store(&self, to: &mut Encoder<'_>) {
        to.out.extend_from_slice(&self.to_le_bytes());
    }

    fn read(from: &mut Decoder<'_>) -> Self {
        from.bytes(8).first_chunk().map_or(0.0, |bytes| Self::from_le_bytes(*bytes))
    }
}

impl<T: Stored> Stored for Option<T> {
    fn store(&self, to: &mut Encoder<'_>) {
        self.is_some().store(to);
        self.iter().for_each(|value| value.store(to));
    }

    fn read(from: &mut Decoder<'_>) -> Self {
        bool::read(from).then(|| T::read(from))
    }
}

impl<T: Stored> Stored for Box<T> {
    fn store(&self, to: &mut Encoder<'_>) {
        T::store(self, to);
    }

    fn read(from: &mut Decoder<'_>) -> Self {
        Self::new(T::read(from))
    }
}

impl<A: Stored, B: Stored> Stored for (A, B) {
    fn store(&self, to: &mut Encoder<'_>) {
        self.0.store(to);
        self.1.store(to);
    }

    fn read(from: &mut Decoder<'_>) -> Self {
        (A::read(from), B::read(from))
    }
}

impl<T: Stored> Stored for Vec<T> {
    fn store(&self, to: &mut Encoder<'_>) {
        to.number(self.len() as u64);
        self.iter().for_each(|item| item.store(to));
    }

    fn read(from: &mut Decoder<'_>) -> Self {
        let count = from.count();
        (0..count).map(|_| T::read(from)).collect()
    }
}

impl<K: Stored + Ord, V: Stored> Stored for BTreeMap<K, V> {
    fn store(&self, to: &mut Encoder<'_>) {
        to.number(self.len() as u64);
        for (key, value) in self {
            key.store(to);
            value.store(to);
        }
    }

    fn read(from: &mut Decoder<'_>) -> Self {
        let count = from.count();
        (0..count).map(|_| <(K, V)>::read(from)).collect()
    }
}

impl Stored for Name {
    fn store(&self, to: &mut Encoder<'_>) {
        to.text(self.as_str());
    }

    fn read(from: &mut Decoder<'_>) -> Self {
        from.name()
    }
}

impl Stored for Cow<'static, str> {
    fn store(&self, to: &mut Encoder<'_>) {
        match self {
            Self::Borrowed(text) => to.text(text),
            Self::Owned(text) => to.passing_text(text),
        }
    }

    fn read(from: &mut Decoder<'_>) -> Self {
        Self::Borrowed(from.name().as_str())
    }
}

impl Stored for Protocol {
    fn store(&self, to: &mut Encoder<'_>) {
        self.as_name().store(to);
    }

    fn read(from: &mut Decoder<'_>) -> Self {
        Self::named(from.name())
    }
}

impl Stored for Parts {
    fn store(&self, to: &mut Encoder<'_>) {
        to.number(self.as_slice().len() as u64);
        self.as_slice().iter().for_each(|name| name.store(to));
    }

    fn read(from: &mut Decoder<'_>) -> Self {
        let mut parts = Self::default();
        match from.number() {
            count if count <= Self::MAX as u64 => (0..count).for_each(|_| parts.push(from.name())),
            other => from.fail(DecodeError::Range(other)),
        }
        parts
    }
}

stored!(enum Node { 0 = Ue, 1 = Gw, 2 = Aaa, 3 = Hss, 4 = Ap });

impl Stored for Link {
    fn store(&self, to: &mut Encoder<'_>) {
        self.0.store(to);
        self.1.store(to);
    }

    fn read(from: &mut Decoder<'_>) -> Self {
        Self(Node::read(from), Node::read(from))
    }
}

stored!(enum Fate { 0 = Delivered, 1 = Lost, 2 = QueueFull, 3 = Corrupted, 4 = Duplicate });
stored!(struct Message { protocol, name, series, response, accounting, id, bytes, retransmission, fragment, parts });
stored!(struct Record { at_ns, node, sample, fact });
stored!(enum Fact {
    0 = Triggered,
    1 = Sent(message),
    2 = Carried { link, protocol, packets, bytes, transit_ns, fate },
    3 = Computed { busy_ns },
    4 = Discarded { protocol, why },
    5 = Usable,
    6 = FirstPacket,
    7 = Rekeyed { what },
    8 = Closed { why },
    9 = Failed { why },
    10 = Disturbed,
    11 = Refused { why },
    12 = TrafficBegan,
    13 = Traffic(traffic),
    14 = TrafficCarried { link, packets, bytes, lost_packets, refused_bytes },
    15 = TrafficDiscarded { protocol, why, count },
    16 = TrafficComputed { busy_ns },
    17 = Moved,
    18 = MoveVerified,
    19 = Reached { missed_packets },
});

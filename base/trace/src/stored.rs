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

    /// Reads it.
    ///
    /// # Errors
    /// When what stands there cannot be such a value.
    fn read(from: &mut Decoder<'_>) -> Result<Self, DecodeError>;
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

/// Reads a record.
#[derive(Debug)]
pub struct Decoder<'a> {
    rest: &'a [u8],
    names: &'a mut Vec<Name>,
}

impl<'a> Decoder<'a> {
    /// Reads `bytes`, with the names that the file has had so far.
    pub(crate) const fn new(bytes: &'a [u8], names: &'a mut Vec<Name>) -> Self {
        Self { rest: bytes, names }
    }

    /// There must be nothing more.
    pub(crate) const fn finish(self) -> Result<(), DecodeError> {
        match self.rest.len() {
            0 => Ok(()),
            more => Err(DecodeError::Long(more)),
        }
    }

    fn bytes(&mut self, count: usize) -> Result<&'a [u8], DecodeError> {
        let (bytes, rest) = self.rest.split_at_checked(count).ok_or(DecodeError::Short)?;
        self.rest = rest;
        Ok(bytes)
    }

    /// Reads a number.
    ///
    /// # Errors
    /// When the record ends within it, or it has more than 64 bits.
    pub fn number(&mut self) -> Result<u64, DecodeError> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let (&byte, rest) = self.rest.split_first().ok_or(DecodeError::Short)?;
            self.rest = rest;
            let bits = u64::from(byte & 0x7F);
            if bits << shift >> shift != bits {
                break;
            }
            number |= bits << shift;
            if byte < 0x80 {
                return Ok(number);
            }
        }
        Err(DecodeError::Range(u64::MAX))
    }

    /// Reads how many items follow, of at least one byte each.
    fn count(&mut self) -> Result<usize, DecodeError> {
        let count = self.number()?;
        usize::try_from(count).ok().filter(|&count| count <= self.rest.len()).ok_or(DecodeError::Short)
    }

    /// Reads a name.
    ///
    /// # Errors
    /// When the file has had no such name, or a new one cannot be one.
    pub fn name(&mut self) -> Result<Name, DecodeError> {
        let number = self.number()?;
        match usize::try_from(number) {
            Ok(known) if known < self.names.len() => Ok(self.names[known]),
            Ok(new) if new == self.names.len() => self.new_name(),
            _ => Err(DecodeError::UnknownName(number)),
        }
    }

    fn new_name(&mut self) -> Result<Name, DecodeError> {
        if self.names.len() >= Name::COUNT_MAX {
            return Err(NameError::TooMany.into());
        }
        let count = self.count()?;
        let text = std::str::from_utf8(self.bytes(count)?).map_err(|_| DecodeError::NotText)?;
        let name = Name::intern(text)?;
        self.names.push(name);
        Ok(name)
    }
}

/// Writes and reads a struct, or an enum whose variants have these numbers, in this order of fields.
#[macro_export]
macro_rules! stored {
    (struct $name:ident { $($field:ident),+ $(,)? }) => {
        impl $crate::stored::Stored for $name {
            fn store(&self, to: &mut $crate::stored::Encoder<'_>) {
                let Self { $($field),+ } = self;
                $($crate::stored::Stored::store($field, to);)+
            }

            fn read(from: &mut $crate::stored::Decoder<'_>) -> Result<Self, $crate::stored::DecodeError> {
                $(let $field = $crate::stored::Stored::read(from)?;)+
                Ok(Self { $($field),+ })
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

            fn read(from: &mut $crate::stored::Decoder<'_>) -> Result<Self, $crate::stored::DecodeError> {
                match from.number()? {
                    $($number => {
                        $($(let $item = $crate::stored::Stored::read(from)?;)+)?
                        $($(let $field = $crate::stored::Stored::read(from)?;)+)?
                        Ok(Self::$variant $(($($item),+))? $({ $($field),+ })?)
                    })+
                    other => Err($crate::stored::DecodeError::Variant(other)),
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

            fn read(from: &mut Decoder<'_>) -> Result<Self, DecodeError> {
                let number = from.number()?;
                Self::try_from(number).map_err(|_| DecodeError::Range(number))
            }
        })+
    };
}

numbers!(u8, u16, u32, u64);

impl Stored for bool {
    fn store(&self, to: &mut Encoder<'_>) {
        to.number(u64::from(*self));
    }

    fn read(from: &mut Decoder<'_>) -> Result<Self, DecodeError> {
        match from.number()? {
            0 => Ok(false),
            1 => Ok(true),
            other => Err(DecodeError::Range(other)),
        }
    }
}

impl Stored for f64 {
    fn store(&self, to: &mut Encoder<'_>) {
        to.out.extend_from_slice(&self.to_le_bytes());
    }

    fn read(from: &mut Decoder<'_>) -> Result<Self, DecodeError> {
        let bytes = from.bytes(8)?.first_chunk().expect("eight bytes were taken");
        Ok(Self::from_le_bytes(*bytes))
    }
}

impl<T: Stored> Stored for Option<T> {
    fn store(&self, to: &mut Encoder<'_>) {
        self.is_some().store(to);
        self.iter().for_each(|value| value.store(to));
    }

    fn read(from: &mut Decoder<'_>) -> Result<Self, DecodeError> {
        bool::read(from)?.then(|| T::read(from)).transpose()
    }
}

impl<T: Stored> Stored for Box<T> {
    fn store(&self, to: &mut Encoder<'_>) {
        T::store(self, to);
    }

    fn read(from: &mut Decoder<'_>) -> Result<Self, DecodeError> {
        T::read(from).map(Self::new)
    }
}

impl<A: Stored, B: Stored> Stored for (A, B) {
    fn store(&self, to: &mut Encoder<'_>) {
        self.0.store(to);
        self.1.store(to);
    }

    fn read(from: &mut Decoder<'_>) -> Result<Self, DecodeError> {
        Ok((A::read(from)?, B::read(from)?))
    }
}

impl<T: Stored> Stored for Vec<T> {
    fn store(&self, to: &mut Encoder<'_>) {
        to.number(self.len() as u64);
        self.iter().for_each(|item| item.store(to));
    }

    fn read(from: &mut Decoder<'_>) -> Result<Self, DecodeError> {
        let count = from.count()?;
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

    fn read(from: &mut Decoder<'_>) -> Result<Self, DecodeError> {
        let count = from.count()?;
        (0..count).map(|_| <(K, V)>::read(from)).collect()
    }
}

impl Stored for Name {
    fn store(&self, to: &mut Encoder<'_>) {
        to.text(self.as_str());
    }

    fn read(from: &mut Decoder<'_>) -> Result<Self, DecodeError> {
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

    fn read(from: &mut Decoder<'_>) -> Result<Self, DecodeError> {
        from.name().map(|name| Self::Borrowed(name.as_str()))
    }
}

impl Stored for Protocol {
    fn store(&self, to: &mut Encoder<'_>) {
        self.as_name().store(to);
    }

    fn read(from: &mut Decoder<'_>) -> Result<Self, DecodeError> {
        from.name().map(Self::named)
    }
}

impl Stored for Parts {
    fn store(&self, to: &mut Encoder<'_>) {
        to.number(self.as_slice().len() as u64);
        self.as_slice().iter().for_each(|name| name.store(to));
    }

    fn read(from: &mut Decoder<'_>) -> Result<Self, DecodeError> {
        match from.number()? {
            count if count <= Self::MAX as u64 => (0..count).map(|_| from.name()).collect(),
            other => Err(DecodeError::Range(other)),
        }
    }
}

stored!(enum Node { 0 = Ue, 1 = Gw, 2 = Aaa, 3 = Hss, 4 = Ap });

impl Stored for Link {
    fn store(&self, to: &mut Encoder<'_>) {
        self.0.store(to);
        self.1.store(to);
    }

    fn read(from: &mut Decoder<'_>) -> Result<Self, DecodeError> {
        Ok(Self(Node::read(from)?, Node::read(from)?))
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
});

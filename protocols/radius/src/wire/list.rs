//! Sequences of attributes, RFC 2865 §5: borrowed from a packet, or owned.

use std::fmt;

use keytoll_net::wire::{DecodeError, Problem, Reader, Writer};

use super::Attribute;
use crate::number::AttributeType;

/// The attributes of a packet, which were checked when they were read.
#[derive(Clone, Copy)]
pub struct AttributeList<'a>(Reader<'a>);

impl<'a> AttributeList<'a> {
    /// Reads all the rest as attributes.
    ///
    /// # Errors
    /// An attribute is truncated, or its length does not fit.
    pub fn read(r: &mut Reader<'a>) -> Result<Self, DecodeError> {
        let list = Self(*r);
        while !r.is_empty() {
            Attribute::read(r)?;
        }
        Ok(list)
    }

    /// The attributes, in order.
    pub fn iter(&self) -> impl Iterator<Item = Attribute<'a>> + use<'a> {
        let mut left = self.0;
        std::iter::from_fn(move || {
            (!left.is_empty()).then(|| Attribute::read(&mut left).expect("read checked the list"))
        })
    }

    /// The values of all attributes of a type, as readers that know their position in the packet.
    pub fn values(&self, kind: AttributeType) -> impl Iterator<Item = Reader<'a>> + use<'a> {
        let mut left = self.0;
        let next =
            move || (!left.is_empty()).then(|| Attribute::split(&mut left).expect("read checked the list"));
        std::iter::from_fn(next).filter(move |(found, _)| *found == kind).map(|(_, value)| value)
    }

    /// The value of an attribute that may occur once.
    ///
    /// # Errors
    /// It occurs more than once.
    pub fn at_most_one(&self, kind: AttributeType) -> Result<Option<Reader<'a>>, DecodeError> {
        let mut values = self.values(kind);
        let first = values.next();
        match values.next() {
            None => Ok(first),
            Some(second) => Err(second.error(kind.name(), Problem::Repeated)),
        }
    }

    /// The value of an attribute that must occur once.
    ///
    /// # Errors
    /// It is missing, or occurs more than once.
    pub fn exactly_one(&self, kind: AttributeType) -> Result<Reader<'a>, DecodeError> {
        self.at_most_one(kind)?.ok_or_else(|| self.0.error(kind.name(), Problem::Missing))
    }

    /// The attributes on the wire.
    pub fn as_bytes(&self) -> &'a [u8] {
        let mut left = self.0;
        left.rest()
    }
}

impl PartialEq for AttributeList<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.as_bytes() == other.as_bytes()
    }
}

impl Eq for AttributeList<'_> {}

impl fmt::Debug for AttributeList<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        show(self.iter(), f)
    }
}

/// Owned attributes, as many as fit in a packet.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct Attributes(Vec<u8>);

impl Attributes {
    /// None.
    pub const fn new() -> Self {
        Self(Vec::new())
    }

    /// Appends an attribute.
    pub fn push(&mut self, attribute: Attribute<'_>) {
        let mut w = Writer::with_capacity(attribute.wire_len());
        attribute.write(&mut w);
        self.0.extend_from_slice(w.as_slice());
    }

    /// Appends an integer, RFC 2865 §5: 32 bits, most significant octet first.
    pub fn push_u32(&mut self, kind: AttributeType, value: u32) {
        self.push(Attribute::fixed(kind, &value.to_be_bytes()));
    }

    /// The attributes, in order.
    pub fn iter(&self) -> impl Iterator<Item = Attribute<'_>> {
        self.list().iter()
    }

    /// The value of the first attribute of a type.
    pub fn get(&self, kind: AttributeType) -> Option<&[u8]> {
        self.iter().find(|attribute| attribute.kind() == kind).map(|attribute| attribute.value())
    }

    /// The first attribute of a type as an integer.
    pub fn get_u32(&self, kind: AttributeType) -> Option<u32> {
        self.get(kind)?.try_into().ok().map(u32::from_be_bytes)
    }

    /// Whether there are none.
    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// A view of them.
    pub fn list(&self) -> AttributeList<'_> {
        AttributeList(Reader::new(&self.0))
    }
}

impl<'a> Extend<Attribute<'a>> for Attributes {
    fn extend<I: IntoIterator<Item = Attribute<'a>>>(&mut self, attributes: I) {
        attributes.into_iter().for_each(|attribute| self.push(attribute));
    }
}

impl<'a> FromIterator<Attribute<'a>> for Attributes {
    fn from_iter<I: IntoIterator<Item = Attribute<'a>>>(attributes: I) -> Self {
        let mut list = Self::new();
        attributes.into_iter().for_each(|attribute| list.push(attribute));
        list
    }
}

impl fmt::Debug for Attributes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        show(self.iter(), f)
    }
}

/// Types and lengths only: values may be hidden keys, and users' identities.
fn show<'a>(attributes: impl Iterator<Item = Attribute<'a>>, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let shown =
        attributes.map(|attribute| format!("{}: {} bytes", attribute.kind(), attribute.value().len()));
    f.debug_list().entries(shown).finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn an_attribute_that_must_be_there_once_is_named() {
        let mut list = Attributes::new();
        let once = |list: &Attributes| {
            list.list().exactly_one(AttributeType::STATE).map(|mut value| value.rest().to_vec())
        };
        assert_eq!(once(&list).unwrap_err().problem, Problem::Missing);
        list.push(Attribute::fixed(AttributeType::STATE, b"a"));
        assert_eq!(once(&list), Ok(b"a".to_vec()));
        list.push_u32(AttributeType::NAS_PORT, 7);
        list.push(Attribute::fixed(AttributeType::STATE, b"b"));
        let error = once(&list).unwrap_err();
        assert_eq!(error.to_string(), "State at offset 11: occurs twice");
        assert_eq!(list.get_u32(AttributeType::NAS_PORT), Some(7));
        assert_eq!(list.get_u32(AttributeType::STATE), None);
    }

    #[test]
    fn values_do_not_reach_logs() {
        let list: Attributes = [Attribute::fixed(AttributeType::USER_NAME, b"nemo")].into_iter().collect();
        assert_eq!(format!("{list:?}"), r#"["User-Name (1): 4 bytes"]"#);
        assert_eq!(format!("{:?}", list.list()), r#"["User-Name (1): 4 bytes"]"#);
    }

    proptest! {
        #[test]
        fn round_trip_and_every_cut(values in proptest::collection::vec((any::<u8>(), proptest::collection::vec(any::<u8>(), 0..20)), 0..8)) {
            let attributes = values.iter().map(|(kind, value)| Attribute::new(AttributeType(*kind), value).unwrap());
            let list: Attributes = attributes.clone().collect();
            let bytes = list.list().as_bytes();
            let read = AttributeList::read(&mut Reader::new(bytes)).unwrap();
            prop_assert!(read.iter().eq(attributes));
            let mut ends: Vec<usize> = read.iter().scan(0, |end, attribute| { *end += attribute.wire_len(); Some(*end) }).collect();
            ends.push(0);
            for cut in 0..bytes.len() {
                prop_assert_eq!(AttributeList::read(&mut Reader::new(&bytes[..cut])).is_ok(), ends.contains(&cut), "cut at {}", cut);
            }
        }
    }
}

//! The State attribute, RFC 2865 §5.24 and RFC 5080 §2.1.1: the server's id of a conversation, opaque to clients.

use std::fmt;

use keytoll_net::wire::{DecodeError, Problem, Reader};

use super::{Attribute, AttributeList};
use crate::number::AttributeType;

/// A value of a challenge that the next request must return unmodified. Whoever knows it can continue the conversation, so it
/// is not printed.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct State(Box<[u8]>);

impl State {
    /// A server's own handle.
    pub(crate) fn new<const N: usize>(handle: &[u8; N]) -> Self {
        const { assert!(N > 0 && N <= Attribute::VALUE_MAX, "fits an attribute") };
        Self(handle.as_slice().into())
    }

    /// The State of a packet, if it has one.
    pub(crate) fn read(attributes: &AttributeList<'_>) -> Result<Option<Self>, DecodeError> {
        attributes.at_most_one(AttributeType::STATE)?.map(Self::from_value).transpose()
    }

    // RFC 2865 §5.24: the length of the attribute is at least 3, so a State is never empty.
    fn from_value(mut value: Reader<'_>) -> Result<Self, DecodeError> {
        if value.is_empty() {
            return Err(value.error("State", Problem::Length(0)));
        }
        Ok(Self(value.rest().into()))
    }

    /// The attribute that carries it.
    pub fn attribute(&self) -> Attribute<'_> {
        Attribute::new(AttributeType::STATE, &self.0).expect("read from an attribute or made to fit one")
    }
}

impl fmt::Debug for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "State({} bytes)", self.0.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::Attributes;

    #[test]
    fn a_state_is_returned_unchanged_and_never_printed() {
        let state = State::new(b"32769430");
        let attributes: Attributes = [state.attribute()].into_iter().collect();
        assert_eq!(State::read(&attributes.list()), Ok(Some(state.clone())));
        assert_eq!(format!("{state:?}"), "State(8 bytes)");
    }

    #[test]
    fn an_empty_state_or_two_of_them_are_refused() {
        let problem = |values: &[&[u8]]| {
            let attributes = values.iter().map(|value| Attribute::new(AttributeType::STATE, value).unwrap());
            State::read(&attributes.collect::<Attributes>().list()).unwrap_err().problem
        };
        assert_eq!(problem(&[b""]), Problem::Length(0));
        assert_eq!(problem(&[b"a", b"a"]), Problem::Repeated);
    }
}

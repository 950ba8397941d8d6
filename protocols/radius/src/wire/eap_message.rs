//! EAP-Message attributes, RFC 3579 §3.1: an EAP packet of any length in pieces of 253 bytes.

use keytoll_net::wire::{DecodeError, Problem};

use super::{Attribute, AttributeList};
use crate::number::AttributeType;

/// The attributes that carry an EAP packet.
// RFC 3579 §2.1: an EAP-Start is an EAP-Message without data, so no bytes still make one attribute.
pub fn split(eap: &[u8]) -> impl Iterator<Item = Attribute<'_>> {
    let start = eap.is_empty().then_some(eap);
    let pieces = eap.chunks(Attribute::VALUE_MAX);
    let attribute =
        |piece| Attribute::new(AttributeType::EAP_MESSAGE, piece).expect("a chunk fits an attribute");
    start.into_iter().chain(pieces).map(attribute)
}

/// The EAP packet in a packet's attributes, if any; empty for an EAP-Start.
///
/// # Errors
/// The attributes with it are not consecutive.
pub fn join(attributes: &AttributeList<'_>) -> Result<Option<Vec<u8>>, DecodeError> {
    let mut eap: Option<Vec<u8>> = None;
    let mut end = 0;
    for mut piece in attributes.values(AttributeType::EAP_MESSAGE) {
        let begin = piece.offset() - Attribute::HEADER_LEN;
        // RFC 3579 §3.1: the attributes must be consecutive, so that nothing can be inserted in between.
        if eap.is_some() && begin != end {
            return Err(piece.error("EAP-Message", Problem::Repeated));
        }
        eap.get_or_insert_default().extend_from_slice(piece.rest());
        end = piece.offset();
    }
    Ok(eap)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::Attributes;
    use proptest::prelude::*;

    #[test]
    fn a_packet_is_cut_at_253_bytes() {
        let lengths = |n: usize| -> Vec<usize> {
            split(&vec![7; n]).map(|attribute| attribute.value().len()).collect()
        };
        assert_eq!(lengths(0), [0]);
        assert_eq!(lengths(1), [1]);
        assert_eq!(lengths(253), [253]);
        assert_eq!(lengths(254), [253, 1]);
        assert_eq!(lengths(1020), [253, 253, 253, 253, 8]);
    }

    #[test]
    fn nothing_may_stand_between_the_pieces() {
        let mut list = Attributes::new();
        assert_eq!(join(&list.list()), Ok(None));
        list.push(Attribute::fixed(AttributeType::EAP_MESSAGE, b"one"));
        list.push(Attribute::fixed(AttributeType::EAP_MESSAGE, b"two"));
        assert_eq!(join(&list.list()), Ok(Some(b"onetwo".to_vec())));
        list.push(Attribute::fixed(AttributeType::CLASS, b"x"));
        assert_eq!(join(&list.list()), Ok(Some(b"onetwo".to_vec())));
        list.push(Attribute::fixed(AttributeType::EAP_MESSAGE, b"three"));
        assert_eq!(join(&list.list()).unwrap_err().to_string(), "EAP-Message at offset 15: occurs twice");
    }

    proptest! {
        #[test]
        fn round_trip(eap in proptest::collection::vec(any::<u8>(), 0..2000)) {
            let list: Attributes = split(&eap).collect();
            prop_assert_eq!(join(&list.list()), Ok(Some(eap)));
        }
    }
}

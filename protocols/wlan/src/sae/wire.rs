//! The bodies of SAE's authentication frames behind algorithm, transaction sequence number and status code: §9.3.3.11,
//! table 9-41, §9.4.1.36 to §9.4.1.42.
//!
//! ```text
//!   Commit    hunting and pecking   Group(2) Anti-Clogging Token(*) Scalar(n) Element(2n)
//!             hash-to-element       Group(2) Scalar(n) Element(2n) elements(*)
//!   Confirm                         Send-Confirm(2) Confirm(32, 48 or 64)
//!   token     hunting and pecking   Group(2) Anti-Clogging Token(*)
//!   required  hash-to-element       Group(2) Anti-Clogging Token Container element
//!   group unsupported               Group(2)
//! ```
//!
//! Numbers in fields are little-endian; scalars and coordinates are big-endian.

use keytoll_crypto_api::algorithm::Curve;
use keytoll_net::wire::{DecodeError, Problem, Reader, Writer};

use super::group::{self, Method};
use crate::frame::element::{Element, ElementId, write_element};

/// §9.4.2.216: the name of the password.
const PASSWORD_IDENTIFIER: u8 = 33;
/// §9.4.2.246: groups that the access point has refused before.
const REJECTED_GROUPS: u8 = 92;
/// §9.4.2.247: an anti-clogging token.
const TOKEN_CONTAINER: u8 = 93;

/// Why a commit cannot be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum CommitError {
    /// It is cut short or contradicts itself.
    #[error(transparent)]
    Malformed(#[from] DecodeError),
    /// It is of a group that is not computed here.
    #[error("group {0} is not supported")]
    Group(u16),
}

/// What one side contributes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Commit<'a> {
    /// The group.
    pub curve: Curve,
    /// The commit-scalar.
    pub scalar: &'a [u8],
    /// The COMMIT-ELEMENT.
    pub element: &'a [u8],
    /// The token that the access point asked for.
    pub token: Option<&'a [u8]>,
    /// Which of the access point's passwords; with hash-to-element only.
    pub identifier: Option<&'a [u8]>,
    /// The groups that were refused before, two octets each; with hash-to-element only.
    pub rejected_groups: &'a [u8],
}

impl<'a> Commit<'a> {
    /// Reads the body of a commit.
    ///
    /// # Errors
    /// It is cut short, an element has a wrong length or occurs twice, or the group is not one of [`group::numbered`].
    pub fn read(method: Method, body: &'a [u8]) -> Result<Self, CommitError> {
        let mut r = Reader::new(body);
        let number = read_group(&mut r)?;
        let curve = group::numbered(number).ok_or(CommitError::Group(number))?;
        let token = match method {
            // Nothing says how long the token is: it is what the rest leaves.
            Method::HuntingAndPecking => r.len().saturating_sub(curve.field_len() + curve.element_len()),
            Method::HashToElement => 0,
        };
        let token = Some(r.take(token, "Anti-Clogging Token")?).filter(|token| !token.is_empty());
        let scalar = r.take(curve.field_len(), "Scalar")?;
        let element = r.take(curve.element_len(), "FFE")?;
        let mut commit = Self { curve, scalar, element, token, identifier: None, rejected_groups: &[] };
        while !r.is_empty() {
            commit.read_element(&mut r)?;
        }
        Ok(commit)
    }

    fn read_element(&mut self, r: &mut Reader<'a>) -> Result<(), DecodeError> {
        let at = *r;
        let element = Element::read(r)?;
        let Some((extension, information)) = extended(element) else { return Ok(()) };
        let error = |field, problem| Err(at.error(field, problem));
        match extension {
            _ if information.is_empty() && extension <= TOKEN_CONTAINER => {
                return error("element information", Problem::Length(0));
            }
            PASSWORD_IDENTIFIER if self.identifier.is_some() => {
                return error("Password Identifier element", Problem::Repeated);
            }
            PASSWORD_IDENTIFIER => self.identifier = Some(information),
            REJECTED_GROUPS if !self.rejected_groups.is_empty() => {
                return error("Rejected Groups element", Problem::Repeated);
            }
            REJECTED_GROUPS if !information.len().is_multiple_of(2) => {
                return error("Rejected Groups element", Problem::Length(information.len() as u64));
            }
            REJECTED_GROUPS => self.rejected_groups = information,
            TOKEN_CONTAINER if self.token.is_some() => {
                return error("Anti-Clogging Token Container element", Problem::Repeated);
            }
            TOKEN_CONTAINER => self.token = Some(information),
            _ => {}
        }
        Ok(())
    }

    /// The body as bytes.
    pub fn to_bytes(&self, method: Method) -> Vec<u8> {
        let mut w = Writer::with_capacity(2 + 3 * self.curve.field_len());
        write_group(&mut w, self.curve);
        if let (Method::HuntingAndPecking, Some(token)) = (method, self.token) {
            w.bytes(token);
        }
        w.bytes(self.scalar);
        w.bytes(self.element);
        if method == Method::HashToElement {
            let rejected = Some(self.rejected_groups).filter(|groups| !groups.is_empty());
            write_extended(&mut w, PASSWORD_IDENTIFIER, self.identifier);
            write_extended(&mut w, REJECTED_GROUPS, rejected);
            write_extended(&mut w, TOKEN_CONTAINER, self.token);
        }
        w.finish()
    }

    /// The groups that were refused before.
    pub fn rejected(&self) -> impl Iterator<Item = u16> + 'a {
        self.rejected_groups.chunks_exact(2).map(|group| u16::from_le_bytes([group[0], group[1]]))
    }
}

/// The proof that one side knows the password.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Confirm<'a> {
    /// How many were sent, this one included.
    pub send_confirm: u16,
    /// The proof.
    pub confirm: &'a [u8],
}

impl<'a> Confirm<'a> {
    /// Reads the body of a confirm whose proof has this length; elements behind it are of no use here.
    ///
    /// # Errors
    /// It is cut short.
    pub fn read(confirm_len: usize, body: &'a [u8]) -> Result<Self, DecodeError> {
        let mut r = Reader::new(body);
        let send_confirm = r.u16_le("Send-Confirm")?;
        Ok(Self { send_confirm, confirm: r.take(confirm_len, "Confirm")? })
    }

    /// The body as bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        [&self.send_confirm.to_le_bytes(), self.confirm].concat()
    }
}

/// The body of a frame with status ANTI_CLOGGING_TOKEN_REQUIRED.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TokenRequest<'a> {
    /// The group of the commit.
    pub group: u16,
    /// The token to return.
    pub token: &'a [u8],
}

impl<'a> TokenRequest<'a> {
    /// Reads it as the answer to a commit with this method.
    ///
    /// # Errors
    /// It is cut short, or there is no token.
    pub fn read(method: Method, body: &'a [u8]) -> Result<Self, DecodeError> {
        let mut r = Reader::new(body);
        let group = read_group(&mut r)?;
        let at = r;
        let token = match method {
            Method::HuntingAndPecking => r.rest(),
            Method::HashToElement => match extended(Element::read(&mut r)?) {
                Some((TOKEN_CONTAINER, token)) => token,
                _ => return Err(at.error("Anti-Clogging Token Container element", Problem::Missing)),
            },
        };
        match token {
            [] => Err(at.error("Anti-Clogging Token", Problem::Missing)),
            token => Ok(Self { group, token }),
        }
    }

    /// The body as bytes.
    pub fn to_bytes(&self, method: Method) -> Vec<u8> {
        let mut w = Writer::with_capacity(5 + self.token.len());
        w.u16_le(self.group);
        match method {
            Method::HuntingAndPecking => w.bytes(self.token),
            Method::HashToElement => write_extended(&mut w, TOKEN_CONTAINER, Some(self.token)),
        }
        w.finish()
    }
}

/// Reads the group with which every body but that of a confirm begins.
///
/// # Errors
/// It is cut short.
pub fn read_group(r: &mut Reader<'_>) -> Result<u16, DecodeError> {
    r.u16_le("Finite Cyclic Group")
}

fn write_group(w: &mut Writer, curve: Curve) {
    w.u16_le(group::number(curve));
}

/// The extension of an element's id, and its information behind it.
fn extended(element: Element<'_>) -> Option<(u8, &[u8])> {
    let (&extension, information) = element.body.split_first()?;
    (element.id == ElementId::EXTENSION).then_some((extension, information))
}

fn write_extended(w: &mut Writer, extension: u8, information: Option<&[u8]>) {
    if let Some(information) = information {
        write_element(w, ElementId::EXTENSION, |w| {
            w.u8(extension);
            w.bytes(information);
        });
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const METHODS: [Method; 2] = [Method::HuntingAndPecking, Method::HashToElement];

    fn commit(curve: Curve) -> (Vec<u8>, Vec<u8>) {
        (vec![3; curve.field_len()], vec![4; curve.element_len()])
    }

    fn nonempty(len: usize) -> impl Strategy<Value = Option<Vec<u8>>> {
        prop::option::of(prop::collection::vec(any::<u8>(), 1..len))
    }

    proptest! {
        #[test]
        fn round_trip(curve in prop::sample::select(Curve::ALL), token in nonempty(200), identifier in nonempty(200), rejected in 0_usize..9) {
            let ((scalar, element), groups) = (commit(curve), vec![7; 2 * rejected]);
            for method in METHODS {
                let h2e = method == Method::HashToElement;
                let commit = Commit {
                    curve,
                    scalar: &scalar,
                    element: &element,
                    token: token.as_deref(),
                    identifier: identifier.as_deref().filter(|_| h2e),
                    rejected_groups: if h2e { &groups } else { &[] },
                };
                let bytes = commit.to_bytes(method);
                prop_assert_eq!(Commit::read(method, &bytes), Ok(commit));
                for len in 0..2 + scalar.len() + element.len() {
                    prop_assert!(Commit::read(method, &bytes[..len]).is_err());
                }
                if let Some(token) = &token {
                    let request = TokenRequest { group: 19, token };
                    let bytes = request.to_bytes(method);
                    prop_assert_eq!(TokenRequest::read(method, &bytes), Ok(request));
                }
            }
        }

        #[test]
        fn any_bytes_are_read_or_refused(group in prop::sample::select(&[19_u16, 20, 21, 1][..]), rest: Vec<u8>, long in prop::collection::vec(any::<u8>(), 96..300)) {
            for rest in [rest, long] {
                let body = [&group.to_le_bytes()[..], &rest].concat();
                for method in METHODS {
                    _ = Commit::read(method, &body).map(|commit| commit.rejected().count());
                    _ = TokenRequest::read(method, &body);
                }
                for len in [32, 48, 64] {
                    _ = Confirm::read(len, &body);
                }
            }
        }
    }

    #[test]
    fn every_field_that_is_cut_short_is_named() {
        let check = |method, body: &[u8], expected: &str| {
            assert_eq!(Commit::read(method, body).unwrap_err().to_string(), expected);
        };
        let fields = [&[19, 0], &[3; 32][..], &[4; 64]].concat();
        let h2e = Method::HashToElement;
        check(h2e, &[], "Finite Cyclic Group at offset 0: needs 2 bytes, 0 are left");
        check(h2e, &[15, 0], "group 15 is not supported");
        check(h2e, &fields[..20], "Scalar at offset 2: needs 32 bytes, 18 are left");
        check(Method::HuntingAndPecking, &fields[..97], "FFE at offset 34: needs 64 bytes, 63 are left");
        let with = |elements: &[u8]| [&fields[..], elements].concat();
        check(h2e, &with(&[255, 4, 33, 1]), "element information at offset 100: needs 4 bytes, 2 are left");
        check(h2e, &with(&[255, 1, 33]), "element information at offset 98: length 0 does not fit");
        check(
            h2e,
            &with(&[255, 2, 33, 1, 255, 2, 33, 1]),
            "Password Identifier element at offset 102: occurs twice",
        );
        check(h2e, &with(&[255, 2, 92, 1]), "Rejected Groups element at offset 98: length 1 does not fit");
        assert!(Commit::read(h2e, &with(&[221, 3, 1, 2, 3, 255, 0])).is_ok(), "unknown elements are skipped");
        let confirm = Confirm::read(32, &[1, 0, 7]).unwrap_err();
        assert_eq!(confirm.to_string(), "Confirm at offset 2: needs 32 bytes, 1 are left");
        let token = |method, body: &[u8]| TokenRequest::read(method, body).unwrap_err().to_string();
        assert_eq!(token(Method::HuntingAndPecking, &[19, 0]), "Anti-Clogging Token at offset 2: is missing");
        assert_eq!(
            token(h2e, &[19, 0, 255, 2, 92, 1]),
            "Anti-Clogging Token Container element at offset 2: is missing"
        );
    }
}

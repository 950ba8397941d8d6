//! Authentication frames as these two authentications write and read them: the body, in the clear.

use super::Failure;
use crate::frame::management::{Authentication, subtype};
use crate::frame::{AuthenticationAlgorithm, Element, Elements, Management, StatusCode};

/// A body of this algorithm and sequence number without a status other than success.
pub(crate) fn write(algorithm: AuthenticationAlgorithm, sequence: u16, elements: &[Element<'_>]) -> Vec<u8> {
    let rest: Vec<u8> = elements.iter().flat_map(Element::to_bytes).collect();
    body(Authentication { algorithm, sequence, status: StatusCode::SUCCESS, rest: &rest })
}

/// The body with which a side says that it ends the authentication, and why.
pub fn refusal(algorithm: AuthenticationAlgorithm, sequence: u16, failure: Failure) -> Vec<u8> {
    body(Authentication { algorithm, sequence, status: failure.status(), rest: &[] })
}

fn body(frame: Authentication<'_>) -> Vec<u8> {
    Management::Authentication(frame).to_bytes()
}

/// An access point has sent frame 4, and sends it again for a station that missed it.
#[derive(Debug)]
pub struct Answered {
    response: Vec<u8>,
    result: Vec<u8>,
}

impl Answered {
    pub(crate) fn new(response: &[u8], result: Vec<u8>) -> Self {
        Self { response: response.to_vec(), result }
    }

    /// The body of frame 4.
    pub fn result(&self) -> &[u8] {
        &self.result
    }

    /// The body of frame 4 again, if this is frame 3 again.
    pub fn on_repeated(&self, body: &[u8]) -> Option<&[u8]> {
        (body == self.response).then_some(&self.result[..])
    }
}

/// A station has sent frame 3, and sends it again for an access point that missed it.
#[derive(Debug)]
pub(crate) struct Responded {
    challenge: Vec<u8>,
    response: Vec<u8>,
}

impl Responded {
    pub(crate) fn new(challenge: &[u8], response: Vec<u8>) -> Self {
        Self { challenge: challenge.to_vec(), response }
    }

    /// The body of frame 3.
    pub(crate) fn response(&self) -> &[u8] {
        &self.response
    }

    /// The same, if this is frame 2 again.
    pub(crate) fn on_repeated(&self, body: &[u8]) -> Option<&[u8]> {
        (body == self.challenge).then_some(&self.response[..])
    }
}

/// Reads the body that is waited for.
///
/// # Errors
/// It is another one, or says that the other side refuses.
pub(crate) fn read(
    body: &[u8],
    algorithm: AuthenticationAlgorithm,
    sequence: u16,
) -> Result<Authentication<'_>, Failure> {
    let Management::Authentication(frame) = Management::read(subtype::AUTHENTICATION, body)? else {
        unreachable!("a body of this subtype is read as one of authentication")
    };
    match frame {
        _ if frame.algorithm != algorithm => Err(Failure::Algorithm),
        _ if frame.sequence != sequence => Err(Failure::Sequence),
        _ if frame.status != StatusCode::SUCCESS => Err(Failure::Refused(frame.status)),
        frame => Ok(frame),
    }
}

/// The first element that fits.
pub(crate) fn find<'a>(
    frame: &Authentication<'a>,
    fits: impl Fn(&Element<'a>) -> bool,
) -> Result<Option<&'a [u8]>, Failure> {
    let Elements(elements) = frame.elements()?;
    Ok(elements.into_iter().find(|element| fits(element)).map(|element| element.body))
}

//! The random numbers of both hellos, read off the wire: RFC 5216 §2.3 forms the Session-Id of EAP-TLS from them, and rustls
//! does not expose them.
//!
//! Both hellos are the first record of their direction and not encrypted:
//!
//! ```text
//!   record: Type(1) = 22, Version(2), Length(2)     RFC 5246 §6.2.1
//!   message: Type(1) = 1 or 2, Length(3)            RFC 5246 §7.4
//!   hello: Version(2), Random(32), …                RFC 5246 §7.4.1.2, §7.4.1.3
//! ```

/// client_random and server_random.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hellos {
    /// From the ClientHello.
    pub client_random: [u8; 32],
    /// From the ServerHello.
    pub server_random: [u8; 32],
}

/// Offset of the random number: after record header, message header and version.
const RANDOM_AT: usize = 5 + 4 + 2;
/// Its end.
const RANDOM_END: usize = RANDOM_AT + 32;

/// The first bytes of one direction.
#[derive(Debug, Clone)]
pub(crate) struct Beginning {
    /// HandshakeType of the hello.
    message: u8,
    bytes: Vec<u8>,
}

impl Beginning {
    /// What a client sends.
    pub(crate) const fn of_client() -> Self {
        Self { message: 1, bytes: Vec::new() }
    }

    /// What a server sends.
    pub(crate) const fn of_server() -> Self {
        Self { message: 2, bytes: Vec::new() }
    }

    /// Adds what is still missing.
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        let lacking = RANDOM_END - self.bytes.len();
        self.bytes.extend(bytes.iter().take(lacking));
    }

    /// The random number, once it is complete.
    pub(crate) fn random(&self) -> Option<[u8; 32]> {
        let is_hello = self.bytes.first() == Some(&22) && self.bytes.get(5) == Some(&self.message);
        let random = self.bytes.get(RANDOM_AT..RANDOM_END)?;
        is_hello.then(|| random.try_into().expect("the range has 32 bytes"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hello(message: u8) -> Vec<u8> {
        let mut bytes = vec![22, 3, 1, 0, 50, message, 0, 0, 46, 3, 3];
        bytes.extend(100..150);
        bytes
    }

    #[test]
    fn the_random_number_is_found_in_pieces_of_any_size() {
        for size in 1..61 {
            let mut beginning = Beginning::of_client();
            hello(1).chunks(size).for_each(|piece| beginning.push(piece));
            assert_eq!(beginning.random(), Some(std::array::from_fn(|i| 100 + i as u8)), "{size}");
        }
    }

    #[test]
    fn cut_short_or_of_another_kind_there_is_none() {
        for cut in 0..RANDOM_END {
            let mut beginning = Beginning::of_client();
            beginning.push(&hello(1)[..cut]);
            assert_eq!(beginning.random(), None, "{cut}");
        }
        let mut server = Beginning::of_server();
        server.push(&hello(1));
        assert_eq!(server.random(), None);
        let mut alert = Beginning::of_server();
        alert.push(&[21; 60]);
        assert_eq!(alert.random(), None);
    }
}

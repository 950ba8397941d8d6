//! A client of charon's control protocol, for commands that must not wait for a program to start: initiating and deleting SAs. Read
//! `src/libcharon/plugins/vici/README.md` of strongSwan's source.

use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

/// Packet types.
const REQUEST: u8 = 0;
const RESPONSE: u8 = 1;
/// Element types of a message.
const KEY_VALUE: u8 = 3;
/// The limit on the length of a packet; charon's own is 512 KiB.
const PACKET_BYTES_MAX: u32 = 512 * 1024;
/// Timeout of a command: an IKE SA that fails is retransmitted for minutes.
const PATIENCE: Duration = Duration::from_secs(600);

/// An open connection.
#[derive(Debug)]
pub struct Vici {
    stream: UnixStream,
}

impl Vici {
    /// Connects to a daemon's socket.
    ///
    /// # Errors
    /// When charon does not accept the connection.
    pub fn connect(socket: &Path) -> io::Result<Self> {
        let stream = UnixStream::connect(socket)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        Ok(Self { stream })
    }

    /// Runs a command and waits for its end.
    ///
    /// # Errors
    /// With charon's message when it fails.
    pub fn run(&mut self, command: &str, arguments: &[(&str, &str)]) -> io::Result<()> {
        let mut packet = vec![REQUEST];
        push_short(&mut packet, command);
        for (key, value) in arguments {
            packet.push(KEY_VALUE);
            push_short(&mut packet, key);
            let length = u16::try_from(value.len()).map_err(|_| io::ErrorKind::InvalidInput)?;
            packet.extend(length.to_be_bytes());
            packet.extend(value.as_bytes());
        }
        let length = u32::try_from(packet.len()).map_err(|_| io::ErrorKind::InvalidInput)?;
        self.stream.write_all(&[&length.to_be_bytes()[..], &packet].concat())?;
        verdict(&self.receive()?)
    }

    fn receive(&mut self) -> io::Result<Vec<u8>> {
        let mut length = [0; 4];
        self.stream.read_exact(&mut length)?;
        let length = u32::from_be_bytes(length);
        if length > PACKET_BYTES_MAX {
            return Err(io::Error::other(format!("vici: a packet of {length} bytes")));
        }
        let mut packet = vec![0; length as usize];
        self.stream.read_exact(&mut packet)?;
        Ok(packet)
    }
}

/// A name behind its length.
fn push_short(packet: &mut Vec<u8>, name: &str) {
    let length = u8::try_from(name.len()).unwrap_or(u8::MAX);
    packet.push(length);
    packet.extend(&name.as_bytes()[..usize::from(length)]);
}

/// The result in a response: `success` is `yes`, or else `errmsg` has the reason.
fn verdict(packet: &[u8]) -> io::Result<()> {
    let malformed = || io::Error::other("vici: a response that cannot be read");
    let Some((&RESPONSE, body)) = packet.split_first() else {
        return Err(io::Error::other("vici: charon does not know the command"));
    };
    let values = values(body).ok_or_else(malformed)?;
    let value = |key: &str| values.iter().find_map(|(name, value)| (name == key).then_some(value.as_str()));
    match value("success") {
        Some("yes") => Ok(()),
        Some(_) => Err(io::Error::other(value("errmsg").unwrap_or("no reason given").to_owned())),
        None => Err(malformed()),
    }
}

/// The values of a message without sections and lists.
fn values(mut body: &[u8]) -> Option<Vec<(String, String)>> {
    let mut values = Vec::new();
    while let Some((&KEY_VALUE, rest)) = body.split_first() {
        let (&length, rest) = rest.split_first()?;
        let (key, rest) = rest.split_at_checked(length.into())?;
        let (length, rest) = rest.split_first_chunk()?;
        let (value, rest) = rest.split_at_checked(u16::from_be_bytes(*length).into())?;
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        values.push((text(key), text(value)));
        body = rest;
    }
    body.is_empty().then_some(values)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn response(values: &[(&str, &str)]) -> Vec<u8> {
        let mut packet = vec![RESPONSE];
        for (key, value) in values {
            packet.push(KEY_VALUE);
            push_short(&mut packet, key);
            packet.extend((value.len() as u16).to_be_bytes());
            packet.extend(value.as_bytes());
        }
        packet
    }

    #[test]
    fn success_and_failure_have_charons_message() {
        verdict(&response(&[("success", "yes")])).unwrap();
        let failed = verdict(&response(&[("success", "no"), ("errmsg", "CHILD_SA config 'x' not found")]));
        assert_eq!(failed.unwrap_err().to_string(), "CHILD_SA config 'x' not found");
        assert!(verdict(&[2]).is_err());
    }

    #[test]
    fn a_truncated_response_is_refused() {
        let whole = response(&[("success", "yes"), ("errmsg", "")]);
        for end in 0..whole.len() {
            // Truncated between two values it is a shorter valid response.
            if end != 15 {
                assert!(verdict(&whole[..end]).is_err(), "{end}");
            }
        }
    }

    #[test]
    fn a_command_is_encoded_as_specified() {
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        let reader = std::thread::spawn(move || {
            let mut request = vec![0; 4 + 10 + 1 + 6 + 2 + 3];
            theirs.read_exact(&mut request).unwrap();
            let answer = response(&[("success", "yes")]);
            theirs.write_all(&(answer.len() as u32).to_be_bytes()).unwrap();
            theirs.write_all(&answer).unwrap();
            request
        });
        Vici { stream: ours }.run("initiate", &[("child", "net")]).unwrap();
        assert_eq!(reader.join().unwrap(), b"\0\0\0\x16\0\x08initiate\x03\x05child\0\x03net");
    }
}

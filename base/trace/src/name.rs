//! Names: of protocols, of messages and their parts, of whatever else a trace says in words.
//!
//! An engine has its names as constants, `Name::new(&"IKE_AUTH request")`. Names that come from a file are kept once in a table
//! of the process, which is bounded: a name is [`Name::BYTES_MAX`] long at most, and there are [`Name::COUNT_MAX`] at most. So a
//! name can be copied wherever it comes from, and takes one word.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Mutex, PoisonError};

/// A name. Names are equal, and in order, as their texts are.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Name(&'static &'static str);

/// Why a text becomes no name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NameError {
    /// It is too long.
    #[error("a name of {bytes} bytes, and {max} are the limit", max = Name::BYTES_MAX)]
    TooLong {
        /// How long it is.
        bytes: usize,
    },
    /// There are too many already.
    #[error("one name more than the {max} that are the limit", max = Name::COUNT_MAX)]
    TooMany,
}

/// The names that did not come with the program.
static INTERNED: Mutex<BTreeMap<&'static str, Name>> = Mutex::new(BTreeMap::new());

impl Name {
    /// A name is not longer than this, in bytes.
    pub const BYTES_MAX: usize = 1024;
    /// A process reads no more names than this, and a file has no more.
    pub const COUNT_MAX: usize = 16_384;

    /// A name that comes with the program. It is given by reference, as in `Name::new(&"MAR")`, so that it is one word.
    pub const fn new(text: &'static &'static str) -> Self {
        Self(text)
    }

    /// A name that is read: the same text gives the same name and is kept once, until the process ends.
    ///
    /// # Errors
    /// If the text is too long, or there are too many names already.
    pub fn intern(text: &str) -> Result<Self, NameError> {
        let mut interned = INTERNED.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(&known) = interned.get(text) {
            return Ok(known);
        }
        if text.len() > Self::BYTES_MAX {
            return Err(NameError::TooLong { bytes: text.len() });
        }
        if interned.len() >= Self::COUNT_MAX {
            return Err(NameError::TooMany);
        }
        let text: &'static str = Box::leak(text.into());
        let name = Self(Box::leak(Box::new(text)));
        interned.insert(text, name);
        Ok(name)
    }

    /// The text.
    pub const fn as_str(self) -> &'static str {
        self.0
    }
}

/// The empty name.
impl Default for Name {
    fn default() -> Self {
        Self(&"")
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.0)
    }
}

impl fmt::Debug for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

/// Which protocol a datagram or a message belongs to. Each protocol's crate has the constant of its own.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Protocol(Name);

impl Protocol {
    /// IPsec traffic, whichever protocol has set it up.
    pub const ESP: Self = Self::new(&"esp");
    /// ICMP outside IPsec.
    pub const ICMP: Self = Self::new(&"icmp");
    /// Traffic of users outside IPsec, other than ICMP.
    pub const IP: Self = Self::new(&"ip");
    /// Traffic of users in data frames below IP, protected or not.
    pub const FRAMES: Self = Self::new(&"frames");
    /// Management frames below IP.
    pub const MANAGEMENT: Self = Self::new(&"wlan");

    /// The protocol of this name, which is in lower case.
    pub const fn new(name: &'static &'static str) -> Self {
        Self(Name::new(name))
    }

    /// The protocol of a name that was read.
    pub const fn named(name: Name) -> Self {
        Self(name)
    }

    /// The name used in files and on the screen.
    pub const fn name(self) -> &'static str {
        self.0.as_str()
    }

    /// The same as a [`Name`].
    pub const fn as_name(self) -> Name {
        self.0
    }

    /// Whether what it carries is traffic of users: no part of an authentication, and possibly endless.
    pub fn is_traffic(self) -> bool {
        matches!(self, Self::ESP | Self::ICMP | Self::IP | Self::FRAMES)
    }
}

impl fmt::Debug for Protocol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The names of a message's parts (payloads, attributes) in the order in which they were sent, those inside encryption
/// included.
#[derive(Clone, Copy)]
pub struct Parts {
    names: [Name; Self::MAX],
    len: u8,
}

impl Parts {
    /// More than this many are not remembered.
    pub const MAX: usize = 15;
    const NOTHING: Name = Name::new(&"");

    /// Appends a name; beyond [`Self::MAX`] it is left out.
    pub const fn push(&mut self, name: Name) {
        if (self.len as usize) < Self::MAX {
            self.names[self.len as usize] = name;
            self.len += 1;
        }
    }

    /// The names, in order.
    pub fn as_slice(&self) -> &[Name] {
        self.names.get(..usize::from(self.len)).unwrap_or(&self.names)
    }
}

impl Default for Parts {
    fn default() -> Self {
        Self { names: [Self::NOTHING; Self::MAX], len: 0 }
    }
}

impl FromIterator<Name> for Parts {
    fn from_iter<I: IntoIterator<Item = Name>>(names: I) -> Self {
        let mut parts = Self::default();
        names.into_iter().take(Self::MAX).for_each(|name| parts.push(name));
        parts
    }
}

impl PartialEq for Parts {
    fn eq(&self, other: &Self) -> bool {
        self.as_slice() == other.as_slice()
    }
}

impl Eq for Parts {}

/// `SA KE Nonce N N`
impl fmt::Display for Parts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, name) in self.as_slice().iter().enumerate() {
            let space = if place > 0 { " " } else { "" };
            write!(f, "{space}{name}")?;
        }
        Ok(())
    }
}

impl fmt::Debug for Parts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.as_slice()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KE: Name = Name::new(&"KE");

    #[test]
    fn a_name_is_its_text_wherever_it_comes_from() {
        let read = Name::intern(&String::from("KE")).unwrap();
        assert_eq!((read, read.as_str()), (KE, "KE"));
        assert!(matches!(Protocol::named(Name::intern("esp").unwrap()), Protocol::ESP));
        assert!(KE < Name::new(&"SA") && Name::new(&"") < KE);
        assert_eq!(format!("{read} {read:?} {read:4}|"), "KE KE KE  |");
        assert_eq!(size_of::<Option<Name>>(), size_of::<usize>());
    }

    #[test]
    fn the_same_text_is_kept_once() {
        let [one, other] = [0, 1].map(|_| Name::intern("kept once").unwrap());
        assert!(std::ptr::eq(one.0, other.0));
    }

    #[test]
    fn a_long_text_is_no_name() {
        let long = "x".repeat(Name::BYTES_MAX + 1);
        assert_eq!(Name::intern(&long), Err(NameError::TooLong { bytes: 1025 }));
        assert!(Name::intern(&long[1..]).is_ok());
    }

    #[test]
    fn more_parts_than_are_remembered_are_left_out() {
        let parts: Parts = std::iter::repeat_n(KE, 20).collect();
        assert_eq!(parts.as_slice(), [KE; Parts::MAX]);
        let two: Parts = [KE, Name::new(&"SA")].into_iter().collect();
        assert_eq!((two.to_string().as_str(), Parts::default().to_string().as_str()), ("KE SA", ""));
        assert_ne!(two, parts);
    }
}

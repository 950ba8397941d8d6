//! Outputs of primitives: digests and secrets, wiped when dropped, compared in constant time, never printed.

use std::fmt;

use zeroize::Zeroizing;

/// The output of a hash, PRF or MAC: up to 64 bytes, on the stack, wiped when dropped.
#[derive(Clone)]
pub struct Digest {
    bytes: Zeroizing<[u8; 64]>,
    len: u8,
}

impl Digest {
    /// A digest of `len` zero bytes, to be filled.
    ///
    /// # Panics
    /// If `len` is over 64; no algorithm has a longer output.
    #[inline]
    pub fn zeroed(len: usize) -> Self {
        assert!(len <= 64, "digests have at most 64 bytes");
        Self { bytes: Zeroizing::new([0; 64]), len: len as u8 }
    }

    /// Whether it equals these bytes; compared in constant time, except for the length.
    pub fn matches(&self, bytes: &[u8]) -> bool {
        use subtle::ConstantTimeEq;
        (**self).ct_eq(bytes).into()
    }

    /// Cuts it to its first `len` bytes.
    #[inline]
    pub fn truncate(&mut self, len: usize) {
        self.len = self.len.min(u8::try_from(len).unwrap_or(u8::MAX));
    }
}

impl std::ops::Deref for Digest {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        &self.bytes[..usize::from(self.len)]
    }
}

impl std::ops::DerefMut for Digest {
    #[inline]
    fn deref_mut(&mut self) -> &mut [u8] {
        &mut self.bytes[..usize::from(self.len)]
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Digest({} bytes)", self.len)
    }
}

/// Secret bytes: wiped when dropped, never printed, compared in constant time.
#[derive(Clone, Default)]
pub struct Secret(Zeroizing<Box<[u8]>>);

impl Secret {
    /// Takes bytes over.
    #[inline]
    pub fn new(bytes: Vec<u8>) -> Self {
        Self(Zeroizing::new(bytes.into_boxed_slice()))
    }
}

impl From<&[u8]> for Secret {
    #[inline]
    fn from(bytes: &[u8]) -> Self {
        Self(Zeroizing::new(bytes.into()))
    }
}

impl std::ops::Deref for Secret {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        &self.0
    }
}

impl PartialEq for Secret {
    fn eq(&self, other: &Self) -> bool {
        use subtle::ConstantTimeEq;
        self.0.ct_eq(&other.0).into()
    }
}

impl Eq for Secret {}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Secret({} bytes)", self.0.len())
    }
}

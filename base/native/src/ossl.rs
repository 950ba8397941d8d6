//! The system's OpenSSL 3.0 libcrypto, called through the functions strongSwan calls: low-level `DH_*` for MODP,
//! `EVP_PKEY_derive` for curves, `HMAC_CTX`, `EVP_CIPHER`, `EVP_DigestSign`.
//!
//! Its purpose is to separate a difference in speed into library and engine, so nothing is faster here than in strongSwan:
//! the peer's point is validated as `EVP_PKEY_derive_set_peer` does, and every context is made anew. Algorithms are fetched
//! once per process, as daemons do. The types that name algorithms are shared with [`crate::awslc`].

pub mod agreement;
pub mod cipher;
pub mod digest;
pub mod element;
pub mod key;

use std::ffi::{CStr, c_int};
use std::sync::OnceLock;

use openssl_sys as sys;

/// Declares a type that owns an OpenSSL object and frees it when dropped.
macro_rules! owned {
    ($(#[$doc:meta])* $vis:vis $name:ident($raw:ty), $free:path) => {
        $(#[$doc])*
        $vis struct $name(std::ptr::NonNull<$raw>);

        impl $name {
            /// Takes ownership of a constructor's result; `None` if it failed.
            $vis fn own(pointer: *mut $raw) -> Option<Self> {
                let owned = std::ptr::NonNull::new(pointer).map(Self);
                crate::ossl::succeeded(owned.is_some().into());
                owned
            }

            /// The pointer, to lend to the library.
            #[allow(dead_code, reason = "not every type is lent")]
            $vis fn as_ptr(&self) -> *mut $raw {
                self.0.as_ptr()
            }

            /// The pointer, for a library function that takes ownership of the object.
            #[allow(dead_code, reason = "few are taken over")]
            $vis fn into_raw(self) -> *mut $raw {
                std::mem::ManuallyDrop::new(self).0.as_ptr()
            }
        }

        impl Drop for $name {
            fn drop(&mut self) {
                // SAFETY: the pointer came from the matching constructor, and nobody else frees it.
                unsafe { $free(self.0.as_ptr()) }
            }
        }
    };
}
pub(crate) use owned;

/// The library's own description, e.g. `OpenSSL 3.0.19 27 Jan 2026`.
pub fn version() -> &'static str {
    // SAFETY: returns a constant, zero-terminated ASCII string.
    unsafe { CStr::from_ptr(sys::OpenSSL_version(sys::OPENSSL_VERSION)) }.to_str().unwrap_or("OpenSSL")
}

/// Whether the library succeeded; clears its error queue otherwise.
fn succeeded(status: c_int) -> bool {
    if status != 1 {
        // SAFETY: no arguments; works on the calling thread's own queue.
        unsafe { sys::ERR_clear_error() };
    }
    status == 1
}

/// An algorithm object that lives as long as the process.
struct Fetched<T>(OnceLock<usize>, std::marker::PhantomData<fn() -> T>);

impl<T> Fetched<T> {
    const fn new() -> Self {
        Self(OnceLock::new(), std::marker::PhantomData)
    }

    fn get(&self, fetch: impl FnOnce() -> *mut T) -> *mut T {
        let address = self.0.get_or_init(|| fetch().expose_provenance());
        assert!(*address != 0, "the default provider has the algorithm");
        std::ptr::with_exposed_provenance_mut(*address)
    }
}

fn int(len: usize) -> c_int {
    c_int::try_from(len).expect("a message is shorter than 2 GiB")
}

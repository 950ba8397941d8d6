//! Owned pointers to objects that libcrypto allocated.

/// Declares a type that owns a libcrypto object and frees it when dropped.
macro_rules! owned {
    ($(#[$doc:meta])* $vis:vis $name:ident($raw:ty), $free:path) => {
        $(#[$doc])*
        $vis struct $name(std::ptr::NonNull<$raw>);

        impl $name {
            /// Takes ownership of a constructor's result; `None` if it failed.
            #[allow(dead_code, reason = "each type uses the constructor that fits it")]
            fn own(pointer: *mut $raw) -> Option<Self> {
                let owned = std::ptr::NonNull::new(pointer).map(Self);
                crate::awslc::succeeded(owned.is_some().into());
                owned
            }

            /// The pointer, to lend to the library.
            #[allow(dead_code, reason = "not every type is lent")]
            pub(crate) fn as_ptr(&self) -> *mut $raw {
                self.0.as_ptr()
            }

            /// The pointer, for a library function that takes ownership of the object.
            #[allow(dead_code, reason = "few are taken over")]
            pub(crate) fn into_raw(self) -> *mut $raw {
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

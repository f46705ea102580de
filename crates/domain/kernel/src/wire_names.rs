//! Enums with names for the interface and the store, each name written once.

/// Declares an enum whose variants have names in the interface and in the store. It gets the list of all
/// variants in order (`ALL`), their names (`NAMES`, `as_str`), reading a name (`FromStr`), and both in JSON. A
/// variant may have aliases, which are read and never written.
///
/// ```
/// quipu_kernel::wire_names! {
///     /// How it tastes.
///     #[derive(Debug, Clone, Copy, PartialEq, Eq)]
///     pub enum Taste {
///         /// Like sugar.
///         Sweet = "sweet" | "sugary",
///         /// Like lemons.
///         Sour = "sour",
///     }
/// }
/// assert_eq!(Taste::ALL.map(Taste::as_str), ["sweet", "sour"]);
/// assert_eq!(Taste::NAMES, ["sweet", "sour"]);
/// assert_eq!("sugary".parse(), Ok(Taste::Sweet));
/// assert_eq!("salty".parse::<Taste>().unwrap_err().to_string(), "must be one of sweet, sour");
/// ```
#[macro_export]
macro_rules! wire_names {
    (
        $(#[$meta:meta])*
        $vis:vis enum $name:ident {
            $($(#[$variant_meta:meta])* $variant:ident = $text:literal $(| $alias:literal)*),+ $(,)?
        }
    ) => {
        $(#[$meta])*
        $vis enum $name {
            $($(#[$variant_meta])* $variant),+
        }

        impl $name {
            /// All variants, in the order in which they are declared.
            pub const ALL: [Self; [$($text),+].len()] = [$(Self::$variant),+];

            /// The names of all variants, in the same order.
            pub const NAMES: [&'static str; Self::ALL.len()] = [$($text),+];

            /// The name in the interface and in the store.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $text),+
                }
            }
        }

        impl ::std::str::FromStr for $name {
            type Err = $crate::Unrecognised;

            fn from_str(text: &str) -> ::std::result::Result<Self, $crate::Unrecognised> {
                match text {
                    $($text $(| $alias)* => Ok(Self::$variant),)+
                    _ => Err($crate::Unrecognised { expected: $crate::wire_names!(@one_of $($text),+) }),
                }
            }
        }

        impl $crate::serde::Serialize for $name {
            fn serialize<S: $crate::serde::Serializer>(&self, to: S) -> ::std::result::Result<S::Ok, S::Error> {
                to.serialize_str(self.as_str())
            }
        }

        impl<'de> $crate::serde::Deserialize<'de> for $name {
            fn deserialize<D: $crate::serde::Deserializer<'de>>(from: D) -> ::std::result::Result<Self, D::Error> {
                let text = <::std::borrow::Cow<'de, str> as $crate::serde::Deserialize>::deserialize(from)?;
                text.parse().map_err($crate::serde::de::Error::custom)
            }
        }
    };
    (@one_of $first:literal $(, $other:literal)*) => { concat!("one of ", $first $(, ", ", $other)*) };
}

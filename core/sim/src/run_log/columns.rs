//! A table of the run log: from a declaration, the struct, its columns with units and meanings, and their values.

/// A column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Column {
    /// Name, with the unit as suffix.
    pub name: &'static str,
    /// Rust type of a value, or of the column.
    pub kind: &'static str,
    /// Unit; empty for names, indices and ratios.
    pub unit: &'static str,
    /// Description.
    pub meaning: &'static str,
}

/// A value of a summary, or a column of a series.
#[derive(Clone, Debug, PartialEq)]
#[expect(missing_docs, reason = "each variant is what its type says")]
pub enum Cell {
    Text(String),
    Float(f64),
    Count(u64),
    OptionalFloat(Option<f64>),
    OptionalCount(Option<u64>),
    OptionalText(Option<String>),
    Floats(Vec<f64>),
    Counts(Vec<u32>),
    Flags(Vec<bool>),
}

macro_rules! cells {
    ($($type:ty => $variant:ident),+ $(,)?) => {
        $(impl From<$type> for Cell {
            fn from(value: $type) -> Self {
                Self::$variant(value)
            }
        })+
    };
}

cells! {
    String => Text, f64 => Float, u64 => Count, Option<f64> => OptionalFloat, Option<u64> => OptionalCount,
    Option<String> => OptionalText,
    Vec<f64> => Floats, Vec<u32> => Counts, Vec<bool> => Flags,
}

macro_rules! table {
    ($(#[$about:meta])* $table:ident { $($column:ident: $type:ty, $unit:literal, $meaning:literal;)+ }) => {
        $(#[$about])*
        #[derive(Clone, Debug, Default, PartialEq)]
        pub struct $table {
            $(#[doc = $meaning] pub $column: $type,)+
        }

        impl $table {
            /// The table's columns.
            pub const COLUMNS: &'static [$crate::run_log::Column] = &[$($crate::run_log::Column {
                name: stringify!($column),
                kind: stringify!($type),
                unit: $unit,
                meaning: $meaning,
            },)+];

            /// Iterate over the columns' names and values.
            pub fn cells(self) -> impl Iterator<Item = (&'static str, $crate::run_log::Cell)> {
                [$((stringify!($column), $crate::run_log::Cell::from(self.$column)),)+].into_iter()
            }
        }
    };
}

pub(crate) use table;

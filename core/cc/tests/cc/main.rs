//! Tests of the public interface with every scheme of the table.

mod lossless;
mod senseless_acks;

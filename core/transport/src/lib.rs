//! A Linux-faithful TCP sender and receiver as state machines without a clock

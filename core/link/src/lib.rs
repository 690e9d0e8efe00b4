//! The link: capacity, FIFO time-varying propagation, queues, loss and outages, as a state machine without a clock

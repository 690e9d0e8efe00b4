//! Topology, event loop and batches of simulations

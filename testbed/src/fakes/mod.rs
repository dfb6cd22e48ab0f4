//! Fakes of hardware that this machine does not have, behind the interfaces that the real things have.
//!
//! Invariant: nothing here is a mock of our own code; the agent reads the same resources, records and answers that it
//! reads on a machine with GPUs, and everything is called fake where a person sees it.

mod dcgm;
mod devices;
mod gpu;
mod kmsg;

pub use dcgm::{Serve as ServeDcgm, run as serve_dcgm, start as start_dcgm};
pub use devices::write as write_devices;
pub use gpu::set as set_gpus;
pub use kmsg::{FILE as KMSG_FILE, append as append_kernel_line};

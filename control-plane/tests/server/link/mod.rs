//! The link's promises and what it refuses.

mod arrivals;
mod attack;
mod enrol;
mod fencing;
mod ingest;
mod leases;
mod outage;
mod package;
mod standing;
mod strangers;

//! The link's promises and what it refuses.

mod arrivals;
mod attack;
mod changes;
mod enrol;
mod fencing;
mod ingest;
mod leases;
mod outage;
mod package;
mod standing;
mod strangers;

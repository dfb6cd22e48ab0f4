//! Who an agent is: the shell around `squadron_core::identity`.

pub mod agent_token;

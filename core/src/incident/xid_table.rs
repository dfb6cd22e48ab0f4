//! What each Xid code means, whose fault it usually is and what to do.
//!
//! Source: NVIDIA's Xid catalogue for A100, H100, B100 and GB200. A code that is not listed is unknown, never guessed.

use crate::incident::Severity;

/// Where the cause of a code usually lies.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Class {
    Application,
    Hardware,
    /// The hardware repaired or contained it by itself.
    Healing,
    Driver,
    Fabric,
    Platform,
    /// Tells of a consequence of something else.
    Follows,
    Information,
    Unknown,
}

impl Class {
    pub(crate) fn severity(self) -> Severity {
        match self {
            Class::Hardware | Class::Fabric => Severity::Critical,
            Class::Application | Class::Healing | Class::Driver | Class::Platform | Class::Unknown => {
                Severity::Warning
            }
            Class::Follows | Class::Information => Severity::Info,
        }
    }

    /// Whether quiet is no sign of repair.
    pub(crate) fn lasts(self) -> bool {
        matches!(self, Class::Hardware | Class::Fabric)
    }

    /// The usual fault, as a sentence.
    pub(crate) fn judgement(self) -> &'static str {
        match self {
            Class::Application => "This is usually the program's fault, not the GPU's.",
            Class::Hardware => "This is a hardware fault; the program is not to blame.",
            Class::Healing => "The hardware noticed a fault and contained it.",
            Class::Driver => "This is usually a fault of the driver or the GPU's firmware.",
            Class::Fabric => "This is a fault of the links between GPUs.",
            Class::Platform => "This is a fault of the host's configuration.",
            Class::Follows => {
                "On its own this code tells only that something before it ended the work on the GPU."
            }
            Class::Information => "This is information and needs no step by itself.",
            Class::Unknown => "The code is not in the catalogue, so no fault is named.",
        }
    }
}

/// One row of the table.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Row {
    pub(crate) class: Class,
    /// A clause that follows "GPU … on node …:".
    pub(crate) meaning: &'static str,
    pub(crate) action: &'static str,
}

const CHECK_PROGRAM: &str = "Read the job's log for the CUDA error and correct the program; if the same GPU reports it again \
                             for other jobs, run a GPU diagnosis.";
const DRAIN_AND_RESET: &str = "Drain the node and reset the GPU; if it comes back, reboot the node, and after that replace \
                               the GPU. Submit hit jobs again.";
const CORDON_AND_REBOOT: &str =
    "Cordon the node and power-cycle it; if it comes back, replace the GPU. Submit hit jobs again.";
const REBOOT_IF_REPEATED: &str =
    "Watch it; if it repeats, drain the node and reboot it, and compare driver versions.";
const RESTART_AND_DIAGNOSE: &str =
    "Submit the job again; if the same GPU reports it again, run a GPU diagnosis.";
const RESET_WHEN_IDLE: &str = "Let running work end, then reset the GPU at the next idle moment.";
const SUPPORT: &str = "Keep the kernel log and open a case with the vendor.";
const NOTHING: &str = "Nothing to do; watch whether it becomes frequent.";

/// The row of a code.
pub(crate) fn lookup(code: u32) -> Row {
    let (class, meaning, action) = match code {
        8 => (Class::Application, "a channel was idle too long", RESTART_AND_DIAGNOSE),
        11 | 25 | 69 => (Class::Application, "the program sent an illegal command", CHECK_PROGRAM),
        13 => (
            Class::Application,
            "the graphics engine raised an exception, for example an access out of bounds",
            CHECK_PROGRAM,
        ),
        31 => (Class::Application, "the program touched GPU memory that is not mapped", CHECK_PROGRAM),
        32 | 80 => (
            Class::Application,
            "the command buffer was damaged, by the program or on the PCIe bus",
            CHECK_PROGRAM,
        ),
        43 | 174 => {
            (Class::Application, "the driver reset a channel after a fault of the program", CHECK_PROGRAM)
        }
        66 | 67 | 141 => (Class::Application, "the program made an illegal register access", CHECK_PROGRAM),
        39..=41 | 70..=72 | 75..=77 | 85 | 126..=135 => {
            (Class::Application, "a copy engine raised an exception", RESTART_AND_DIAGNOSE)
        }
        68 | 83 | 84 | 88 | 89 | 96..=98 => {
            (Class::Application, "a video decoder raised an exception", RESTART_AND_DIAGNOSE)
        }
        82 | 99..=105 => (Class::Application, "an image decoder raised an exception", RESTART_AND_DIAGNOSE),
        86 | 139 => (Class::Application, "the optical-flow engine raised an exception", RESTART_AND_DIAGNOSE),
        137 => (
            Class::Application,
            "another GPU refused an access over NVLink",
            "Look at the Xids of the peer GPUs first; alone, check the program's peer access.",
        ),
        37 => (Class::Driver, "the firmware got a command it does not know", NOTHING),
        38 | 44 => (Class::Driver, "the driver lost a context switch", REBOOT_IF_REPEATED),
        46 => (Class::Driver, "the GPU stopped answering in time", DRAIN_AND_RESET),
        60 => (Class::Driver, "the security processor reported an error", RESTART_AND_DIAGNOSE),
        109 => (Class::Driver, "a context switch timed out", DRAIN_AND_RESET),
        110 => (Class::Hardware, "the GPU reported a security fault", DRAIN_AND_RESET),
        119 => (Class::Driver, "the GPU's system processor (GSP) did not answer", DRAIN_AND_RESET),
        120 => (Class::Driver, "the GPU's system processor (GSP) failed", DRAIN_AND_RESET),
        142 => (Class::Driver, "a video encoder failed", SUPPORT),
        160 | 161 => (Class::Driver, "a channel was retired", NOTHING),
        169 => (Class::Driver, "the security processor halted", DRAIN_AND_RESET),
        48 => (
            Class::Hardware,
            "memory had an error that cannot be corrected (double-bit ECC)",
            DRAIN_AND_RESET,
        ),
        54 => (
            Class::Hardware,
            "the auxiliary power cable is not connected",
            "Cordon the node and check the GPU's power cable and seating.",
        ),
        62 => (Class::Hardware, "the power controller halted", DRAIN_AND_RESET),
        64 => (
            Class::Hardware,
            "a damaged memory row could not be replaced",
            "Drain the node and reset the GPU; a failed remapping means that it must be replaced.",
        ),
        74 => (Class::Hardware, "an NVLink failed", DRAIN_AND_RESET),
        79 => (Class::Hardware, "it fell off the bus", CORDON_AND_REBOOT),
        95 => (Class::Hardware, "a memory error could not be contained", DRAIN_AND_RESET),
        136 => (Class::Hardware, "an NVLink could not be trained", DRAIN_AND_RESET),
        140 => (Class::Hardware, "a memory error escaped correction", DRAIN_AND_RESET),
        143 => (Class::Hardware, "the GPU could not be initialised", DRAIN_AND_RESET),
        158 => (Class::Hardware, "the GPU ran into a fatal timeout", DRAIN_AND_RESET),
        167 => (Class::Hardware, "the PCIe link ran into a fatal timeout", CORDON_AND_REBOOT),
        168 => (
            Class::Hardware,
            "the GPU offers less memory than it has",
            "Drain the node and reboot it, or enable ECC.",
        ),
        171 => (Class::Hardware, "DRAM had an error that cannot be corrected", DRAIN_AND_RESET),
        172 => (Class::Hardware, "SRAM had an error that cannot be corrected", DRAIN_AND_RESET),
        157 | 173 | 175 => (Class::Hardware, "a part of the memory or its link failed", SUPPORT),
        63 | 156 | 185 => (Class::Healing, "a damaged memory row was replaced", RESET_WHEN_IDLE),
        94 => (
            Class::Healing,
            "a memory error was contained to one program",
            "Submit the hit job again; reset the GPU at the next idle moment.",
        ),
        92 => (Class::Healing, "corrected memory errors are frequent", NOTHING),
        121 | 176 => (Class::Healing, "a link corrected an error", NOTHING),
        144..=149 => (Class::Fabric, "an NVLink of the fabric reported an error", DRAIN_AND_RESET),
        150 | 155 => (Class::Fabric, "the NVLink fabric reported an error", DRAIN_AND_RESET),
        159 | 166 | 170 => (Class::Fabric, "a link of the fabric reported an error", SUPPORT),
        78 | 151 => (
            Class::Platform,
            "the host's virtualisation does not match the driver",
            "Bring the host's and the guest's driver to versions that belong together.",
        ),
        45 => (
            Class::Follows,
            "running work was removed from it",
            "Look at what happened on the node just before; alone it is the end of a program.",
        ),
        154 => (
            Class::Follows,
            "the driver changed what it recommends for recovery",
            "Follow the action that the line names.",
        ),
        93 | 106..=108 | 152 | 153 | 162..=165 => {
            (Class::Information, "the driver reported a state", NOTHING)
        }
        _ => (Class::Unknown, "the driver reported an error that the catalogue does not list", SUPPORT),
    };
    Row { class, meaning, action }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_has_words() {
        for code in 0..300 {
            let row = lookup(code);
            assert!(!row.meaning.is_empty() && row.action.ends_with('.'), "{code}");
        }
    }

    #[test]
    fn classes_follow_the_catalogue() {
        let hardware = [48, 54, 62, 64, 74, 79, 95, 136, 140, 143, 157, 158, 167, 168, 171, 172, 173, 175];
        assert!(hardware.iter().all(|code| lookup(*code).class == Class::Hardware));
        let application = [8, 11, 13, 25, 31, 32, 43, 66, 67, 69, 80, 137, 141, 174];
        assert!(application.iter().all(|code| lookup(*code).class == Class::Application));
        let driver = [38, 44, 46, 60, 109, 119, 120, 160, 161, 169];
        assert!(driver.iter().all(|code| lookup(*code).class == Class::Driver));
        assert_eq!(lookup(999).class, Class::Unknown);
    }
}

//! What is read and what is refused, with place and reason.

#![allow(clippy::unwrap_used)]

use std::io::{Read, Write};

use super::*;

fn jobs(text: &str) -> Result<Trace, String> {
    read_jobs("jobs.csv", text.as_bytes()).map_err(|refused| refused.to_string())
}

fn fleet(text: &str) -> Result<Fleet, String> {
    read_fleet("fleet.csv", text.as_bytes()).map_err(|refused| refused.to_string())
}

#[test]
fn columns_are_found_by_name_and_jobs_sorted_by_submission() {
    let text = "team,extra,gpus,job,duration_s,submit_s\nred,x,8,b,2.5,7\nblue,\"a,b\",1,a,3,4\n";
    let trace = jobs(text).unwrap();
    assert_eq!(trace.teams, ["blue", "red"]);
    let read: Vec<(&str, u64, u64, u32, usize)> = trace
        .jobs
        .iter()
        .map(|job| (job.id.as_str(), job.submit_ms, job.duration_ms, job.gpus, job.team))
        .collect();
    assert_eq!(read, [("a", 4_000, 3_000, 1, 0), ("b", 7_000, 2_500, 8, 1)]);
}

#[test]
fn gzip_is_recognised_and_a_broken_one_refused() {
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packed.write_all(b"job,submit_s,duration_s,gpus,team\na,0,1,1,t\n").unwrap();
    let packed = packed.finish().unwrap();
    assert_eq!(read_jobs("jobs.csv.gz", packed.as_slice()).unwrap().jobs.len(), 1);
    let broken = read_jobs("jobs.csv.gz", &packed[..packed.len() - 9]).unwrap_err();
    assert!(broken.reason.starts_with("cannot be read on"), "{broken}");
}

#[test]
fn job_without_a_duration_is_counted_and_left_out() {
    let trace = jobs("task,submit_s,duration_s,gpus,team\na,0,,1,t\nb,0,1,1,t\n").unwrap();
    assert_eq!((trace.jobs.len(), trace.without_duration), (1, 1));
}

#[test]
fn types_and_shares_are_read_where_they_are_given() {
    let text =
        "job,submit_s,duration_s,gpus,team,gpu_milli,gpu_types\na,0,1,1,t,250,T4|A100|T4\nb,0,1,2,t,,\n";
    let trace = jobs(text).unwrap();
    assert_eq!((trace.jobs[0].gpu_milli, trace.jobs[0].models.join("+")), (250, "A100+T4".to_owned()));
    assert_eq!((trace.jobs[1].gpu_milli, trace.jobs[1].models.len()), (2_000, 0));
}

#[test]
fn bad_jobs_are_refused_with_line_column_and_reason() {
    let head = "job,submit_s,duration_s,gpus,team\n";
    let long = "x".repeat(2_000);
    let cases = [
        ("a,-1,1,1,t", "line 2, column submit_s: \"-1\": it is not a plain decimal number of 0 or more"),
        ("a,,1,1,t", "line 2, column submit_s: \"\": the value is missing"),
        ("a,0,NaN,1,t", "line 2, column duration_s: \"NaN\": it is not a plain decimal number of 0 or more"),
        ("a,0,1e9,1,t", "line 2, column duration_s: \"1e9\": it is not a plain decimal number of 0 or more"),
        (
            "a,0,99999999999,1,t",
            "line 2, column duration_s: \"99999999999\": it must be at most 3155760000 seconds",
        ),
        (
            "a,0,99999999999999999999999,1,t",
            "line 2, column duration_s: \"99999999999999999999999\": the number is too large",
        ),
        ("a,0,1,0,t", "line 2, column gpus: \"0\": it must be from 1 to 1000000"),
        ("a,0,1,1.5,t", "line 2, column gpus: \"1.5\": it is not a whole number"),
        (
            "a,0,1,18446744073709551616,t",
            "line 2, column gpus: \"18446744073709551616\": the number is too large",
        ),
        ("a,0,1,1", "line 2: 4 fields where the header names 5"),
        (",0,1,1,t", "line 2, column job: the value is missing"),
        ("a,0,1,1,t\na,5,1,1,t", "line 3, column job: \"a\": the job was already given in line 2"),
        ("a\u{7},0,1,1,t", "line 2, column job: the value holds a control character"),
        (&format!("{long},0,1,1,t"), "line 2, column job: the field is longer than 1024 bytes"),
        (&format!("\"{long},0,1,1,t"), "line 2: 1 fields where the header names 5"),
    ];
    for (rows, refusal) in cases {
        assert_eq!(jobs(&format!("{head}{rows}\n")).unwrap_err(), format!("jobs.csv, {refusal}"));
    }
}

#[test]
fn lines_are_counted_as_an_editor_counts_them() {
    let head = "job,submit_s,duration_s,gpus,team";
    for (text, line) in [
        (format!("{head}\r\na,0,1,1,t\r\nb,0,x,1,t\r\n"), 3),
        (format!("{head}\n\n\nb,0,x,1,t\n"), 4),
        (format!("{head}\r\n\r\nb,0,x,1,t"), 3),
        (format!("\n\n{head}\n\nb,0,x,1,t"), 5),
        (format!("{head}\n\"a\nb\",0,1,1,t\n"), 2),
    ] {
        assert!(jobs(&text).unwrap_err().starts_with(&format!("jobs.csv, line {line}, ")), "{text:?}");
    }
    let twice = jobs(&format!("{head}\r\na,0,1,1,t\r\n\r\na,0,1,1,t")).unwrap_err();
    assert_eq!(twice, "jobs.csv, line 4, column job: \"a\": the job was already given in line 2");
    assert_eq!(jobs(&format!("{head}\r\na,0,1,1,red\r\n")).unwrap().teams, ["red"]);
    assert!(jobs(&format!("{head}\n,,,,\n")).is_err(), "a row of nothing is no blank line");
}

#[test]
fn a_quote_that_stays_open_ends_as_a_row_that_is_too_long() {
    let endless = std::io::repeat(b'\n');
    let text = b"job,submit_s,duration_s,gpus,team\n\"a".chain(endless);
    let refused = read_jobs("jobs.csv", text).unwrap_err();
    assert!(refused.reason.contains("is a quote left open?"), "{refused}");
}

#[test]
fn bad_headers_and_binary_are_refused() {
    assert_eq!(
        jobs("job,submit_s,gpus,team\n").unwrap_err(),
        "jobs.csv, line 1, column duration_s: the column is missing from the header"
    );
    assert_eq!(
        jobs("job,job,gpus\n").unwrap_err(),
        "jobs.csv, line 1, column job: the column stands twice in the header"
    );
    assert!(jobs("").unwrap_err().contains("the file is empty"));
    let marked = "\u{feff}\"job\",submit_s,duration_s,gpus,team\na,0,1,1,red\n";
    assert_eq!(jobs(marked).unwrap().teams, ["red"], "a mark of the byte order is no text");
    let binary = read_jobs("jobs.csv", &[0x7f, b'E', b'L', b'F', 0xff, 0xfe, b'\n'][..]).unwrap_err();
    assert_eq!(binary.reason, "the header is not UTF-8; is this a CSV file?");
    let row = read_jobs("j", &b"job,submit_s,duration_s,gpus,team\n\xff\xfe,0,1,1,t\n"[..]).unwrap_err();
    assert_eq!(row.to_string(), "j, line 2, column job: the value is not UTF-8");
}

#[test]
fn rows_of_one_cluster_are_joined_and_bad_fleets_refused() {
    let text = "cluster,gpu_model,gpus_per_node,nodes\neast,A100,8,2\nwest,T4,4,1\neast,T4,4,3\n";
    let read = fleet(text).unwrap();
    assert_eq!((read.sites.len(), read.gpus()), (2, 32));
    assert_eq!(read.sites[0].gpus_of(&["T4".to_owned()]), 12);
    assert_eq!(fleet("gpu_model,gpus_per_node,nodes\nT4,4,1\n").unwrap().sites[0].name, "fleet");
    let head = "cluster,gpu_model,gpus_per_node,nodes\n";
    for (row, refusal) in [
        ("e,T4,8,-2", ", line 2, column nodes: \"-2\": it is not a plain decimal number of 0 or more"),
        ("e,T4,8,99999999", ", line 2, column nodes: \"99999999\": it must be from 0 to 1000000"),
        ("e,,8,2", ", line 2, column gpu_model: the value is missing"),
        ("e,T4,0,2", ": the fleet has no GPU"),
    ] {
        assert_eq!(fleet(&format!("{head}{row}\n")).unwrap_err(), format!("fleet.csv{refusal}"));
    }
}

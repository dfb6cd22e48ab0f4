-- Attempts are let go of by these, several times a second, however many run or are kept.
create index attempt_kept on attempt ((coalesce(end_learnt_at, ended_at))) where desired and ended_at is not null;
create index attempt_let_go on attempt (job_id) where not desired and ended_at is null;

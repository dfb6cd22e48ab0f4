-- Lists of jobs by what people filter, so that a page is read from an index, however many jobs there are.
create index job_of_queue on job (queue, state, submitted_at desc, id desc);
create index job_by_state on job (state, submitted_at desc, id desc);
create index job_by_owner on job (owner, submitted_at desc, id desc);

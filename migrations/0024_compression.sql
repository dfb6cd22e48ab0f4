-- Long texts of new rows are compressed by lz4 where this Postgres has it: it takes a fraction of the time of its own method, and
-- every job brings several. Old rows stay as they are.
do $$
begin
    if exists (select from pg_settings where name = 'default_toast_compression' and 'lz4' = any (enumvals)) then
        alter table job alter column manifest set compression lz4, alter column rayjob set compression lz4,
            alter column gang set compression lz4;
        alter table job_class alter column shape set compression lz4;
        alter table decision alter column choice set compression lz4;
        alter table fact alter column body set compression lz4;
    end if;
end
$$;

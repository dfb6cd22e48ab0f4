// Generated from docs/openapi.json by `npm run types`. Do not edit.

export interface paths {
    "/api/jobs/": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The newest submissions, at most 1,000. */
        get: operations["ray_jobs_list"];
        put?: never;
        /** Submits a job as Ray's client does. */
        post: operations["ray_jobs_submit"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/jobs/{submission_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** One submission. */
        get: operations["ray_jobs_one"];
        put?: never;
        post?: never;
        /** Hides a finished job. */
        delete: operations["ray_jobs_delete"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/jobs/{submission_id}/logs": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** What the driver printed so far. */
        get: operations["ray_jobs_logs"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/jobs/{submission_id}/logs/tail": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Follows the log. */
        get: operations["ray_jobs_tail"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/jobs/{submission_id}/stop": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Asks for the end of a job; says whether there was anything to stop. */
        post: operations["ray_jobs_stop"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/packages/{protocol}/{package_name}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Whether the caller has uploaded this package. */
        get: operations["ray_jobs_exists"];
        /** Uploads a package; one that is there already stays as it is. */
        put: operations["ray_jobs_upload"];
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/audit": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** A page of the audit log. */
        get: operations["audit_list"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/clusters": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** All clusters by name. */
        get: operations["clusters_list"];
        put?: never;
        /** Invites a cluster. For a name that was invited and never enrolled this makes a new code. */
        post: operations["clusters_add"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/clusters/{cluster}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** One cluster, by name or id. */
        get: operations["clusters_describe"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/clusters/{cluster}/accept": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Accepts the identity that the caller looked at: the first that a cluster offered, or the one that was offered anew. */
        post: operations["clusters_accept"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/clusters/{cluster}/clear-alarm": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Clears the cluster's alarm and accepts nothing: an identity that was offered anew is turned away. */
        post: operations["clusters_clear_alarm"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/clusters/{cluster}/queues": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Who may submit by putting RayJobs into the cluster. */
        get: operations["arrivals_list"];
        put?: never;
        /** Lets RayJobs of a namespace of the cluster become jobs in a queue. Allowing twice is harmless. */
        post: operations["arrivals_allow"];
        /** Takes the permission back. Jobs that were imported by it go on. */
        delete: operations["arrivals_disallow"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/clusters/{cluster}/revoke": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Revokes the cluster: its agent is cut off within seconds, its tokens open nothing any more. */
        post: operations["clusters_revoke"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/events": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Changes as they happen. A change of kind `all` says that some were missed: fetch everything again. */
        get: operations["events_events"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/incidents": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Incidents, the newest first. */
        get: operations["incidents_list"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/incidents/{incident}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** One incident with its evidence. */
        get: operations["incidents_show"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/incidents/{incident}/resolve": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Ends an incident by a person's word. What is seen of the same cause afterwards is a new incident. */
        post: operations["incidents_resolve"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/jobs": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Jobs, the newest first. */
        get: operations["jobs_list"];
        put?: never;
        /** Submits a RayJob. */
        post: operations["jobs_submit"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/jobs/{job}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Everything about a job. */
        get: operations["jobs_describe"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/jobs/{job}/cancel": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Asks for the end of a job. Asking twice is harmless. */
        post: operations["jobs_cancel"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/jobs/{job}/logs": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * The driver's bytes as they are. Headers say which attempt and from which offset. The answer ends at the end of the
         *     log and where bytes are missing: ask again from the offset that was reached until an answer is empty.
         */
        get: operations["jobs_logs"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/jobs/{job}/why": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Why a job waits, as the dispatcher wrote it. */
        get: operations["jobs_why"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/me": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The caller as the server knows it. */
        get: operations["session_me"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/price-sheets": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The sheet in force, as it was handed in. */
        get: operations["usage_in_force"];
        /** Puts a sheet in force; the version before stays stored. */
        put: operations["usage_put"];
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/queues": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** All queues with what is in them. */
        get: operations["queues_list"];
        /** Sets the template from which jobs of Ray's own client are made. */
        put: operations["queues_set_template"];
        /** Adds a queue. */
        post: operations["queues_add"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/session": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Trades a token for a cookie that scripts cannot read. */
        post: operations["session_sign_in"];
        /** Ends the session of the cookie. A caller with a token has none, and nothing happens. */
        delete: operations["session_sign_out"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/tokens": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** All tokens, oldest first, without their secrets. */
        get: operations["tokens_list"];
        put?: never;
        /** Makes a token. */
        post: operations["tokens_add"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/tokens/{token}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /** Revokes a token; the sessions that were made with it end too. */
        delete: operations["tokens_revoke"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/usage": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** What was held, by whom, for how much. */
        get: operations["usage_usage"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/version": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Version and clock of the server. */
        get: operations["about_version"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/version": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Which API is served, as a Ray head of that version says it. */
        get: operations["ray_jobs_version"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/healthz": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The process lives. */
        get: operations["about_healthz"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/openapi.json": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** This document. */
        get: operations["about_serve"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/readyz": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The database answers. */
        get: operations["about_readyz"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
}
export type webhooks = Record<string, never>;
export interface components {
    schemas: {
        /** @description `GET /api/v1/version`; needs no credentials. */
        About: {
            /**
             * Format: date-time
             * @description The control plane's clock, so that a client can see how far its own is off.
             */
            now: string;
            version: string;
        };
        /** @description `POST /api/v1/clusters/{cluster}/accept`. */
        AcceptClusterRequest: {
            /** @description [`ClusterIdentity::digest`] of the identity that the person looked at. */
            identity: string;
        };
        /** @description What the administrator needs for the Helm install. The code is shown once. */
        AddClusterReply: {
            /** @description Address for agents, for example `https://control-plane.squadron.internal:7443`. */
            agent_address: string;
            /** @description `squadron:<control plane id>:<cluster id>`. */
            audience: string;
            /** @description PEM bundle that signs the agent listener's certificate. */
            ca_bundle: string;
            cluster: components["schemas"]["Cluster"];
            /** @description One-time enrolment code, valid for an hour. */
            code: string;
            /** Format: date-time */
            code_expires_at: string;
            /** @description The Helm command with all of these. */
            helm_command: string;
        };
        /** @description `POST /api/v1/clusters`. */
        AddClusterRequest: {
            name: string;
        };
        /** @description `POST /api/v1/queues`. */
        AddQueueRequest: {
            name: string;
        };
        /** @description The new token; its secret is shown once. */
        AddTokenReply: {
            /** @description Begins with `sqd_`. */
            secret: string;
            token: components["schemas"]["Token"];
        };
        /** @description `POST /api/v1/tokens`. */
        AddTokenRequest: {
            /**
             * Format: int32
             * @description Days until it ends; 90 by default, 365 at most.
             */
            days?: number | null;
            /** @description `viewer`, `submitter`, `operator`, `finance`, `auditor` or `admin`. */
            role: string;
            /** @description Whose actions these are, for example `ann` or `ci`. */
            subject: string;
        };
        /** @description `POST /api/v1/clusters/{cluster}/queues`. */
        AllowQueueRequest: {
            namespace: string;
            queue: string;
        };
        /** @description A permission: RayJobs in this namespace of the cluster may become jobs in this queue. */
        AllowedQueue: {
            /** Format: date-time */
            allowed_at: string;
            allowed_by: string;
            namespace: string;
            queue: string;
        };
        /** @description One placement. */
        Attempt: {
            /** Format: date-time */
            assigned_at: string;
            /** @description Why this cluster was chosen, as the dispatcher wrote it. */
            chosen_because: string;
            cluster: string;
            /** Format: date-time */
            ended_at?: string | null;
            ended_because: string;
            /** Format: int32 */
            number: number;
            /** @description Name of the RayJob object in the cluster. */
            object: string;
            /** Format: date-time */
            running_at?: string | null;
            state: string;
        };
        /** @description One row of `GET /api/v1/audit`, newest first. */
        AuditEntry: {
            /** @description For example `job.submit`, `cluster.accept`, `link.refused`. */
            action: string;
            /** @description The token's subject, or `agent:<cluster id>`. */
            actor: string;
            allowed: boolean;
            /** Format: date-time */
            at: string;
            detail: string;
            id: string;
            object: string;
            request_id: string;
        };
        /** @description One reason why a job waits, most actionable first. */
        Blocker: {
            /** @description The cluster it speaks of; empty when it is about all. */
            cluster: string;
            /** @description Stable word, for example `CLUSTER_FULL`, `TOO_BIG`, `NO_MATCHING_NODE`, `CLUSTER_STALE`, `NO_CLUSTER`. */
            code: string;
            sentence: string;
            /** @description What would change it; empty when only time will. */
            try_this: string;
        };
        /** @description `POST /api/v1/jobs/{id}/cancel`. */
        CancelRequest: {
            reason?: string;
        };
        /** @description One line of `GET /api/v1/events` (server-sent): something of this kind changed; fetch it again. */
        Change: {
            id: string;
            /** @description `job`, `cluster`, `incident`, `usage` or `log`. */
            kind: string;
            /** Format: int64 */
            version: number;
        };
        /** @description An enrolled cluster, or one that is on the way. */
        Cluster: {
            agent_version: string;
            /** @description Another agent tried to act as this cluster: what was seen; empty when nothing was. */
            alarm: string;
            allocatable: Record<string, never>;
            /**
             * Format: int64
             * @description Our clock minus the agent's, in milliseconds, as last measured.
             */
            clock_skew_ms?: number | null;
            free: Record<string, never>;
            /** Format: uuid */
            id: string;
            identity?: components["schemas"]["ClusterIdentity"] | null;
            kubernetes_version: string;
            /** Format: date-time */
            last_heard_at?: string | null;
            name: string;
            /** Format: int32 */
            nodes: number;
            reoffer?: components["schemas"]["ClusterIdentity"] | null;
            /** @description One plain sentence, with since when. */
            sentence: string;
            /**
             * Format: date-time
             * @description Since when the cluster is silent; absent while it is heard.
             */
            silent_since?: string | null;
            /** Format: int64 */
            spool_bytes: number;
            /** @description `invited`, `pending`, `active`, `silent` or `revoked`. */
            state: string;
            /** Format: int64 */
            version: number;
        };
        /** @description Who the cluster says it is, proven by a token that its own keys verify. */
        ClusterIdentity: {
            /** @description Digest of all of it with the keys; to accept an identity one names it. */
            digest: string;
            issuer: string;
            key_ids: string[];
            kube_system_uid: string;
            service_account_uid: string;
            subject: string;
        };
        /** @description One fact behind the verdict. */
        Evidence: {
            /** Format: date-time */
            at: string;
            /** @description Fact number: `<epoch>/<seq>`. */
            fact: string;
            /** @description The line or message as it stood. */
            raw: string;
            sentence: string;
        };
        /** @description One wrong field of a request. */
        FieldProblem: {
            /** @description For example `spec.rayClusterSpec.headGroupSpec`. */
            path: string;
            problem: string;
        };
        /** @description A job that the incident hit. */
        HitJob: {
            /** @description How sure and why, for example "its pod held the device". */
            because: string;
            /** Format: uuid */
            id: string;
            name: string;
        };
        /** @description An incident as lists and its own page show it. */
        Incident: {
            cluster: string;
            evidence: components["schemas"]["Evidence"][];
            /** @description Why these facts are one incident, as the correlator wrote it. */
            explanation: string;
            /** Format: date-time */
            first_seen_at: string;
            /** Format: uuid */
            id: string;
            jobs: components["schemas"]["HitJob"][];
            /** Format: date-time */
            last_seen_at: string;
            next_step: string;
            node: string;
            resolved?: components["schemas"]["Resolved"] | null;
            /** @description `critical`, `warning` or `info`. */
            severity: string;
            /** @description `open` or `resolved`. */
            state: string;
            title: string;
            /** @description Stable word for the cause, for example `OOM_KILLED`, `GPU_XID_79`, `IMAGE_PULL`. */
            verdict: string;
            /** Format: int64 */
            version: number;
        };
        /** @description A job as lists show it. */
        Job: {
            /** Format: int32 */
            attempt: number;
            /** @description Name of the cluster of the newest attempt. */
            cluster?: string | null;
            /** Format: date-time */
            ended_at?: string | null;
            /** Format: uuid */
            id: string;
            /** @description The manifest's name. */
            name: string;
            namespace: string;
            owner: string;
            queue: string;
            /** @description A short machine word for the state's cause, for example `OOM_KILLED`; empty when the state says all. */
            reason: string;
            /** @description Head, submitter and minimum workers together. */
            requests: Record<string, never>;
            /** @description One plain sentence on what the job is doing and why. */
            sentence: string;
            /**
             * Format: date-time
             * @description Set while the cluster of a live attempt is silent: since when its word is old.
             */
            stale_since?: string | null;
            /** Format: date-time */
            started_at?: string | null;
            state: string;
            /** Format: date-time */
            submitted_at: string;
            /**
             * Format: int64
             * @description Grows with every change of this job.
             */
            version: number;
        };
        /** @description `GET /api/v1/jobs/{id or name}`. */
        JobDetail: {
            attempts: components["schemas"]["Attempt"][];
            /** @description Cost so far, as decimals with their currency; absent without a price sheet. */
            cost?: string | null;
            incidents: string[];
            job: components["schemas"]["Job"];
            /** @description The manifest as it was submitted. */
            manifest: string;
            pods: components["schemas"]["Pod"][];
            source?: components["schemas"]["JobSource"] | null;
            timeline: components["schemas"]["TimelineEntry"][];
            why?: components["schemas"]["Why"] | null;
        };
        /** @description The RayJob that a job came from. */
        JobSource: {
            cluster: string;
            /**
             * Format: date-time
             * @description When it was deleted or taken back; absent while it stands.
             */
            gone_at?: string | null;
            name: string;
            namespace: string;
            uid: string;
        };
        /** @description `GET /api/v1/me`: the caller as the server knows it. */
        Me: {
            role: string;
            subject: string;
        };
        /** @description A list with its scope and age. */
        Page_AllowedQueue: {
            /** Format: date-time */
            as_of: string;
            items: {
                /** Format: date-time */
                allowed_at: string;
                allowed_by: string;
                namespace: string;
                queue: string;
            }[];
            /** @description Give it back as `page_token` for the rows after these; absent on the last page. */
            next_page_token?: string | null;
            /** @description Set when some cluster's word is older than its limit, so that rows may be out of date. */
            partial?: string | null;
        };
        /** @description A list with its scope and age. */
        Page_AuditEntry: {
            /** Format: date-time */
            as_of: string;
            items: {
                /** @description For example `job.submit`, `cluster.accept`, `link.refused`. */
                action: string;
                /** @description The token's subject, or `agent:<cluster id>`. */
                actor: string;
                allowed: boolean;
                /** Format: date-time */
                at: string;
                detail: string;
                id: string;
                object: string;
                request_id: string;
            }[];
            /** @description Give it back as `page_token` for the rows after these; absent on the last page. */
            next_page_token?: string | null;
            /** @description Set when some cluster's word is older than its limit, so that rows may be out of date. */
            partial?: string | null;
        };
        /** @description A list with its scope and age. */
        Page_Cluster: {
            /** Format: date-time */
            as_of: string;
            items: {
                agent_version: string;
                /** @description Another agent tried to act as this cluster: what was seen; empty when nothing was. */
                alarm: string;
                allocatable: Record<string, never>;
                /**
                 * Format: int64
                 * @description Our clock minus the agent's, in milliseconds, as last measured.
                 */
                clock_skew_ms?: number | null;
                free: Record<string, never>;
                /** Format: uuid */
                id: string;
                identity?: components["schemas"]["ClusterIdentity"] | null;
                kubernetes_version: string;
                /** Format: date-time */
                last_heard_at?: string | null;
                name: string;
                /** Format: int32 */
                nodes: number;
                reoffer?: components["schemas"]["ClusterIdentity"] | null;
                /** @description One plain sentence, with since when. */
                sentence: string;
                /**
                 * Format: date-time
                 * @description Since when the cluster is silent; absent while it is heard.
                 */
                silent_since?: string | null;
                /** Format: int64 */
                spool_bytes: number;
                /** @description `invited`, `pending`, `active`, `silent` or `revoked`. */
                state: string;
                /** Format: int64 */
                version: number;
            }[];
            /** @description Give it back as `page_token` for the rows after these; absent on the last page. */
            next_page_token?: string | null;
            /** @description Set when some cluster's word is older than its limit, so that rows may be out of date. */
            partial?: string | null;
        };
        /** @description A list with its scope and age. */
        Page_Incident: {
            /** Format: date-time */
            as_of: string;
            items: {
                cluster: string;
                evidence: components["schemas"]["Evidence"][];
                /** @description Why these facts are one incident, as the correlator wrote it. */
                explanation: string;
                /** Format: date-time */
                first_seen_at: string;
                /** Format: uuid */
                id: string;
                jobs: components["schemas"]["HitJob"][];
                /** Format: date-time */
                last_seen_at: string;
                next_step: string;
                node: string;
                resolved?: components["schemas"]["Resolved"] | null;
                /** @description `critical`, `warning` or `info`. */
                severity: string;
                /** @description `open` or `resolved`. */
                state: string;
                title: string;
                /** @description Stable word for the cause, for example `OOM_KILLED`, `GPU_XID_79`, `IMAGE_PULL`. */
                verdict: string;
                /** Format: int64 */
                version: number;
            }[];
            /** @description Give it back as `page_token` for the rows after these; absent on the last page. */
            next_page_token?: string | null;
            /** @description Set when some cluster's word is older than its limit, so that rows may be out of date. */
            partial?: string | null;
        };
        /** @description A list with its scope and age. */
        Page_Job: {
            /** Format: date-time */
            as_of: string;
            items: {
                /** Format: int32 */
                attempt: number;
                /** @description Name of the cluster of the newest attempt. */
                cluster?: string | null;
                /** Format: date-time */
                ended_at?: string | null;
                /** Format: uuid */
                id: string;
                /** @description The manifest's name. */
                name: string;
                namespace: string;
                owner: string;
                queue: string;
                /** @description A short machine word for the state's cause, for example `OOM_KILLED`; empty when the state says all. */
                reason: string;
                /** @description Head, submitter and minimum workers together. */
                requests: Record<string, never>;
                /** @description One plain sentence on what the job is doing and why. */
                sentence: string;
                /**
                 * Format: date-time
                 * @description Set while the cluster of a live attempt is silent: since when its word is old.
                 */
                stale_since?: string | null;
                /** Format: date-time */
                started_at?: string | null;
                state: string;
                /** Format: date-time */
                submitted_at: string;
                /**
                 * Format: int64
                 * @description Grows with every change of this job.
                 */
                version: number;
            }[];
            /** @description Give it back as `page_token` for the rows after these; absent on the last page. */
            next_page_token?: string | null;
            /** @description Set when some cluster's word is older than its limit, so that rows may be out of date. */
            partial?: string | null;
        };
        /** @description A list with its scope and age. */
        Page_Queue: {
            /** Format: date-time */
            as_of: string;
            items: {
                name: string;
                /** Format: int32 */
                queued: number;
                /** Format: int32 */
                running: number;
                /** @description RayJob (YAML) that jobs of Ray's own client are made from; empty for the default one. */
                template?: string;
            }[];
            /** @description Give it back as `page_token` for the rows after these; absent on the last page. */
            next_page_token?: string | null;
            /** @description Set when some cluster's word is older than its limit, so that rows may be out of date. */
            partial?: string | null;
        };
        /** @description A list with its scope and age. */
        Page_Token: {
            /** Format: date-time */
            as_of: string;
            items: {
                /** Format: date-time */
                created_at: string;
                /** Format: date-time */
                expires_at?: string | null;
                id: string;
                /** Format: date-time */
                last_used_at?: string | null;
                role: string;
                subject: string;
            }[];
            /** @description Give it back as `page_token` for the rows after these; absent on the last page. */
            next_page_token?: string | null;
            /** @description Set when some cluster's word is older than its limit, so that rows may be out of date. */
            partial?: string | null;
        };
        /** @description A pod of the job, live or gone. */
        Pod: {
            /** Format: int32 */
            exit_code?: number | null;
            gone: boolean;
            name: string;
            node: string;
            phase: string;
            reason: string;
            role: string;
        };
        /** @description `PUT /api/v1/price-sheets` takes the YAML of docs/prices.md as the body and answers with this. */
        PriceSheetReply: {
            currency: string;
            /** Format: int32 */
            intervals: number;
            name: string;
            /** Format: int64 */
            version: number;
        };
        /** @description The body of every answer with a status of 400 and above. */
        Problem: {
            /** @description Stable, for example `SQD-1203`; listed in docs/errors.md. */
            code: string;
            /** @description What is wrong, in one sentence. */
            detail: string;
            /** @description The fields that are wrong, where the request had fields. */
            fields?: components["schemas"]["FieldProblem"][];
            /** @description What to do about it, in one sentence. */
            next_step: string;
            request_id: string;
            /** Format: int32 */
            status: number;
        };
        /** @description A queue with what is in it. */
        Queue: {
            name: string;
            /** Format: int32 */
            queued: number;
            /** Format: int32 */
            running: number;
            /** @description RayJob (YAML) that jobs of Ray's own client are made from; empty for the default one. */
            template?: string;
        };
        /** @description Body of `POST /api/v1/incidents/{incident}/resolve`. */
        ResolveRequest: {
            /** @description Why it is over; shown with the incident and kept in the audit log. 1 to 500 characters. */
            reason: string;
        };
        /** @description How an incident ended. */
        Resolved: {
            /** Format: date-time */
            at: string;
            because: string;
            /** @description Who said so; empty where Squadron saw that it was over. */
            by: string;
        };
        /** @description `PUT /api/v1/queues`: changes what is given. */
        SetTemplateRequest: {
            name: string;
            /** @description A RayJob (ray.io/v1) as YAML or JSON without an entrypoint; empty for the default one. */
            template: string;
        };
        /** @description `POST /api/v1/session`: trades a token for a cookie that scripts cannot read; answers [`Me`]. `DELETE` ends it. */
        SignInRequest: {
            token: string;
        };
        /** @description What was made of a submission. */
        SubmitReply: {
            job?: components["schemas"]["Job"] | null;
            /** @description Console page of the job, absolute. */
            link: string;
            /**
             * Format: int32
             * @description Place in its queue, from 1; absent when the job does not wait.
             */
            position?: number | null;
            /** @description Things that are legal but probably not meant. */
            warnings: string[];
        };
        /** @description `POST /api/v1/jobs`. Header `Idempotency-Key` makes a repeat harmless. */
        SubmitRequest: {
            /** @description Pins the job to one cluster. */
            cluster?: string | null;
            /** @description Check everything, change nothing. */
            dry_run?: boolean;
            /** @description A RayJob (ray.io/v1) as YAML or JSON, unchanged. */
            manifest: string;
            queue: string;
        };
        /** @description One step in a job's life. */
        TimelineEntry: {
            /** Format: date-time */
            at: string;
            sentence: string;
            /** @description `job`, `pod`, `ray`, `incident` or `kernel`. */
            source: string;
        };
        /** @description A token as lists show it. */
        Token: {
            /** Format: date-time */
            created_at: string;
            /** Format: date-time */
            expires_at?: string | null;
            id: string;
            /** Format: date-time */
            last_used_at?: string | null;
            role: string;
            subject: string;
        };
        /** @description `GET /api/v1/usage`: rows whose amounts sum exactly to the capacity cost of the nodes. */
        Usage: {
            /** @description What the nodes' capacity cost over the same time, computed on its own; equals the total. */
            capacity_amount: string;
            currency: string;
            /** Format: date-time */
            from: string;
            /** @description Sentences on what is estimated or unknown, for example an open pod or a silent cluster. */
            notes: string[];
            /** @description For example: "sum of rows equals the nodes' capacity cost", or what is missing. */
            reconciliation: string;
            rows: components["schemas"]["UsageRow"][];
            /** Format: date-time */
            to: string;
            total: components["schemas"]["UsageRow"];
        };
        /** @description One row; empty strings in the columns that were not asked for. */
        UsageRow: {
            /** @description Decimal in the sheet's currency with its minor unit; rows sum to the total by largest remainder. */
            amount: string;
            /** @description The exact amount as a fraction-free integer string in the ledger's unit. */
            amount_exact: string;
            cluster: string;
            /** @description Decimals, for example `1.250000`. */
            cpu_hours: string;
            gpu_hours: string;
            job: string;
            /** @description `team`, `shared`, `overhead` or `idle`; `capacity` in no row. */
            kind: string;
            memory_gib_hours: string;
            team: string;
        };
        /** @description `GET /api/v1/jobs/{id or name}/why`: what the dispatcher wrote when it last looked at the job. */
        Why: {
            blockers: components["schemas"]["Blocker"][];
            /** Format: date-time */
            decided_at: string;
            /** Format: int32 */
            position?: number | null;
            /** Format: int32 */
            queue_length: number;
            /** @description For example: "queued in research, 2nd of 3". */
            sentence: string;
        };
    };
    responses: never;
    parameters: never;
    requestBodies: never;
    headers: never;
    pathItems: never;
}
export type $defs = Record<string, never>;
export interface operations {
    ray_jobs_list: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": Record<string, never>[];
                };
            };
        };
    };
    ray_jobs_submit: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": Record<string, never>;
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": Record<string, never>;
                };
            };
        };
    };
    ray_jobs_one: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                submission_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": Record<string, never>;
                };
            };
        };
    };
    ray_jobs_delete: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                submission_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": Record<string, never>;
                };
            };
        };
    };
    ray_jobs_logs: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                submission_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": Record<string, never>;
                };
            };
        };
    };
    ray_jobs_tail: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                submission_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            101: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    ray_jobs_stop: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                submission_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": Record<string, never>;
                };
            };
        };
    };
    ray_jobs_exists: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                protocol: string;
                package_name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    ray_jobs_upload: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                protocol: string;
                package_name: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/octet-stream": number[];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    audit_list: {
        parameters: {
            query?: {
                /** @description At most 500; 100 by default. */
                limit?: number;
                page_token?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Page_AuditEntry"];
                };
            };
        };
    };
    clusters_list: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Page_Cluster"];
                };
            };
        };
    };
    clusters_add: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["AddClusterRequest"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AddClusterReply"];
                };
            };
        };
    };
    clusters_describe: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                cluster: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Cluster"];
                };
            };
        };
    };
    clusters_accept: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                cluster: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["AcceptClusterRequest"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Cluster"];
                };
            };
        };
    };
    clusters_clear_alarm: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                cluster: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Cluster"];
                };
            };
        };
    };
    arrivals_list: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                cluster: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Page_AllowedQueue"];
                };
            };
        };
    };
    arrivals_allow: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                cluster: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["AllowQueueRequest"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AllowedQueue"];
                };
            };
        };
    };
    arrivals_disallow: {
        parameters: {
            query: {
                namespace: string;
                queue: string;
            };
            header?: never;
            path: {
                cluster: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    clusters_revoke: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                cluster: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Cluster"];
                };
            };
        };
    };
    events_events: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/event-stream": components["schemas"]["Change"];
                };
            };
        };
    };
    incidents_list: {
        parameters: {
            query?: {
                /** @description `open` or `resolved`; both by default. */
                state?: string;
                /** @description At most 500; 100 by default. */
                limit?: number;
                page_token?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Page_Incident"];
                };
            };
        };
    };
    incidents_show: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                incident: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Incident"];
                };
            };
        };
    };
    incidents_resolve: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                incident: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ResolveRequest"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Incident"];
                };
            };
        };
    };
    jobs_list: {
        parameters: {
            query?: {
                /** @description Comma-separated states. */
                status?: string;
                queue?: string;
                cluster?: string;
                owner?: string;
                /** @description At most 500; 100 by default. */
                limit?: number;
                page_token?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Page_Job"];
                };
            };
        };
    };
    jobs_submit: {
        parameters: {
            query?: never;
            header?: {
                /** @description makes a repeat harmless */
                "Idempotency-Key"?: string | null;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["SubmitRequest"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SubmitReply"];
                };
            };
        };
    };
    jobs_describe: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                job: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["JobDetail"];
                };
            };
        };
    };
    jobs_cancel: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                job: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["CancelRequest"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Job"];
                };
            };
        };
    };
    jobs_logs: {
        parameters: {
            query?: {
                /** @description The newest attempt by default. */
                attempt?: number;
                /** @description Bytes to skip; 0 by default. */
                offset?: number;
                /** @description Keep the answer open until the attempt has ended and all of its log was sent. */
                follow?: boolean;
                /**
                 * @description Put a line in the place of bytes that are missing and go on, for people who read or keep the text; bytes of the
                 *     answer then say nothing about offsets. Without it the answer ends where bytes are missing.
                 */
                marks?: boolean;
            };
            header?: never;
            path: {
                job: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/plain": string;
                };
            };
        };
    };
    jobs_why: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                job: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Why"];
                };
            };
        };
    };
    session_me: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Me"];
                };
            };
        };
    };
    usage_in_force: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/yaml": string;
                };
            };
        };
    };
    usage_put: {
        parameters: {
            query?: {
                /** @description Check everything, change nothing. */
                dry_run?: boolean;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/yaml": string;
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PriceSheetReply"];
                };
            };
        };
    };
    queues_list: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Page_Queue"];
                };
            };
        };
    };
    queues_set_template: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["SetTemplateRequest"];
            };
        };
        responses: {
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    queues_add: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["AddQueueRequest"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Queue"];
                };
            };
        };
    };
    session_sign_in: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["SignInRequest"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Me"];
                };
            };
        };
    };
    session_sign_out: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    tokens_list: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Page_Token"];
                };
            };
        };
    };
    tokens_add: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["AddTokenRequest"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AddTokenReply"];
                };
            };
        };
    };
    tokens_revoke: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                token: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    usage_usage: {
        parameters: {
            query?: {
                /** @description RFC 3339; the start of the month by default. */
                from?: string;
                /** @description RFC 3339; now by default. */
                to?: string;
                /** @description Comma-separated: `team`, `job`, `cluster`, `kind`. `kind` by default. */
                by?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Usage"];
                };
            };
        };
    };
    about_version: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["About"];
                };
            };
        };
    };
    ray_jobs_version: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": Record<string, never>;
                };
            };
        };
    };
    about_healthz: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/plain": string;
                };
            };
        };
    };
    about_serve: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": Record<string, never>;
                };
            };
        };
    };
    about_readyz: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/plain": string;
                };
            };
        };
    };
}

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
    "/api/v1/clusters/{cluster}/declare-dead": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Says that nothing runs on a silent cluster any more: its jobs start elsewhere at once. */
        post: operations["clusters_declare_dead"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/clusters/{cluster}/labels": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Sets and removes labels; those that are not named stay. */
        post: operations["clusters_label"];
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
    "/api/v1/jobs/{job}/decisions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** What the dispatcher decided about a job and when, the newest first. */
        get: operations["jobs_decisions"];
        put?: never;
        post?: never;
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
    "/api/v1/jobs/{job}/vouch": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Says that nothing of a job runs on its silent cluster any more: it starts elsewhere at once. */
        post: operations["jobs_vouch"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/jobs/{job}/where": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Where a job that waits would go now. */
        get: operations["jobs_where_job"];
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
        /** Why a job waits, as the dispatcher wrote it, what is ahead of it, and how long it may take. */
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
    "/api/v1/policy": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Everything that is declared, as a text that can be put again. */
        get: operations["policy_read"];
        /** Adds and changes what the text names; with `prune` also removes what it does not name. */
        put: operations["policy_put"];
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/policy/what-if": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Tells what the text would do to queues and to the jobs that wait. Nothing is changed. */
        post: operations["policy_what_if"];
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
        /** All queues with what is in them and where they stand with their quotas, parents before their children. */
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
    "/api/v1/queues/loss": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        /** Sets what happens to a queue's jobs when their cluster is lost. */
        put: operations["queues_set_queue"];
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/queues/waiting": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Jobs that wait in a queue, in the order in which the dispatcher looks at them. */
        get: operations["queues_waiting"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/queues/what-if": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** The same for other nominal quotas of queues that have some. */
        post: operations["queues_what_if"];
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
    "/api/v1/submissions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Submits many RayJobs, all or none. */
        post: operations["jobs_submit_many"];
        delete?: never;
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
    "/api/v1/where": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Where a manifest would go if it were submitted now. */
        post: operations["jobs_where_manifest"];
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
        /** @description Jobs that the dispatcher looks at before this one, in the same queue. */
        Ahead: {
            /** Format: int32 */
            count: number;
            /** @description The first of them, at most five. */
            jobs: components["schemas"]["WaitingJob"][];
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
            /** @description How far its worker groups may grow and for whom the room is, where that is less than they ask for; empty otherwise. */
            capped_because?: string;
            /**
             * Format: date-time
             * @description When the job last wrote a checkpoint in this attempt; absent if it did not say.
             */
            checkpointed_at?: string | null;
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
            /**
             * @description The proof with which it was given up when its cluster was lost, for example `lease_ended`; `overlap_allowed` says
             *     that two copies may have run. Empty for every other end.
             */
            proof?: string;
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
        /** @description A cluster with room for the job. */
        Candidate: {
            cluster: string;
            /** @description Before the job is placed. */
            free: Record<string, never>;
            /** @description In the order in which they count. */
            terms: components["schemas"]["Term"][];
            /** @description Of its usable nodes when empty. */
            total: Record<string, never>;
        };
        /** @description One line of `GET /api/v1/events` (server-sent): something of this kind changed; fetch it again. */
        Change: {
            id: string;
            /** @description `job`, `cluster`, `queue`, `incident`, `usage` or `log`. */
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
            /** @description What operators say of it, for example its region. Regions and zones that nodes report count before these. */
            labels?: Record<string, never>;
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
            /** @description It has yet to tell what it holds since the database failed over; until then it gets no jobs. */
            untold?: boolean;
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
        /** @description One decision of the dispatcher about a job. Consecutive waits for the same causes are one. */
        Decision: {
            /**
             * Format: int32
             * @description The attempt that a placement made, or that was asked to stop.
             */
            attempt?: number | null;
            /** @description Of a wait, as they were told last. */
            blockers: components["schemas"]["Blocker"][];
            /** @description Of a placement: clusters that had room, best first. */
            candidates: components["schemas"]["Candidate"][];
            /**
             * @description Of a placement: the term that decided, empty when no other cluster had room or all terms were equal. Of a wait: the
             *     codes with their clusters. Of a stop: `RECLAIM` or `PRIORITY`. Of a group that shrinks: `SHRINK`.
             */
            cause: string;
            /** @description Of a placement. */
            cluster?: string | null;
            /** Format: date-time */
            first_at: string;
            /**
             * Format: date-time
             * @description When something about it was told anew for the last time.
             */
            last_at: string;
            /**
             * Format: int32
             * @description Candidates and refusals that are not kept.
             */
            left_out: number;
            /**
             * Format: int32
             * @description Counts from 1; older ones than the first that is listed are not kept.
             */
            number: number;
            /**
             * @description `assigned`, `blocked`, `stopped` (for another job), `makes_room` (others were asked to stop or
             *     to shrink for it), `shrunk` (worker groups of it have to be smaller) or `lifted` (they may grow again).
             */
            outcome: string;
            /**
             * Format: int32
             * @description Of a wait: place in the queue, as it was told last.
             */
            position?: number | null;
            /** @description Of a placement: clusters that could not take it. */
            refused: components["schemas"]["Refused"][];
            sentence: string;
            /**
             * Format: int64
             * @description Number of the leader that decided; it grows with every change of the leader.
             */
            term: number;
            /**
             * Format: int64
             * @description How often it was told anew for the same causes.
             */
            times: number;
        };
        /** @description How long a job will go on waiting. */
        Estimate: {
            /**
             * Format: int32
             * @description Of those, how many had been placed by their p90.
             */
            by_p90: number;
            /**
             * Format: int32
             * @description Earlier estimates of the queue whose jobs have been placed since, at most the newest hundred.
             */
            checked: number;
            /** @description `now`, `known`, `unknown` or `never`. */
            kind: string;
            /**
             * Format: int64
             * @description Half of the jobs like it get a cluster within this time from now, in milliseconds.
             */
            p50_ms?: number | null;
            /**
             * Format: int64
             * @description Nine of ten do.
             */
            p90_ms?: number | null;
            /**
             * Format: int32
             * @description Jobs that it goes by.
             */
            samples: number;
            sentence: string;
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
            /** @description What happens when its cluster is lost: `wait`, `fence` or `rerun`. */
            on_lost?: string;
            /** @description Why that. */
            on_lost_because?: string;
            owner: string;
            /**
             * Format: int32
             * @description What the class was worth then; 0 without one. Higher goes first.
             */
            priority?: number;
            /** @description The class that it named when it was submitted. */
            priority_class?: string | null;
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
        /** @description `POST /api/v1/clusters/{cluster}/labels`. */
        LabelClusterRequest: {
            /** @description Values by key; null removes the label. Labels that are not named stay. */
            labels: Record<string, never>;
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
                /** @description What operators say of it, for example its region. Regions and zones that nodes report count before these. */
                labels?: Record<string, never>;
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
                /** @description It has yet to tell what it holds since the database failed over; until then it gets no jobs. */
                untold?: boolean;
                /** Format: int64 */
                version: number;
            }[];
            /** @description Give it back as `page_token` for the rows after these; absent on the last page. */
            next_page_token?: string | null;
            /** @description Set when some cluster's word is older than its limit, so that rows may be out of date. */
            partial?: string | null;
        };
        /** @description A list with its scope and age. */
        Page_Decision: {
            /** Format: date-time */
            as_of: string;
            items: {
                /**
                 * Format: int32
                 * @description The attempt that a placement made, or that was asked to stop.
                 */
                attempt?: number | null;
                /** @description Of a wait, as they were told last. */
                blockers: components["schemas"]["Blocker"][];
                /** @description Of a placement: clusters that had room, best first. */
                candidates: components["schemas"]["Candidate"][];
                /**
                 * @description Of a placement: the term that decided, empty when no other cluster had room or all terms were equal. Of a wait: the
                 *     codes with their clusters. Of a stop: `RECLAIM` or `PRIORITY`. Of a group that shrinks: `SHRINK`.
                 */
                cause: string;
                /** @description Of a placement. */
                cluster?: string | null;
                /** Format: date-time */
                first_at: string;
                /**
                 * Format: date-time
                 * @description When something about it was told anew for the last time.
                 */
                last_at: string;
                /**
                 * Format: int32
                 * @description Candidates and refusals that are not kept.
                 */
                left_out: number;
                /**
                 * Format: int32
                 * @description Counts from 1; older ones than the first that is listed are not kept.
                 */
                number: number;
                /**
                 * @description `assigned`, `blocked`, `stopped` (for another job), `makes_room` (others were asked to stop or
                 *     to shrink for it), `shrunk` (worker groups of it have to be smaller) or `lifted` (they may grow again).
                 */
                outcome: string;
                /**
                 * Format: int32
                 * @description Of a wait: place in the queue, as it was told last.
                 */
                position?: number | null;
                /** @description Of a placement: clusters that could not take it. */
                refused: components["schemas"]["Refused"][];
                sentence: string;
                /**
                 * Format: int64
                 * @description Number of the leader that decided; it grows with every change of the leader.
                 */
                term: number;
                /**
                 * Format: int64
                 * @description How often it was told anew for the same causes.
                 */
                times: number;
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
                /** @description What happens when its cluster is lost: `wait`, `fence` or `rerun`. */
                on_lost?: string;
                /** @description Why that. */
                on_lost_because?: string;
                owner: string;
                /**
                 * Format: int32
                 * @description What the class was worth then; 0 without one. Higher goes first.
                 */
                priority?: number;
                /** @description The class that it named when it was submitted. */
                priority_class?: string | null;
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
                /** @description Jobs may ask for two copies at once. */
                allows_overlap?: boolean;
                /**
                 * Format: int32
                 * @description Queues above it. Lists come with parents before their children.
                 */
                depth?: number;
                name: string;
                /** @description What happens to jobs that ask for nothing when their cluster is lost: `wait` or `fence`; empty: as the job says. */
                on_lost?: string;
                /** @description The queue above it; absent for a root. */
                parent?: string | null;
                /** Format: int32 */
                queued: number;
                /** @description By flavor and resource; empty where nothing is limited. */
                quotas?: components["schemas"]["QueueQuota"][];
                /** Format: int32 */
                running: number;
                /**
                 * Format: int64
                 * @description The greatest part that it borrows of what its parent can lend, with what that may borrow itself, over its weight, in
                 *     thousandths and over all flavors by their weight; absent for a root, and where its tree cannot be counted.
                 */
                share?: number | null;
                /** @description RayJob (YAML) that jobs of Ray's own client are made from; empty for the default one. */
                template?: string;
                /** @description What its own live attempts hold. */
                used?: Record<string, never>;
                /**
                 * Format: int64
                 * @description What its own jobs used in the last days, in GPU seconds of an ordinary flavor: a GPU counts by the weight of its flavor, and
                 *     64 cores count as a GPU; older use weighs less, half after a week; a start counts as five minutes at once. Of queues with the
                 *     same share, the one that used much less goes first.
                 */
                used_lately?: number;
                /**
                 * Format: int32
                 * @description Thousandths; 1000 is an ordinary weight.
                 */
                weight?: number;
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
        /** @description A list with its scope and age. */
        Page_WaitingJob: {
            /** Format: date-time */
            as_of: string;
            items: {
                /** @description Code of its first blocker; empty until the dispatcher has looked at it. */
                code: string;
                /** Format: uuid */
                id: string;
                name: string;
                owner: string;
                /**
                 * Format: int32
                 * @description Place in its queue, from 1; absent until the dispatcher has looked at it.
                 */
                position?: number | null;
                requests: Record<string, never>;
                /** @description The first blocker's sentence. */
                sentence: string;
                /**
                 * Format: date-time
                 * @description Since when it waits for these causes.
                 */
                since?: string | null;
                /** Format: date-time */
                submitted_at: string;
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
        /** @description One thing that is not as it was. */
        PolicyChange: {
            /** @description `added`, `changed` or `removed`. */
            change: string;
            fields: components["schemas"]["PolicyField"][];
            /** @description `flavor`, `queue` or `priority class`. */
            kind: string;
            name: string;
        };
        /** @description One field of it; empty text stands for "nothing was said". */
        PolicyField: {
            after: string;
            before: string;
            /** @description For example `h100 gpu nominal`. */
            field: string;
        };
        /** @description What a text changed, or would change. */
        PolicyReply: {
            /** @description False on a dry run. */
            applied: boolean;
            /** @description Flavors, then queues, then priority classes, each by name; empty when the policy says all of it already. */
            changes: components["schemas"]["PolicyChange"][];
            /**
             * Format: int64
             * @description Grows with every change of the policy.
             */
            version: number;
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
            /** @description Jobs may ask for two copies at once. */
            allows_overlap?: boolean;
            /**
             * Format: int32
             * @description Queues above it. Lists come with parents before their children.
             */
            depth?: number;
            name: string;
            /** @description What happens to jobs that ask for nothing when their cluster is lost: `wait` or `fence`; empty: as the job says. */
            on_lost?: string;
            /** @description The queue above it; absent for a root. */
            parent?: string | null;
            /** Format: int32 */
            queued: number;
            /** @description By flavor and resource; empty where nothing is limited. */
            quotas?: components["schemas"]["QueueQuota"][];
            /** Format: int32 */
            running: number;
            /**
             * Format: int64
             * @description The greatest part that it borrows of what its parent can lend, with what that may borrow itself, over its weight, in
             *     thousandths and over all flavors by their weight; absent for a root, and where its tree cannot be counted.
             */
            share?: number | null;
            /** @description RayJob (YAML) that jobs of Ray's own client are made from; empty for the default one. */
            template?: string;
            /** @description What its own live attempts hold. */
            used?: Record<string, never>;
            /**
             * Format: int64
             * @description What its own jobs used in the last days, in GPU seconds of an ordinary flavor: a GPU counts by the weight of its flavor, and
             *     64 cores count as a GPU; older use weighs less, half after a week; a start counts as five minutes at once. Of queues with the
             *     same share, the one that used much less goes first.
             */
            used_lately?: number;
            /**
             * Format: int32
             * @description Thousandths; 1000 is an ordinary weight.
             */
            weight?: number;
        };
        /** @description `PUT /api/v1/queues/loss`. */
        QueueLossRequest: {
            /** @description Jobs may ask for `rerun`: two copies at once until the old one's lease ends. Needs an administrator. */
            allow_overlap?: boolean;
            name: string;
            /** @description `wait` or `fence`, for jobs that ask for nothing; absent: as the job says of itself. */
            on_lost?: string | null;
        };
        /**
         * @description Where a queue stands with one flavor and resource: thousandths of a core, bytes, or devices. What cannot be told is
         *     absent.
         */
        QueueQuota: {
            /**
             * Format: int64
             * @description What it uses above what it has.
             */
            borrowed?: number | null;
            /** Format: int64 */
            borrowing_limit?: number | null;
            /** @description Whether the queue itself names it; one that names nothing uses what its parent may. */
            declared?: boolean;
            flavor: string;
            /**
             * Format: int32
             * @description What one GPU of the flavor counts as in the share and in what was used lately, in thousandths.
             */
            flavor_weight?: number;
            /** Format: int64 */
            lending_limit?: number | null;
            /**
             * Format: int64
             * @description What others use of what it has.
             */
            lent?: number | null;
            /**
             * Format: int64
             * @description Its own.
             */
            nominal: number;
            /** @description `cpu`, `memory` or `gpu`. */
            resource: string;
            /**
             * Format: int64
             * @description With everything below it.
             */
            total: number;
            /**
             * Format: int64
             * @description By its jobs and those below it.
             */
            used?: number | null;
        };
        /** @description One nominal quota. */
        QuotaEdit: {
            flavor: string;
            /** @description As a Kubernetes quantity: `16`, `500m`, `64Gi`. */
            nominal: string;
            queue: string;
            /** @description `cpu`, `memory` or `gpu`. */
            resource: string;
        };
        /** @description `POST /api/v1/queues/what-if`: other nominal quotas for queues that have some. */
        QuotaEdits: {
            /** @description At most 100. */
            edits: components["schemas"]["QuotaEdit"][];
        };
        /** @description A cluster that cannot take the job. */
        Refused: {
            cluster: string;
            /** @description Stable word of its blocker. */
            code: string;
            free: Record<string, never>;
            sentence: string;
            total: Record<string, never>;
            /** @description What would change it; empty when only time will. */
            try_this: string;
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
        /** @description What was made of many submissions, in their order. */
        SubmitManyReply: {
            jobs: components["schemas"]["Submitted"][];
        };
        /**
         * @description `POST /api/v1/submissions`: all of these jobs, or none. Header `Idempotency-Key` makes a repeat harmless, job by job in
         *     their order.
         */
        SubmitManyRequest: {
            /** @description Check everything, change nothing; the jobs themselves do not say it. */
            dry_run?: boolean;
            /** @description At most 500, and together at most 8 MiB. */
            jobs: components["schemas"]["SubmitRequest"][];
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
            /**
             * @description What happens when its cluster is lost: `wait`, `fence` or `rerun`; the manifest's annotation
             *     `squadron.dev/on-lost` counts when this is absent, then the queue's default.
             */
            on_lost?: string | null;
            /**
             * @description What it says about places, in words as in the annotations `squadron.dev/prefer`, `avoid`, `data`, `spread`,
             *     `residency`, `max-price` and `spot` of the manifest, which count for what is absent here.
             */
            preferences?: Record<string, never>;
            /** @description How urgent it is; without it the manifest's label `kueue.x-k8s.io/priority-class` counts. */
            priority_class?: string | null;
            queue: string;
        };
        /** @description What was made of one of many submissions. */
        Submitted: {
            /**
             * Format: uuid
             * @description Absent on a dry run.
             */
            id?: string | null;
            /** @description The manifest's name. */
            name: string;
            queue: string;
            /** @description It was submitted by an earlier request with the same key. */
            repeated: boolean;
            /** @description Things that are legal but probably not meant. */
            warnings: string[];
        };
        /** @description One term of the comparison; the smaller value is better. */
        Term: {
            /** @description The value in words. */
            clause: string;
            /** @description The first term that differs from the chosen cluster's; of the chosen cluster, from the next best one's. */
            decided: boolean;
            /** @description Stable word: `borrowing`, `preference`, `data`, `spread`, `price`, `idle_gpus`, `node_size`, `run`, `jobs_there` or `fullness`. */
            name: string;
            /** @description What the value counts; empty where it is yes (1) or no (0). */
            unit?: string;
            /** Format: int64 */
            value: number;
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
            /**
             * @description Decimal in the sheet's currency with its minor unit, and four digits more while the total is under one; rows sum to
             *     the total by largest remainder.
             */
            amount: string;
            /** @description The exact amount, an integer; 4831838208000000000000000000 of it are one unit of the currency (docs/prices.md). */
            amount_exact: string;
            cluster: string;
            /** @description Decimals, for example `1.250000`. */
            cpu_hours: string;
            gpu_hours: string;
            /** @description Name of the job, with the end of its id where several jobs of the report carry the name. */
            job: string;
            /** @description Its id. */
            job_id?: string;
            /** @description `team`, `shared`, `overhead` or `idle`; `capacity` in no row. */
            kind: string;
            memory_gib_hours: string;
            team: string;
        };
        /** @description A job in the line of its queue. */
        WaitingJob: {
            /** @description Code of its first blocker; empty until the dispatcher has looked at it. */
            code: string;
            /** Format: uuid */
            id: string;
            name: string;
            owner: string;
            /**
             * Format: int32
             * @description Place in its queue, from 1; absent until the dispatcher has looked at it.
             */
            position?: number | null;
            requests: Record<string, never>;
            /** @description The first blocker's sentence. */
            sentence: string;
            /**
             * Format: date-time
             * @description Since when it waits for these causes.
             */
            since?: string | null;
            /** Format: date-time */
            submitted_at: string;
        };
        /** @description What would be different if the text were applied now. */
        WhatIf: {
            /** Format: date-time */
            as_of: string;
            /** @description What the text would change of the policy. */
            changes: components["schemas"]["PolicyChange"][];
            /** @description Use that would be on loan, and so others could claim; the first hundred. */
            claims: components["schemas"]["WhatIfClaim"][];
            /** Format: int32 */
            claims_total: number;
            /** @description Queues that would stand differently, once what starts has started; the first hundred by name. */
            queues: components["schemas"]["WhatIfQueue"][];
            /** Format: int32 */
            queues_total: number;
            /**
             * Format: int32
             * @description Jobs that would go on waiting for the same.
             */
            same: number;
            sentence: string;
            /** @description Jobs that wait and would start now; the first hundred. */
            starts: components["schemas"]["WhatIfStart"][];
            /** Format: int32 */
            starts_total: number;
            /** @description Running jobs that would be asked to stop; the first hundred. */
            stops: components["schemas"]["WhatIfStop"][];
            /** Format: int32 */
            stops_total: number;
            /** @description Jobs that would wait for something else than now; the first hundred. */
            waits: components["schemas"]["WhatIfWait"][];
            /** Format: int32 */
            waits_total: number;
            /** @description What would be added or changed, as YAML that can be applied. */
            yaml: string;
        };
        /** @description What a queue uses within its quota now, and would use on loan: in thousandths of a core, bytes, or devices. */
        WhatIfClaim: {
            /**
             * Format: int64
             * @description What of that is above its limit: nothing more of the queue starts there until so much has ended.
             */
            beyond: number;
            /** Format: int64 */
            borrowed: number;
            /** Format: int64 */
            borrowed_before: number;
            flavor: string;
            queue: string;
            /** @description `cpu`, `memory` or `gpu`. */
            resource: string;
        };
        /** @description A queue before and after. */
        WhatIfQueue: {
            after?: components["schemas"]["WhatIfStanding"] | null;
            before?: components["schemas"]["WhatIfStanding"] | null;
            name: string;
        };
        /** @description Where a queue stands. */
        WhatIfStanding: {
            quotas: components["schemas"]["QueueQuota"][];
            /**
             * Format: int64
             * @description As in a list of queues.
             */
            share?: number | null;
        };
        /** @description A job that would start. */
        WhatIfStart: {
            cluster: string;
            /** Format: uuid */
            id: string;
            name: string;
            queue: string;
            /** @description Why there. */
            sentence: string;
        };
        /** @description A running job that would be asked to stop. */
        WhatIfStop: {
            /** Format: int32 */
            attempt: number;
            cluster: string;
            /** Format: uuid */
            id: string;
            /** @description Name of the waiting job that its room is for. */
            makes_room_for: string;
            queue: string;
            /** @description By which right, and what work would be lost. */
            sentence: string;
        };
        /** @description A job that would wait for something else. */
        WhatIfWait: {
            /** @description Code of its first blocker with the changed policy. */
            code: string;
            /** @description Code of its first blocker now; empty for a job that would start now if nothing were changed. */
            code_before: string;
            /** Format: uuid */
            id: string;
            name: string;
            queue: string;
            /** @description That blocker's sentence. */
            sentence: string;
        };
        /** @description What the dispatcher would decide now. */
        Where: {
            /** Format: date-time */
            as_of: string;
            /** @description When it would wait: why, most actionable first. */
            blockers: components["schemas"]["Blocker"][];
            /** @description Clusters with room, best first. */
            candidates: components["schemas"]["Candidate"][];
            /** @description The cluster that it would go to; absent when it would wait. */
            cluster?: string | null;
            estimate: components["schemas"]["Estimate"];
            /**
             * Format: int32
             * @description Candidates and refusals that are not listed.
             */
            left_out: number;
            /** @description Name in the manifest, or of the job. */
            name: string;
            /**
             * Format: int32
             * @description When it would wait: its place in the queue, from 1.
             */
            position?: number | null;
            queue: string;
            /** @description Clusters that cannot take it. */
            refused: components["schemas"]["Refused"][];
            /** @description Head, submitter and minimum workers together. */
            requests: Record<string, never>;
            /** @description Why there, or why it would wait. */
            sentence: string;
        };
        /** @description `POST /api/v1/where`: what would become of this manifest if it were submitted now. Nothing is changed. */
        WhereRequest: {
            /** @description Pins the job to one cluster. */
            cluster?: string | null;
            /** @description A RayJob (ray.io/v1) as YAML or JSON. */
            manifest: string;
            /**
             * @description What it says about places, in words as in the annotations `squadron.dev/prefer`, `avoid`, `data`, `spread`,
             *     `residency`, `max-price` and `spot` of the manifest, which count for what is absent here.
             */
            preferences?: Record<string, never>;
            queue: string;
        };
        /** @description `GET /api/v1/jobs/{id or name}/why`: what the dispatcher wrote when it last looked at the job. */
        Why: {
            /** @description What is ahead of it in its queue. */
            ahead?: components["schemas"]["Ahead"];
            blockers: components["schemas"]["Blocker"][];
            /** Format: date-time */
            decided_at: string;
            estimate?: components["schemas"]["Estimate"] | null;
            /** Format: int32 */
            position?: number | null;
            /** Format: int32 */
            queue_length: number;
            /** @description For example: "queued in research, 2nd of 3". */
            sentence: string;
        };
        /** @description `POST /api/v1/clusters/{cluster}/declare-dead` and `POST /api/v1/jobs/{job}/vouch`. */
        WordRequest: {
            /** @description How the caller knows that nothing runs there any more; the audit log keeps it. */
            reason: string;
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
    clusters_declare_dead: {
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
                "application/json": components["schemas"]["WordRequest"];
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
    clusters_label: {
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
                "application/json": components["schemas"]["LabelClusterRequest"];
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
    jobs_decisions: {
        parameters: {
            query?: {
                /** @description At most 500; 100 by default. */
                limit?: number;
                page_token?: string;
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
                    "application/json": components["schemas"]["Page_Decision"];
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
    jobs_vouch: {
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
                "application/json": components["schemas"]["WordRequest"];
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
    jobs_where_job: {
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
                    "application/json": components["schemas"]["Where"];
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
    policy_read: {
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
    policy_put: {
        parameters: {
            query?: {
                /** @description Check everything and tell what would change; change nothing. */
                dry_run?: boolean;
                /** @description The text is everything: what it does not name is removed. Without it the text adds and changes, and removes nothing. */
                prune?: boolean;
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
                    "application/json": components["schemas"]["PolicyReply"];
                };
            };
        };
    };
    policy_what_if: {
        parameters: {
            query?: {
                /** @description The text is everything: what it does not name would be removed. */
                prune?: boolean;
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
                    "application/json": components["schemas"]["WhatIf"];
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
    queues_set_queue: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["QueueLossRequest"];
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
    queues_waiting: {
        parameters: {
            query?: {
                queue?: string;
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
                    "application/json": components["schemas"]["Page_WaitingJob"];
                };
            };
        };
    };
    queues_what_if: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["QuotaEdits"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WhatIf"];
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
    jobs_submit_many: {
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
                "application/json": components["schemas"]["SubmitManyRequest"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SubmitManyReply"];
                };
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
    jobs_where_manifest: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["WhereRequest"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Where"];
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

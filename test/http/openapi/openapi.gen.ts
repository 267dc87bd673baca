export interface paths {
    "/": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Lists the agents. */
        get: operations["getAgents"];
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
        /** Returns this document. */
        get: operations["getOpenapi"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/schemas/{name}.json": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                name: string;
            };
            cookie?: never;
        };
        /** Returns the JSON Schema of a request, an event or an answer. */
        get: operations["getSchemasByName"];
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
        /** Returns 200 while the server is alive. */
        get: operations["getHealthz"];
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
        /** Returns whether the server accepts requests. */
        get: operations["getReadyz"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/metrics": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Metrics for Prometheus. */
        get: operations["getMetrics"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/runs/{run_id}": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                run_id: string;
            };
            cookie?: never;
        };
        /** Returns a run as in the list of runs, with its newest 100 requests. */
        get: operations["getRunsByRunId"];
        put?: never;
        post?: never;
        /** Removes an idle run with its events and artifacts. */
        delete: operations["deleteRunsByRunId"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/runs/{run_id}/fork": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                run_id: string;
            };
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Creates a run with the history of this one up to the end of a turn, or to a question of the open one. */
        post: operations["postRunsByRunIdFork"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/runs/{run_id}/retry": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                run_id: string;
            };
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Tries the held turn of a run again with the code that is served now. */
        post: operations["postRunsByRunIdRetry"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/runs/{run_id}/end": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                run_id: string;
            };
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Ends the held turn of a run with the reason as its error. */
        post: operations["postRunsByRunIdEnd"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/runs/{run_id}/resume": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                run_id: string;
            };
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Has the actor of a run take requests again that its supervisor has stopped. */
        post: operations["postRunsByRunIdResume"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/erase": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Erases the runs that have all that is given, with everything that belongs to them, also from the files of the log. For an admin. */
        post: operations["postErase"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/audit": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Lists who did what, the newest first. For an operator. */
        get: operations["getAudit"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/statistics": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Says what turns and completions have done and used, by the hour. Users see what is their owner's, operators everything. */
        get: operations["getStatistics"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/dead-letters": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Lists what actors were told without effect: it was refused, or its turn has failed. For an operator. */
        get: operations["getDeadLetters"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/runs/{run_id}/dead-letters/{request_id}": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                run_id: string;
                request_id: string;
            };
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Sends a dead letter again, once, however often it is asked. */
        post: operations["postRunsByRunIdDeadLettersByRequestId"];
        /** Removes a dead letter. */
        delete: operations["deleteRunsByRunIdDeadLettersByRequestId"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/runs/{run_id}/schedules/{schedule_id}/pause": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                run_id: string;
                schedule_id: string;
            };
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Leaves out the times of a schedule until it is resumed. */
        post: operations["postRunsByRunIdSchedulesByScheduleIdPause"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/runs/{run_id}/schedules/{schedule_id}/resume": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                run_id: string;
                schedule_id: string;
            };
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Goes on with a schedule, with its times from now on. */
        post: operations["postRunsByRunIdSchedulesByScheduleIdResume"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/runs/{run_id}/schedules/{schedule_id}/run": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                run_id: string;
                schedule_id: string;
            };
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Sends the request of a schedule now, besides its times. */
        post: operations["postRunsByRunIdSchedulesByScheduleIdRun"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/runs/{run_id}/schedules/{schedule_id}": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                run_id: string;
                schedule_id: string;
            };
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /** Removes a schedule. One that the definition of an agent has can only be paused. */
        delete: operations["deleteRunsByRunIdSchedulesByScheduleId"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/answer-links": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Makes a link to a page on which the person who has it can answer one wait of a request. */
        post: operations["postAnswerLinks"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/topics": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Lists the topics: those with a run, the one that was changed last first, then those without one. */
        get: operations["getTopics"];
        put?: never;
        /** Gives a topic a run, unless it has one, so that it can be followed. */
        post: operations["postTopics"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/topics/{topic}": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                topic: string;
            };
            cookie?: never;
        };
        /** Returns a topic with its subscribers. */
        get: operations["getTopicsByTopic"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/topics/{topic}/publications": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                topic: string;
            };
            cookie?: never;
        };
        /** Lists the newest publication of each name. */
        get: operations["getTopicsByTopicPublications"];
        put?: never;
        /** Publishes something to a topic: each of its subscribers is told it. */
        post: operations["postTopicsByTopicPublications"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/describe": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Describes the agent. */
        get: operations["getDescribe"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/process": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Accepts a request. */
        post: operations["postProcess"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/configure": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Configures a run, or the agent for later runs. */
        post: operations["postConfigure"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/stream_request": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Accepts a request that starts or continues a turn, and streams its events. */
        post: operations["postStreamRequest"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/getevents": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Returns the events of a request or a run. */
        get: operations["getGetevents"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/getevents/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        /** Returns the events of a request or a run. */
        get: operations["getGeteventsById"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/events": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Returns the events of a request or a run. */
        get: operations["getEvents"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/events/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        /** Returns the events of a request or a run. */
        get: operations["getEventsById"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/request/{request_id}": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                request_id: string;
            };
            cookie?: never;
        };
        /** Returns the state of a request. */
        get: operations["getRequestByRequestId"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/runs": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Lists runs, the most recently updated first. */
        get: operations["getRuns"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/waits": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Lists the open waits, oldest first, also those beside other work of their requests. */
        get: operations["getWaits"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/schedules": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Lists the times at which actors get requests and messages, in a fixed order. */
        get: operations["getSchedules"];
        put?: never;
        /** Makes a schedule of an actor, or replaces the one with its id. One of cron, every_ms, at and after_ms says when. */
        post: operations["postSchedules"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/artifacts": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Stores the body as a file. Its type is the Content-Type. */
        post: operations["postArtifacts"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/artifacts/{artifact_id}": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                artifact_id: string;
            };
            cookie?: never;
        };
        /** Returns a file. */
        get: operations["getArtifactsByArtifactId"];
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
        Request: components["schemas"]["ChatRequest"] | components["schemas"]["OperationRequest"] | components["schemas"]["Message"] | components["schemas"]["ConfigureRequest"] | components["schemas"]["CancelRequest"] | components["schemas"]["ResumeWithInput"];
        Event: components["schemas"]["RequestStarted"] | components["schemas"]["WaitForInput"] | components["schemas"]["WaitExpired"] | components["schemas"]["ResumeWithInputEvent"] | components["schemas"]["CancelRequestEvent"] | components["schemas"]["MessageReceived"] | components["schemas"]["TextOutput"] | components["schemas"]["ToolCall"] | components["schemas"]["ToolResult"] | components["schemas"]["ToolError"] | components["schemas"]["ToolTextOutput"] | components["schemas"]["CompletionCall"] | components["schemas"]["CompletionResult"] | components["schemas"]["CompletionRetry"] | components["schemas"]["ReasoningOutput"] | components["schemas"]["ArtifactGenerated"] | components["schemas"]["ArtifactUploaded"] | components["schemas"]["StateChanged"] | components["schemas"]["Sleeping"] | components["schemas"]["RequestHeld"] | components["schemas"]["RequestContinued"] | components["schemas"]["RequestCanceling"] | components["schemas"]["RequestRestarted"] | components["schemas"]["ActorStopped"] | components["schemas"]["ActorResumed"] | components["schemas"]["Custom"] | components["schemas"]["RunCreated"] | components["schemas"]["Renewed"] | components["schemas"]["RequestCompleted"];
        ChatRequest: {
            /** @constant */
            type: "ChatRequest";
            input: string;
            request_id?: string;
            run_id?: string;
            key?: string;
            request_metadata?: {
                [key: string]: unknown;
            };
            /** @enum {string} */
            logging_level?: "minimal" | "default" | "tools" | "llm" | "agents" | "all";
            /** @enum {string} */
            on_busy?: "enqueue" | "reject" | "interrupt";
            attachments?: string[];
            tools?: {
                name: string;
                description?: string;
                input_schema?: {
                    [key: string]: unknown;
                };
                output_schema?: {
                    [key: string]: unknown;
                };
            }[];
            caller?: {
                server?: string;
                run_id: string;
                request_id: string;
                waits?: boolean;
            }[];
            depth?: number;
            hops?: {
                n: number;
                /** Format: date-time */
                since: string;
            };
            trace?: {
                traceparent: string;
                tracestate?: string;
                baggage?: string;
                /** @constant */
                linked?: true;
            };
            wait?: boolean | ("none" | "acknowledged" | "completed");
            wait_ms?: number;
            run_context?: {
                [key: string]: unknown;
            };
        };
        OperationRequest: {
            /** @constant */
            type: "OperationRequest";
            operation: string;
            input: unknown;
            request_id?: string;
            run_id?: string;
            key?: string;
            request_metadata?: {
                [key: string]: unknown;
            };
            /** @enum {string} */
            logging_level?: "minimal" | "default" | "tools" | "llm" | "agents" | "all";
            /** @enum {string} */
            on_busy?: "enqueue" | "reject" | "interrupt";
            attachments?: string[];
            tools?: {
                name: string;
                description?: string;
                input_schema?: {
                    [key: string]: unknown;
                };
                output_schema?: {
                    [key: string]: unknown;
                };
            }[];
            caller?: {
                server?: string;
                run_id: string;
                request_id: string;
                waits?: boolean;
            }[];
            depth?: number;
            hops?: {
                n: number;
                /** Format: date-time */
                since: string;
            };
            trace?: {
                traceparent: string;
                tracestate?: string;
                baggage?: string;
                /** @constant */
                linked?: true;
            };
            wait?: boolean | ("none" | "acknowledged" | "completed");
            wait_ms?: number;
            run_context?: {
                [key: string]: unknown;
            };
        };
        Message: {
            /** @constant */
            type: "Message";
            name: string;
            body: unknown;
            run_id?: string;
            key?: string;
            request_id?: string;
            wait?: boolean | ("none" | "acknowledged" | "completed");
            wait_ms?: number;
            run_context?: {
                [key: string]: unknown;
            };
        } & ({
            run_id: string;
        } | {
            key: string;
        });
        ConfigureRequest: {
            /** @constant */
            type: "ConfigureRequest";
            args: {
                [key: string]: unknown;
            };
            run_id?: string;
            key?: string;
            wait?: boolean | ("none" | "acknowledged" | "completed");
            wait_ms?: number;
            run_context?: {
                [key: string]: unknown;
            };
        };
        CancelRequest: {
            /** @constant */
            type: "CancelRequest";
            request_id: string;
            wait?: boolean | ("none" | "acknowledged" | "completed");
            wait_ms?: number;
            run_context?: {
                [key: string]: unknown;
            };
        };
        ResumeWithInput: {
            /** @constant */
            type: "ResumeWithInput";
            request_id?: string;
            run_id?: string;
            key?: string;
            wait_id?: number;
            request_keys: {
                [key: string]: unknown;
            };
            resume_id?: string;
            wait?: boolean | ("none" | "acknowledged" | "completed");
            wait_ms?: number;
            run_context?: {
                [key: string]: unknown;
            };
        } & ({
            request_id: string;
        } | {
            run_id: string;
        } | {
            key: string;
        });
        RequestStarted: {
            id: number;
            run_id: string;
            request_id: string;
            agent: string;
            /** @constant */
            type: "RequestStarted";
            /** @constant */
            role: "system";
            depth: number;
            /** Format: date-time */
            ts: string;
            parent_call_id?: string;
            forked_from?: {
                run_id: string;
                id: number;
            };
            operation: string;
            input: unknown;
            attachments?: string[];
            config_version?: number;
            agent_version?: string;
            sender?: {
                agent?: string;
                key?: string;
                run_id: string;
                server?: string;
            };
            /** Format: date-time */
            accepted_at?: string;
            by?: {
                id: string;
                name?: string;
            };
            trace?: {
                traceparent: string;
                /** @constant */
                linked?: true;
            };
        };
        WaitForInput: {
            id: number;
            run_id: string;
            request_id: string;
            agent: string;
            /** @constant */
            type: "WaitForInput";
            /** @constant */
            role: "assistant";
            depth: number;
            /** Format: date-time */
            ts: string;
            parent_call_id?: string;
            forked_from?: {
                run_id: string;
                id: number;
            };
            request_keys: {
                [key: string]: string;
            };
            schema?: {
                [key: string]: unknown;
            };
            approval?: {
                tool: string;
                args: unknown;
            };
            tool?: {
                name: string;
                args: unknown;
            };
            approvers?: string[];
            question?: string;
            budget?: {
                /** @enum {string} */
                unit: "tokens" | "cost";
                day?: string;
                agent?: string;
                limit: number;
                spent: number;
            };
            /** Format: date-time */
            expires_at?: string;
            call_id: string;
            wait_id: number;
        };
        WaitExpired: {
            id: number;
            run_id: string;
            request_id: string;
            agent: string;
            /** @constant */
            type: "WaitExpired";
            /** @constant */
            role: "system";
            depth: number;
            /** Format: date-time */
            ts: string;
            parent_call_id?: string;
            forked_from?: {
                run_id: string;
                id: number;
            };
            wait_id: number;
        };
        ResumeWithInputEvent: {
            id: number;
            run_id: string;
            request_id: string;
            agent: string;
            /** @constant */
            type: "ResumeWithInput";
            /** @constant */
            role: "user";
            depth: number;
            /** Format: date-time */
            ts: string;
            parent_call_id?: string;
            forked_from?: {
                run_id: string;
                id: number;
            };
            wait_id: number;
            request_keys: {
                [key: string]: unknown;
            };
            resume_id?: string;
            by?: {
                id: string;
                name?: string;
            };
        };
        CancelRequestEvent: {
            id: number;
            run_id: string;
            request_id: string;
            agent: string;
            /** @constant */
            type: "CancelRequest";
            /** @constant */
            role: "user";
            depth: number;
            /** Format: date-time */
            ts: string;
            parent_call_id?: string;
            forked_from?: {
                run_id: string;
                id: number;
            };
            by?: {
                id: string;
                name?: string;
            };
        };
        MessageReceived: {
            id: number;
            run_id: string;
            request_id: string | null;
            agent: string;
            /** @constant */
            type: "MessageReceived";
            /** @constant */
            role: "user";
            depth: number;
            /** Format: date-time */
            ts: string;
            parent_call_id?: string;
            forked_from?: {
                run_id: string;
                id: number;
            };
            message_id: string;
            name: string;
            body: unknown;
            sender?: {
                agent?: string;
                key?: string;
                run_id: string;
                server?: string;
            };
            hops?: {
                n: number;
                /** Format: date-time */
                since: string;
            };
            by?: {
                id: string;
                name?: string;
            };
        };
        TextOutput: {
            id: number;
            run_id: string;
            request_id: string;
            agent: string;
            /** @constant */
            type: "TextOutput";
            /** @constant */
            role: "assistant";
            depth: number;
            /** Format: date-time */
            ts: string;
            parent_call_id?: string;
            forked_from?: {
                run_id: string;
                id: number;
            };
            content: string;
            branch?: string;
            call_id?: string;
            attempt?: number;
        };
        ToolCall: {
            id: number;
            run_id: string;
            request_id: string;
            agent: string;
            /** @constant */
            type: "ToolCall";
            /** @constant */
            role: "tool";
            depth: number;
            /** Format: date-time */
            ts: string;
            parent_call_id?: string;
            forked_from?: {
                run_id: string;
                id: number;
            };
            function_name: string;
            args: unknown;
            tool_call_id: string;
            callee?: {
                /** @enum {string} */
                kind: "agent" | "tool" | "effect" | "remote" | "actor";
                name: string;
                key?: string;
                run_id?: string;
                request_id?: string;
                server?: string;
            };
            attempt?: number;
            /** @enum {string} */
            mode?: "ask" | "tell";
            /** Format: date-time */
            expires_at?: string;
            retry_of?: string;
            supervise?: {
                attempts: number;
                within_ms?: number;
                backoff_ms: number;
                /** @enum {string} */
                then: "escalate" | "stop";
            };
            /** @constant */
            provider_executed?: true;
        };
        ToolResult: {
            id: number;
            run_id: string;
            request_id: string;
            agent: string;
            /** @constant */
            type: "ToolResult";
            /** @constant */
            role: "tool";
            depth: number;
            /** Format: date-time */
            ts: string;
            parent_call_id?: string;
            forked_from?: {
                run_id: string;
                id: number;
            };
            function_name: string;
            text_result: string;
            result: unknown;
            tool_call_id: string;
            files?: {
                name: string;
                artifact_id: string;
                url: string;
                mime_type: string;
                size_bytes: number;
            }[];
            /** @constant */
            provider_executed?: true;
        };
        ToolError: {
            id: number;
            run_id: string;
            request_id: string;
            agent: string;
            /** @constant */
            type: "ToolError";
            /** @constant */
            role: "tool";
            depth: number;
            /** Format: date-time */
            ts: string;
            parent_call_id?: string;
            forked_from?: {
                run_id: string;
                id: number;
            };
            function_name: string;
            content: string;
            /** @enum {string} */
            code: "tool_error" | "invalid_input" | "interrupted" | "canceled" | "timeout" | "overloaded" | "unavailable" | "gone" | "too_large" | "too_deep" | "would_deadlock" | "not_accepted" | "stopped" | "model_unavailable" | "model_denied" | "context_overflow" | "model_refused" | "model_rejected";
            tool_call_id: string;
            /** @constant */
            provider_executed?: true;
        };
        ToolTextOutput: {
            id: number;
            run_id: string;
            request_id: string;
            agent: string;
            /** @constant */
            type: "ToolTextOutput";
            /** @constant */
            role: "tool";
            depth: number;
            /** Format: date-time */
            ts: string;
            parent_call_id?: string;
            forked_from?: {
                run_id: string;
                id: number;
            };
            content: string;
            tool_call_id: string;
            branch?: string;
            /** @constant */
            progress?: true;
        };
        CompletionCall: {
            id: number;
            run_id: string;
            request_id: string;
            agent: string;
            /** @constant */
            type: "CompletionCall";
            /** @constant */
            role: "system";
            depth: number;
            /** Format: date-time */
            ts: string;
            parent_call_id?: string;
            forked_from?: {
                run_id: string;
                id: number;
            };
            model: string;
            call_id: string;
            attempt: number;
            /** Format: date-time */
            expires_at?: string;
        };
        CompletionResult: {
            id: number;
            run_id: string;
            request_id: string;
            agent: string;
            /** @constant */
            type: "CompletionResult";
            /** @constant */
            role: "system";
            depth: number;
            /** Format: date-time */
            ts: string;
            parent_call_id?: string;
            forked_from?: {
                run_id: string;
                id: number;
            };
            model: string;
            call_id: string;
            usage: {
                input_tokens?: number;
                cached_input_tokens?: number;
                output_tokens?: number;
                reasoning_tokens?: number;
                cost?: number;
                interrupted_attempts?: number;
            };
            elapsed_ms: number;
            result: unknown;
            error?: string;
            /** @enum {string} */
            error_code?: "timeout" | "overloaded" | "interrupted" | "model_unavailable" | "model_denied" | "context_overflow" | "model_refused" | "model_rejected";
        };
        CompletionRetry: {
            id: number;
            run_id: string;
            request_id: string;
            agent: string;
            /** @constant */
            type: "CompletionRetry";
            /** @constant */
            role: "system";
            depth: number;
            /** Format: date-time */
            ts: string;
            parent_call_id?: string;
            forked_from?: {
                run_id: string;
                id: number;
            };
            model: string;
            call_id: string;
            attempt: number;
            error: string;
            /** @enum {string} */
            error_code?: "timeout" | "overloaded" | "interrupted" | "model_unavailable" | "model_denied" | "context_overflow" | "model_refused" | "model_rejected";
            usage?: {
                input_tokens?: number;
                cached_input_tokens?: number;
                output_tokens?: number;
                reasoning_tokens?: number;
                cost?: number;
                interrupted_attempts?: number;
            };
            /** Format: date-time */
            until?: string;
        };
        ReasoningOutput: {
            id: number;
            run_id: string;
            request_id: string;
            agent: string;
            /** @constant */
            type: "ReasoningOutput";
            /** @constant */
            role: "system";
            depth: number;
            /** Format: date-time */
            ts: string;
            parent_call_id?: string;
            forked_from?: {
                run_id: string;
                id: number;
            };
            content: string;
            call_id: string;
            attempt: number;
        };
        ArtifactGenerated: {
            id: number;
            run_id: string;
            request_id: string;
            agent: string;
            /** @constant */
            type: "ArtifactGenerated";
            /** @constant */
            role: "assistant";
            depth: number;
            /** Format: date-time */
            ts: string;
            parent_call_id?: string;
            forked_from?: {
                run_id: string;
                id: number;
            };
            name: string;
            artifact_id: string;
            url: string;
            mime_type: string;
            size_bytes: number;
        };
        ArtifactUploaded: {
            id: number;
            run_id: string;
            request_id: null;
            agent: string;
            /** @constant */
            type: "ArtifactUploaded";
            /** @constant */
            role: "user";
            depth: number;
            /** Format: date-time */
            ts: string;
            parent_call_id?: string;
            forked_from?: {
                run_id: string;
                id: number;
            };
            name: string;
            artifact_id: string;
            url: string;
            mime_type: string;
            size_bytes: number;
        };
        StateChanged: {
            id: number;
            run_id: string;
            request_id: string;
            agent: string;
            /** @constant */
            type: "StateChanged";
            /** @constant */
            role: "system";
            depth: number;
            /** Format: date-time */
            ts: string;
            parent_call_id?: string;
            forked_from?: {
                run_id: string;
                id: number;
            };
            value: unknown;
            cause: string;
            steps: {
                from: string;
                event?: string;
                to?: string;
            }[];
            /** @constant */
            steps_truncated?: true;
            /** @enum {string} */
            status: "active" | "done" | "error";
            chart: string;
            machine?: string;
        };
        Sleeping: {
            id: number;
            run_id: string;
            request_id: string;
            agent: string;
            /** @constant */
            type: "Sleeping";
            /** @constant */
            role: "system";
            depth: number;
            /** Format: date-time */
            ts: string;
            parent_call_id?: string;
            forked_from?: {
                run_id: string;
                id: number;
            };
            call_id: string;
            /** Format: date-time */
            until: string;
        };
        RequestHeld: {
            id: number;
            run_id: string;
            request_id: string;
            agent: string;
            /** @constant */
            type: "RequestHeld";
            /** @constant */
            role: "system";
            depth: number;
            /** Format: date-time */
            ts: string;
            parent_call_id?: string;
            forked_from?: {
                run_id: string;
                id: number;
            };
            /** @enum {string} */
            code: "nondeterministic" | "version_mismatch" | "agent_missing" | "snapshot_mismatch";
            message: string;
            scope?: string;
            expected?: string;
            found?: string;
            at?: string;
        };
        RequestContinued: {
            id: number;
            run_id: string;
            request_id: string;
            agent: string;
            /** @constant */
            type: "RequestContinued";
            /** @constant */
            role: "system";
            depth: number;
            /** Format: date-time */
            ts: string;
            parent_call_id?: string;
            forked_from?: {
                run_id: string;
                id: number;
            };
        };
        RequestCanceling: {
            id: number;
            run_id: string;
            request_id: string;
            agent: string;
            /** @constant */
            type: "RequestCanceling";
            /** @constant */
            role: "system";
            depth: number;
            /** Format: date-time */
            ts: string;
            parent_call_id?: string;
            forked_from?: {
                run_id: string;
                id: number;
            };
            /** @enum {string} */
            finish_reason: "canceled" | "error";
            error?: {
                /** @enum {string} */
                code: "agent_error" | "nondeterministic" | "interrupted" | "poisoned" | "agent_crashed" | "timeout" | "budget" | "overloaded" | "unsupported_input" | "version_mismatch" | "agent_missing" | "snapshot_mismatch" | "not_accepted" | "stopped" | "canceled" | "model_unavailable" | "model_denied" | "context_overflow" | "model_refused" | "model_rejected";
                message: string;
            };
        };
        RequestRestarted: {
            id: number;
            run_id: string;
            request_id: string;
            agent: string;
            /** @constant */
            type: "RequestRestarted";
            /** @constant */
            role: "system";
            depth: number;
            /** Format: date-time */
            ts: string;
            parent_call_id?: string;
            forked_from?: {
                run_id: string;
                id: number;
            };
            error: {
                /** @enum {string} */
                code: "agent_error" | "nondeterministic" | "interrupted" | "poisoned" | "agent_crashed" | "timeout" | "budget" | "overloaded" | "unsupported_input" | "version_mismatch" | "agent_missing" | "snapshot_mismatch" | "not_accepted" | "stopped" | "canceled" | "model_unavailable" | "model_denied" | "context_overflow" | "model_refused" | "model_rejected";
                message: string;
            };
            restart: number;
            /** Format: date-time */
            until?: string;
        };
        ActorStopped: {
            id: number;
            run_id: string;
            request_id: string;
            agent: string;
            /** @constant */
            type: "ActorStopped";
            /** @constant */
            role: "system";
            depth: number;
            /** Format: date-time */
            ts: string;
            parent_call_id?: string;
            forked_from?: {
                run_id: string;
                id: number;
            };
            error: {
                /** @enum {string} */
                code: "agent_error" | "nondeterministic" | "interrupted" | "poisoned" | "agent_crashed" | "timeout" | "budget" | "overloaded" | "unsupported_input" | "version_mismatch" | "agent_missing" | "snapshot_mismatch" | "not_accepted" | "stopped" | "canceled" | "model_unavailable" | "model_denied" | "context_overflow" | "model_refused" | "model_rejected";
                message: string;
            };
        };
        ActorResumed: {
            id: number;
            run_id: string;
            request_id: string;
            agent: string;
            /** @constant */
            type: "ActorResumed";
            /** @constant */
            role: "system";
            depth: number;
            /** Format: date-time */
            ts: string;
            parent_call_id?: string;
            forked_from?: {
                run_id: string;
                id: number;
            };
            by?: {
                id: string;
                name?: string;
            };
        };
        Custom: {
            id: number;
            run_id: string;
            request_id: string;
            agent: string;
            /** @constant */
            type: "Custom";
            /** @constant */
            role: "system";
            depth: number;
            /** Format: date-time */
            ts: string;
            parent_call_id?: string;
            forked_from?: {
                run_id: string;
                id: number;
            };
            name: string;
            body: unknown;
        };
        RunCreated: {
            id: number;
            run_id: string;
            request_id: null;
            agent: string;
            /** @constant */
            type: "RunCreated";
            /** @constant */
            role: "system";
            depth: number;
            /** Format: date-time */
            ts: string;
            parent_call_id?: string;
            forked_from?: {
                run_id: string;
                id: number;
            };
            input: unknown;
            metadata: {
                [key: string]: unknown;
            };
            key?: string;
            continues?: string;
            carried?: number;
            by?: {
                id: string;
                name?: string;
            };
        };
        Renewed: {
            id: number;
            run_id: string;
            request_id: null;
            agent: string;
            /** @constant */
            type: "Renewed";
            /** @constant */
            role: "system";
            depth: number;
            /** Format: date-time */
            ts: string;
            parent_call_id?: string;
            forked_from?: {
                run_id: string;
                id: number;
            };
            to: string;
            key: string;
        };
        RequestCompleted: {
            id: number;
            run_id: string;
            request_id: string;
            agent: string;
            /** @constant */
            type: "RequestCompleted";
            /** @constant */
            role: "system";
            depth: number;
            /** Format: date-time */
            ts: string;
            parent_call_id?: string;
            forked_from?: {
                run_id: string;
                id: number;
            };
            /** @enum {string} */
            finish_reason: "success" | "error" | "canceled";
            result: string | null;
            result_truncated?: boolean;
            output: unknown;
            error?: {
                /** @enum {string} */
                code: "agent_error" | "nondeterministic" | "interrupted" | "poisoned" | "agent_crashed" | "timeout" | "budget" | "overloaded" | "unsupported_input" | "version_mismatch" | "agent_missing" | "snapshot_mismatch" | "not_accepted" | "stopped" | "canceled" | "model_unavailable" | "model_denied" | "context_overflow" | "model_refused" | "model_rejected";
                message: string;
            };
            usage?: {
                input_tokens?: number;
                cached_input_tokens?: number;
                output_tokens?: number;
                reasoning_tokens?: number;
                cost?: number;
                interrupted_attempts?: number;
            };
            cleanup_errors?: string[];
            by?: {
                id: string;
                name?: string;
            };
        };
        ConfigureCompleted: {
            /** @constant */
            id: 0;
            run_id: string | null;
            request_id: string;
            agent: string;
            /** @constant */
            type: "RequestCompleted";
            /** @constant */
            role: "system";
            depth: number;
            /** Format: date-time */
            ts: string;
            parent_call_id?: string;
            forked_from?: {
                run_id: string;
                id: number;
            };
            /** @enum {string} */
            finish_reason: "success" | "error" | "canceled";
            result: string | null;
            result_truncated?: boolean;
            output: unknown;
            error?: {
                /** @enum {string} */
                code: "agent_error" | "nondeterministic" | "interrupted" | "poisoned" | "agent_crashed" | "timeout" | "budget" | "overloaded" | "unsupported_input" | "version_mismatch" | "agent_missing" | "snapshot_mismatch" | "not_accepted" | "stopped" | "canceled" | "model_unavailable" | "model_denied" | "context_overflow" | "model_refused" | "model_rejected";
                message: string;
            };
            usage?: {
                input_tokens?: number;
                cached_input_tokens?: number;
                output_tokens?: number;
                reasoning_tokens?: number;
                cost?: number;
                interrupted_attempts?: number;
            };
            cleanup_errors?: string[];
            by?: {
                id: string;
                name?: string;
            };
        };
        AgentEntry: {
            name: string;
            path: string;
        };
        AgentDescriptor: {
            name: string;
            purpose: string;
            version?: string;
            endpoints: string[];
            operations: {
                name: string;
                description: string;
                read?: boolean;
                input_schema?: {
                    [key: string]: unknown;
                };
                output_schema?: {
                    [key: string]: unknown;
                };
            }[];
            messages?: {
                name: string;
                body_schema?: {
                    [key: string]: unknown;
                };
            }[];
            tools: string[];
            keys?: boolean;
            client_tools?: boolean;
            statechart?: {
                hash: string;
                root: {
                    id: string;
                    /** @enum {string} */
                    type: "atomic" | "compound" | "parallel" | "final" | "history";
                    initial?: string;
                    tags?: string[];
                    description?: string;
                    states: {
                        [key: string]: unknown;
                    }[];
                    edges: {
                        event?: string;
                        to?: string;
                        guard?: string;
                        actions?: string[];
                    }[];
                };
                machines?: {
                    hash: string;
                    root: {
                        id: string;
                        /** @enum {string} */
                        type: "atomic" | "compound" | "parallel" | "final" | "history";
                        initial?: string;
                        tags?: string[];
                        description?: string;
                        states: {
                            [key: string]: unknown;
                        }[];
                        edges: {
                            event?: string;
                            to?: string;
                            guard?: string;
                            actions?: string[];
                        }[];
                    };
                }[];
            };
            config_schema?: {
                [key: string]: unknown;
            };
        };
        Accepted: {
            request_id: string;
            run_id: string | null;
        };
        RequestStatus: {
            request_id: string;
            run_id: string;
            agent: string;
            operation: string;
            /** @enum {string} */
            status: "queued" | "running" | "waiting" | "held" | "completed";
            /** @enum {string} */
            finish_reason?: "success" | "error" | "canceled";
            result?: string | null;
            output?: unknown;
            error?: {
                /** @enum {string} */
                code: "agent_error" | "nondeterministic" | "interrupted" | "poisoned" | "agent_crashed" | "timeout" | "budget" | "overloaded" | "unsupported_input" | "version_mismatch" | "agent_missing" | "snapshot_mismatch" | "not_accepted" | "stopped" | "canceled" | "model_unavailable" | "model_denied" | "context_overflow" | "model_refused" | "model_rejected";
                message: string;
            };
            request_keys?: {
                [key: string]: string;
            };
            question?: string;
            wait_id?: number;
            state?: unknown;
            accepts?: string[];
            waiting_for?: {
                /** @constant */
                kind: "input";
                wait_id: number;
                approvers?: string[];
                /** Format: date-time */
                expires_at?: string;
            } | {
                /** @constant */
                kind: "tool";
                wait_id: number;
                name: string;
                args: unknown;
                /** Format: date-time */
                expires_at?: string;
            } | {
                /** @constant */
                kind: "sleep";
                /** Format: date-time */
                expires_at: string;
            } | {
                /** @constant */
                kind: "message";
                name: string;
                names?: string[];
                /** Format: date-time */
                expires_at?: string;
            } | {
                /** @constant */
                kind: "model";
                model: string;
                fallback?: string[];
                /** Format: date-time */
                retry_at: string;
                /** Format: date-time */
                expires_at: string;
            } | {
                /** @constant */
                kind: "actor";
                agent: string;
                key?: string;
                run_id?: string;
                request_id: string;
                /** Format: date-time */
                expires_at?: string;
            };
            held?: {
                /** @enum {string} */
                code: "nondeterministic" | "version_mismatch" | "agent_missing" | "snapshot_mismatch";
                message: string;
                scope?: string;
                expected?: string;
                found?: string;
                at?: string;
                /** Format: date-time */
                since: string;
            };
            /** Format: date-time */
            wake_at?: string;
            /** Format: date-time */
            created_at: string;
            /** Format: date-time */
            completed_at?: string;
            last_event_id: number;
        };
        RunSummary: {
            run_id: string;
            agent: string;
            /** @enum {string} */
            status: "idle" | "running" | "waiting" | "held";
            /** Format: date-time */
            created_at: string;
            /** Format: date-time */
            updated_at: string;
            initial_input: unknown;
            turns: number;
            key?: string;
            forked_from?: {
                run_id: string;
                id: number;
            };
            last_event_id: number;
            last_turn?: {
                request_id: string;
                operation: string;
                agent_version?: string;
                /** Format: date-time */
                started_at: string;
                /** Format: date-time */
                ended_at?: string;
                /** @enum {string} */
                finish_reason?: "success" | "error" | "canceled";
                /** @enum {string} */
                error_code?: "agent_error" | "nondeterministic" | "interrupted" | "poisoned" | "agent_crashed" | "timeout" | "budget" | "overloaded" | "unsupported_input" | "version_mismatch" | "agent_missing" | "snapshot_mismatch" | "not_accepted" | "stopped" | "canceled" | "model_unavailable" | "model_denied" | "context_overflow" | "model_refused" | "model_rejected";
                error_message?: string;
                result?: string;
                canceling?: {
                    /** Format: date-time */
                    since: string;
                };
                held?: {
                    /** @enum {string} */
                    code: "nondeterministic" | "version_mismatch" | "agent_missing" | "snapshot_mismatch";
                    message: string;
                    scope?: string;
                    expected?: string;
                    found?: string;
                    at?: string;
                    /** Format: date-time */
                    since: string;
                };
                stopped?: {
                    /** Format: date-time */
                    since: string;
                };
            };
            open_waits: number;
            queued: number;
            /** Format: date-time */
            wake_at?: string;
            usage?: {
                input_tokens?: number;
                cached_input_tokens?: number;
                output_tokens?: number;
                reasoning_tokens?: number;
                cost?: number;
                interrupted_attempts?: number;
            };
        };
        RunStatus: {
            run_id: string;
            agent: string;
            /** @enum {string} */
            status: "idle" | "running" | "waiting" | "held";
            /** Format: date-time */
            created_at: string;
            /** Format: date-time */
            updated_at: string;
            initial_input: unknown;
            turns: number;
            key?: string;
            forked_from?: {
                run_id: string;
                id: number;
            };
            last_event_id: number;
            last_turn?: {
                request_id: string;
                operation: string;
                agent_version?: string;
                /** Format: date-time */
                started_at: string;
                /** Format: date-time */
                ended_at?: string;
                /** @enum {string} */
                finish_reason?: "success" | "error" | "canceled";
                /** @enum {string} */
                error_code?: "agent_error" | "nondeterministic" | "interrupted" | "poisoned" | "agent_crashed" | "timeout" | "budget" | "overloaded" | "unsupported_input" | "version_mismatch" | "agent_missing" | "snapshot_mismatch" | "not_accepted" | "stopped" | "canceled" | "model_unavailable" | "model_denied" | "context_overflow" | "model_refused" | "model_rejected";
                error_message?: string;
                result?: string;
                canceling?: {
                    /** Format: date-time */
                    since: string;
                };
                held?: {
                    /** @enum {string} */
                    code: "nondeterministic" | "version_mismatch" | "agent_missing" | "snapshot_mismatch";
                    message: string;
                    scope?: string;
                    expected?: string;
                    found?: string;
                    at?: string;
                    /** Format: date-time */
                    since: string;
                };
                stopped?: {
                    /** Format: date-time */
                    since: string;
                };
            };
            open_waits: number;
            queued: number;
            /** Format: date-time */
            wake_at?: string;
            usage?: {
                input_tokens?: number;
                cached_input_tokens?: number;
                output_tokens?: number;
                reasoning_tokens?: number;
                cost?: number;
                interrupted_attempts?: number;
            };
            requests: {
                request_id: string;
                /** @enum {string} */
                status: "queued" | "running" | "waiting" | "held" | "completed";
                /** Format: date-time */
                created_at: string;
                started?: number;
                completed?: number;
            }[];
        };
        UploadedArtifact: {
            artifact_id: string;
            url: string;
        };
        Problem: {
            type: string;
            title: string;
            status: number;
            /** @enum {string} */
            code: "invalid_request" | "unauthorized" | "forbidden" | "not_an_approver" | "not_found" | "method_not_allowed" | "request_timeout" | "conflict" | "gone" | "too_large" | "unsupported_media_type" | "misdirected" | "unprocessable" | "overloaded" | "run_full" | "too_deep" | "would_deadlock" | "not_accepted" | "stopped" | "internal" | "unavailable" | "timeout" | "insufficient_storage";
            detail: string;
            hint?: string;
            errors?: {
                path: string;
                message: string;
            }[];
            help?: string;
        };
    };
    responses: {
        Refusal: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
    };
    parameters: never;
    requestBodies: never;
    headers: never;
    pathItems: never;
}
export type $defs = Record<string, never>;
export interface operations {
    getAgents: {
        parameters: {
            query?: {
                format?: "pairs";
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
                    "application/json": components["schemas"]["AgentEntry"][] | [
                        string,
                        string
                    ][];
                };
            };
            "4XX": components["responses"]["Refusal"];
            "5XX": components["responses"]["Refusal"];
        };
    };
    getOpenapi: {
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
            "4XX": components["responses"]["Refusal"];
            "5XX": components["responses"]["Refusal"];
        };
    };
    getSchemasByName: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                name: string;
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
                    "application/schema+json": Record<string, never>;
                };
            };
            "4XX": components["responses"]["Refusal"];
            "5XX": components["responses"]["Refusal"];
        };
    };
    getHealthz: {
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
                    "application/json": {
                        /** @constant */
                        status: "ok";
                        durability: string;
                        log: {
                            writable: boolean;
                            reason?: string;
                            warnings?: string[];
                        };
                        active_runs: number;
                        active_turns: number;
                    };
                };
            };
            "4XX": components["responses"]["Refusal"];
            "5XX": components["responses"]["Refusal"];
        };
    };
    getReadyz: {
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
                    "application/json": {
                        /** @enum {string} */
                        status: "ok" | "degraded";
                        parts: {
                            name: string;
                            /** @enum {string} */
                            state: "ready" | "degraded" | "failed";
                            detail?: string;
                        }[];
                    };
                };
            };
            "4XX": components["responses"]["Refusal"];
            "5XX": components["responses"]["Refusal"];
        };
    };
    getMetrics: {
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
            "4XX": components["responses"]["Refusal"];
            "5XX": components["responses"]["Refusal"];
        };
    };
    getRunsByRunId: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                run_id: string;
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
                    "application/json": components["schemas"]["RunStatus"];
                };
            };
            "4XX": components["responses"]["Refusal"];
            "5XX": components["responses"]["Refusal"];
        };
    };
    deleteRunsByRunId: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                run_id: string;
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
            "4XX": components["responses"]["Refusal"];
            "5XX": components["responses"]["Refusal"];
        };
    };
    postRunsByRunIdFork: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                run_id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    after?: number;
                    wait_id?: number;
                    takes_key?: boolean;
                };
            };
        };
        responses: {
            201: {
                headers: {
                    Location?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        run_id: string;
                        forked_from: {
                            run_id: string;
                            id: number;
                        };
                    };
                };
            };
            "4XX": components["responses"]["Refusal"];
            "5XX": components["responses"]["Refusal"];
        };
    };
    postRunsByRunIdRetry: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                run_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        tried: number;
                    };
                };
            };
            "4XX": components["responses"]["Refusal"];
            "5XX": components["responses"]["Refusal"];
        };
    };
    postRunsByRunIdEnd: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                run_id: string;
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
                    "application/json": components["schemas"]["RequestCompleted"];
                };
            };
            "4XX": components["responses"]["Refusal"];
            "5XX": components["responses"]["Refusal"];
        };
    };
    postRunsByRunIdResume: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                run_id: string;
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
            "4XX": components["responses"]["Refusal"];
            "5XX": components["responses"]["Refusal"];
        };
    };
    postErase: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    owner?: string;
                    agent?: string;
                    run_id?: string;
                    key?: string;
                    metadata?: Record<string, never>;
                };
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        runs: number;
                    };
                };
            };
            "4XX": components["responses"]["Refusal"];
            "5XX": components["responses"]["Refusal"];
        };
    };
    getAudit: {
        parameters: {
            query?: {
                owner?: string;
                by?: string;
                action?: "process" | "message" | "answer" | "cancel" | "create" | "configure" | "fork" | "remove" | "end" | "retry" | "resend" | "dismiss" | "link" | "erase" | "create_key" | "revoke_key" | "sign_in" | "sign_out" | "refuse" | "resume" | "schedule";
                run_id?: string;
                from?: string;
                before?: string;
                limit?: number;
                cursor?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    Link?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        at: string;
                        owner: string;
                        by: {
                            id: string;
                            name?: string;
                        };
                        /** @enum {string} */
                        action: "process" | "message" | "answer" | "cancel" | "create" | "configure" | "fork" | "remove" | "end" | "retry" | "resend" | "dismiss" | "link" | "erase" | "create_key" | "revoke_key" | "sign_in" | "sign_out" | "refuse" | "resume" | "schedule";
                        agent?: string;
                        run_id?: string;
                        request_id?: string;
                        event?: number;
                        detail?: string;
                        count?: number;
                    }[];
                };
            };
            "4XX": components["responses"]["Refusal"];
            "5XX": components["responses"]["Refusal"];
        };
    };
    getStatistics: {
        parameters: {
            query?: {
                by?: "agent" | "model" | "operation" | "error" | "owner" | "hour" | "day";
                since?: string;
                until?: string;
                owner?: string;
                agent?: string;
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
                    "application/json": {
                        by: string;
                        since?: string;
                        from: string;
                        until: string;
                        total: {
                            name: string;
                            agent?: string;
                            turns: {
                                success: number;
                                error: number;
                                canceled: number;
                                ms: number;
                            };
                            errors?: {
                                [key: string]: number;
                            };
                            completions: {
                                success: number;
                                error: number;
                                canceled: number;
                                ms: number;
                            };
                            usage: Record<string, never>;
                            unknown_costs: number;
                            latency?: {
                                p50_ms: number;
                                p90_ms: number;
                                p95_ms: number;
                                p99_ms: number;
                            };
                            run_ids?: string[];
                        };
                        rows: {
                            name: string;
                            agent?: string;
                            turns: {
                                success: number;
                                error: number;
                                canceled: number;
                                ms: number;
                            };
                            errors?: {
                                [key: string]: number;
                            };
                            completions: {
                                success: number;
                                error: number;
                                canceled: number;
                                ms: number;
                            };
                            usage: Record<string, never>;
                            unknown_costs: number;
                            latency?: {
                                p50_ms: number;
                                p90_ms: number;
                                p95_ms: number;
                                p99_ms: number;
                            };
                            run_ids?: string[];
                        }[];
                        groups?: number;
                    };
                };
            };
            "4XX": components["responses"]["Refusal"];
            "5XX": components["responses"]["Refusal"];
        };
    };
    getDeadLetters: {
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
                    "application/json": {
                        run_id: string;
                        request_id: string;
                        /** @enum {string} */
                        kind: "refused" | "failed";
                        agent: string;
                        key?: string;
                        to_run_id?: string;
                        operation: string;
                        input: unknown;
                        sender?: Record<string, never>;
                        error?: {
                            code: string;
                            message: string;
                        };
                        at: string;
                    }[];
                };
            };
            "4XX": components["responses"]["Refusal"];
            "5XX": components["responses"]["Refusal"];
        };
    };
    postRunsByRunIdDeadLettersByRequestId: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                run_id: string;
                request_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        request_id: string;
                    };
                };
            };
            "4XX": components["responses"]["Refusal"];
            "5XX": components["responses"]["Refusal"];
        };
    };
    deleteRunsByRunIdDeadLettersByRequestId: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                run_id: string;
                request_id: string;
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
            "4XX": components["responses"]["Refusal"];
            "5XX": components["responses"]["Refusal"];
        };
    };
    postRunsByRunIdSchedulesByScheduleIdPause: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                run_id: string;
                schedule_id: string;
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
                    "application/json": {
                        id: string;
                        agent: string;
                        key?: string;
                        run_id: string;
                        owner?: string;
                        operation: string;
                        input: unknown;
                        cron?: string;
                        timezone?: string;
                        every_ms?: number;
                        at?: string;
                        /** @enum {string} */
                        overlap: "skip" | "queue";
                        defined: boolean;
                        paused: boolean;
                        next_at?: string;
                        last?: {
                            at: string;
                            request_id: string;
                            error?: {
                                code: string;
                                message: string;
                            };
                        };
                        sender?: Record<string, never>;
                        by?: Record<string, never>;
                    };
                };
            };
            "4XX": components["responses"]["Refusal"];
            "5XX": components["responses"]["Refusal"];
        };
    };
    postRunsByRunIdSchedulesByScheduleIdResume: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                run_id: string;
                schedule_id: string;
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
                    "application/json": {
                        id: string;
                        agent: string;
                        key?: string;
                        run_id: string;
                        owner?: string;
                        operation: string;
                        input: unknown;
                        cron?: string;
                        timezone?: string;
                        every_ms?: number;
                        at?: string;
                        /** @enum {string} */
                        overlap: "skip" | "queue";
                        defined: boolean;
                        paused: boolean;
                        next_at?: string;
                        last?: {
                            at: string;
                            request_id: string;
                            error?: {
                                code: string;
                                message: string;
                            };
                        };
                        sender?: Record<string, never>;
                        by?: Record<string, never>;
                    };
                };
            };
            "4XX": components["responses"]["Refusal"];
            "5XX": components["responses"]["Refusal"];
        };
    };
    postRunsByRunIdSchedulesByScheduleIdRun: {
        parameters: {
            query?: {
                request_id?: string;
            };
            header?: never;
            path: {
                run_id: string;
                schedule_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        request_id: string;
                    };
                };
            };
            "4XX": components["responses"]["Refusal"];
            "5XX": components["responses"]["Refusal"];
        };
    };
    deleteRunsByRunIdSchedulesByScheduleId: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                run_id: string;
                schedule_id: string;
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
            "4XX": components["responses"]["Refusal"];
            "5XX": components["responses"]["Refusal"];
        };
    };
    postAnswerLinks: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    request_id: string;
                    wait_id?: number;
                    expires_ms?: number;
                    name?: string;
                    roles?: string[];
                };
            };
        };
        responses: {
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        path: string;
                    };
                };
            };
            "4XX": components["responses"]["Refusal"];
            "5XX": components["responses"]["Refusal"];
        };
    };
    getTopics: {
        parameters: {
            query?: {
                owner?: string;
                limit?: number;
                cursor?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    Link?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        name: string;
                        run_id?: string;
                        owner?: string;
                        messages?: {
                            name: string;
                            body_schema?: Record<string, never>;
                        }[];
                        /** @enum {integer} */
                        retain?: 0 | 1;
                        updated_at?: string;
                    }[];
                };
            };
            "4XX": components["responses"]["Refusal"];
            "5XX": components["responses"]["Refusal"];
        };
    };
    postTopics: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    name: string;
                };
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        name: string;
                        run_id?: string;
                        owner?: string;
                        messages?: {
                            name: string;
                            body_schema?: Record<string, never>;
                        }[];
                        /** @enum {integer} */
                        retain?: 0 | 1;
                        updated_at?: string;
                        subscriber_count: number;
                        subscribers: {
                            agent: string;
                            key?: string;
                            run_id: string;
                            names: string[];
                        }[];
                        newest: number;
                    };
                };
            };
            "4XX": components["responses"]["Refusal"];
            "5XX": components["responses"]["Refusal"];
        };
    };
    getTopicsByTopic: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                topic: string;
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
                    "application/json": {
                        name: string;
                        run_id?: string;
                        owner?: string;
                        messages?: {
                            name: string;
                            body_schema?: Record<string, never>;
                        }[];
                        /** @enum {integer} */
                        retain?: 0 | 1;
                        updated_at?: string;
                        subscriber_count: number;
                        subscribers: {
                            agent: string;
                            key?: string;
                            run_id: string;
                            names: string[];
                        }[];
                        newest: number;
                    };
                };
            };
            "4XX": components["responses"]["Refusal"];
            "5XX": components["responses"]["Refusal"];
        };
    };
    getTopicsByTopicPublications: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                topic: string;
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
                    "application/json": {
                        run_id: string;
                        id: number;
                        name: string;
                        body: unknown;
                        at: string;
                    }[];
                };
            };
            "4XX": components["responses"]["Refusal"];
            "5XX": components["responses"]["Refusal"];
        };
    };
    postTopicsByTopicPublications: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                topic: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    name: string;
                    body?: unknown;
                    request_id?: string;
                };
            };
        };
        responses: {
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        request_id: string;
                        run_id: string;
                    };
                };
            };
            "4XX": components["responses"]["Refusal"];
            "5XX": components["responses"]["Refusal"];
        };
    };
    getDescribe: {
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
                    "application/json": components["schemas"]["AgentDescriptor"];
                };
            };
            "4XX": components["responses"]["Refusal"];
            "5XX": components["responses"]["Refusal"];
        };
    };
    postProcess: {
        parameters: {
            query?: {
                request_id?: string;
                run_id?: string;
                key?: string;
                logging_level?: "minimal" | "default" | "tools" | "llm" | "agents" | "all";
                on_busy?: "enqueue" | "reject" | "interrupt";
                wait?: boolean | ("none" | "acknowledged" | "completed");
                wait_ms?: number;
                wait_id?: number;
                resume_id?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["Request"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Event"] | components["schemas"]["ConfigureCompleted"];
                };
            };
            202: {
                headers: {
                    Location?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Accepted"];
                };
            };
            "4XX": components["responses"]["Refusal"];
            "5XX": components["responses"]["Refusal"];
        };
    };
    postConfigure: {
        parameters: {
            query?: {
                run_id?: string;
                wait?: boolean | ("none" | "acknowledged" | "completed");
                wait_ms?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ConfigureRequest"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ConfigureCompleted"];
                };
            };
            202: {
                headers: {
                    Location?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Accepted"];
                };
            };
            "4XX": components["responses"]["Refusal"];
            "5XX": components["responses"]["Refusal"];
        };
    };
    postStreamRequest: {
        parameters: {
            query?: {
                request_id?: string;
                run_id?: string;
                key?: string;
                logging_level?: "minimal" | "default" | "tools" | "llm" | "agents" | "all";
                on_busy?: "enqueue" | "reject" | "interrupt";
                wait_id?: number;
                resume_id?: string;
            };
            header?: {
                "Last-Event-ID"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ChatRequest"] | components["schemas"]["OperationRequest"] | components["schemas"]["ResumeWithInput"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/event-stream": string;
                };
            };
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            "4XX": components["responses"]["Refusal"];
            "5XX": components["responses"]["Refusal"];
        };
    };
    getGetevents: {
        parameters: {
            query?: {
                request_id?: string;
                run_id?: string;
                since?: number;
                stream?: boolean;
                follow?: boolean;
                timeout?: number;
                consumer?: string;
                types?: string;
                max_depth?: number;
                agent?: string;
            };
            header?: {
                "Last-Event-ID"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    Link?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Event"][];
                    "text/event-stream": string;
                };
            };
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            "4XX": components["responses"]["Refusal"];
            "5XX": components["responses"]["Refusal"];
        };
    };
    getGeteventsById: {
        parameters: {
            query?: {
                since?: number;
                stream?: boolean;
                follow?: boolean;
                timeout?: number;
                consumer?: string;
                types?: string;
                max_depth?: number;
                agent?: string;
            };
            header?: {
                "Last-Event-ID"?: string;
            };
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    Link?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Event"][];
                    "text/event-stream": string;
                };
            };
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            "4XX": components["responses"]["Refusal"];
            "5XX": components["responses"]["Refusal"];
        };
    };
    getEvents: {
        parameters: {
            query?: {
                request_id?: string;
                run_id?: string;
                since?: number;
                stream?: boolean;
                follow?: boolean;
                timeout?: number;
                consumer?: string;
                types?: string;
                max_depth?: number;
                agent?: string;
            };
            header?: {
                "Last-Event-ID"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    Link?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Event"][];
                    "text/event-stream": string;
                };
            };
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            "4XX": components["responses"]["Refusal"];
            "5XX": components["responses"]["Refusal"];
        };
    };
    getEventsById: {
        parameters: {
            query?: {
                since?: number;
                stream?: boolean;
                follow?: boolean;
                timeout?: number;
                consumer?: string;
                types?: string;
                max_depth?: number;
                agent?: string;
            };
            header?: {
                "Last-Event-ID"?: string;
            };
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    Link?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Event"][];
                    "text/event-stream": string;
                };
            };
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            "4XX": components["responses"]["Refusal"];
            "5XX": components["responses"]["Refusal"];
        };
    };
    getRequestByRequestId: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                request_id: string;
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
                    "application/json": components["schemas"]["RequestStatus"];
                };
            };
            "4XX": components["responses"]["Refusal"];
            "5XX": components["responses"]["Refusal"];
        };
    };
    getRuns: {
        parameters: {
            query?: {
                stream?: boolean;
                limit?: number;
                agent?: string;
                status?: "idle" | "running" | "waiting" | "held";
                finish_reason?: "success" | "error" | "canceled";
                q?: string;
                owner?: string;
                error_code?: string;
                updated_after?: string;
                metadata?: string;
                order?: "updated" | "oldest";
                total?: "true" | "false" | "all";
                key?: string;
                cursor?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    Link?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RunSummary"][];
                    "text/event-stream": string;
                };
            };
            "4XX": components["responses"]["Refusal"];
            "5XX": components["responses"]["Refusal"];
        };
    };
    getWaits: {
        parameters: {
            query?: {
                limit?: number;
                agent?: string;
                run_id?: string;
                asked_by?: string;
                approver?: string;
                total?: "true" | "false" | "all";
                cursor?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    Link?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WaitForInput"][];
                };
            };
            "4XX": components["responses"]["Refusal"];
            "5XX": components["responses"]["Refusal"];
        };
    };
    getSchedules: {
        parameters: {
            query?: {
                limit?: number;
                agent?: string;
                key?: string;
                run_id?: string;
                owner?: string;
                cursor?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    Link?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        id: string;
                        agent: string;
                        key?: string;
                        run_id: string;
                        owner?: string;
                        operation: string;
                        input: unknown;
                        cron?: string;
                        timezone?: string;
                        every_ms?: number;
                        at?: string;
                        /** @enum {string} */
                        overlap: "skip" | "queue";
                        defined: boolean;
                        paused: boolean;
                        next_at?: string;
                        last?: {
                            at: string;
                            request_id: string;
                            error?: {
                                code: string;
                                message: string;
                            };
                        };
                        sender?: Record<string, never>;
                        by?: Record<string, never>;
                    }[];
                };
            };
            "4XX": components["responses"]["Refusal"];
            "5XX": components["responses"]["Refusal"];
        };
    };
    postSchedules: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    key?: string;
                    run_id?: string;
                    id?: string;
                    operation: string;
                    input?: unknown;
                    cron?: string;
                    timezone?: string;
                    every_ms?: number;
                    /** Format: date-time */
                    at?: string;
                    after_ms?: number;
                    /** @enum {string} */
                    overlap?: "skip" | "queue";
                };
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        id: string;
                        agent: string;
                        key?: string;
                        run_id: string;
                        owner?: string;
                        operation: string;
                        input: unknown;
                        cron?: string;
                        timezone?: string;
                        every_ms?: number;
                        at?: string;
                        /** @enum {string} */
                        overlap: "skip" | "queue";
                        defined: boolean;
                        paused: boolean;
                        next_at?: string;
                        last?: {
                            at: string;
                            request_id: string;
                            error?: {
                                code: string;
                                message: string;
                            };
                        };
                        sender?: Record<string, never>;
                        by?: Record<string, never>;
                    };
                };
            };
            "4XX": components["responses"]["Refusal"];
            "5XX": components["responses"]["Refusal"];
        };
    };
    postArtifacts: {
        parameters: {
            query?: {
                name?: string;
                run_id?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "*/*": unknown;
            };
        };
        responses: {
            201: {
                headers: {
                    Location?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["UploadedArtifact"];
                };
            };
            "4XX": components["responses"]["Refusal"];
            "5XX": components["responses"]["Refusal"];
        };
    };
    getArtifactsByArtifactId: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                artifact_id: string;
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
                    "*/*": unknown;
                };
            };
            "4XX": components["responses"]["Refusal"];
            "5XX": components["responses"]["Refusal"];
        };
    };
}

/** The phases of runs and requests, and the kinds of messages, which are stored by their index. */
export const RUN_PHASES = ["idle", "running", "waiting"] as const;
export const REQUEST_PHASES = ["queued", "running", "waiting", "completed"] as const;
export const OUTBOX_KINDS = ["reply", "cancel"] as const;

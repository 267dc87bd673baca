import type { QueryValue } from "./query.ts";
import { NO_SUMS } from "../../ports/statistics.ts";

/**
 * What an SQL engine names and writes in its own way. Everything else of the index of runs is the same in all of them: its
 * statements (queries.ts), its rows (rows.ts) and the changes of an append (changes.ts). Each text is a part of a statement,
 * in which `?` stands for a value.
 */
export interface SqlDialect {
  readonly run: RunTable;
  readonly request: RequestTable;
  readonly wait: WaitTable;
  readonly outbox: OutboxTable;
  readonly schedule: ScheduleTable;
  readonly alias: AliasTable;
  readonly reference: ReferenceTable;
  readonly audit: AuditTable;
  readonly text: TextTable;
  /** What owners have spent. Its columns have the same names in all engines. */
  readonly spent: string;
  /** What turns and completions have done; its sums are in tables beside it. Their columns have the same names in all engines. */
  readonly statistics: string;
  /** The condition that a text, which is a value, is a part of a column. */
  holds(column: string): string;
  /** The condition that a column has one of the texts of a list, which is one value. */
  anyOf(column: string): string;
  /** The condition that no node of a list, which is one value, owns a run; absent in an engine for one process. */
  notOwned?(run: string): string;
  /** Writes the places of values as the engine does. */
  finish(text: string): string;
}

/** The rows of runs. The columns whose names are not here have the same name in all engines. */
interface RunTable {
  readonly from: string;
  readonly id: string;
  /** The node that owns it. */
  readonly node: string;
  /** Whose run it is. */
  readonly owner: string;
  readonly createdAt: string;
  readonly updatedAt: string;
  /** Its agent, in a list of the runs with something to do or that failed: they are fewer than those of the agent, whose index is not to be used. */
  readonly agentOfFew: string;
  /** The id of its newest event. */
  readonly head: string;
  /** The condition that something was appended to it. */
  readonly stored: string;
  /** The condition that something was appended to it and that it is not removed, as in the indexes of lists. */
  readonly live: string;
  /** The condition that its newest turn has failed, as in the indexes of those runs; and these runs, and those of an owner. */
  readonly failed: string;
  readonly ofFailed: string;
  readonly ofFailedOfOwner: string;
  /** The condition that it has a status with something to do, which is a value, as in the index of those runs. */
  readonly busyStatus: string;
  /** The condition that it has a status, which is a value, in a list of the runs of an owner: they are fewer than those with the status. */
  readonly ownStatus: string;
  /** The number of its open waits, the number of its queued requests, the wake time of its started request, and its alias. */
  readonly openWaits: string;
  readonly queued: string;
  readonly wakeAt: string;
  readonly alias: string;
  /** Lists in the order of creation. */
  readonly byCreation: {
    readonly from: string;
    readonly order: string;
    /** The condition that a run has its place in that order. */
    readonly placed: string;
    /** The statement that gives new runs their places, if the engine does not do so with their first appends. */
    readonly place?: string;
    /** The ids behind one of them: a value for this one, and one for the limit. */
    readonly ids: string;
    /** The same for the removed runs. */
    readonly removedIds: string;
  };
}

/** The rows of requests. */
interface RequestTable {
  readonly from: string;
  /** The requests beside their runs, which are looked at first. */
  readonly ofRuns: string;
  /** The request of each run that has started and not ended, beside its run. */
  readonly ofStarted: string;
  /** The condition that this request has a phase, which is a value, as its run has it. */
  readonly startedPhase: string;
  /** The requests beside their runs, with the requests looked at first: those that are queued are few. */
  readonly ofQueued: string;
  /** The order by the ids of these runs, as an index of the runs has it. */
  readonly ofRunsOrder: string;
  readonly id: string;
  readonly run: string;
  readonly createdAt: string;
  readonly started: string;
  readonly wakeAt: string;
  /** Whether its run is removed, and the condition that it is not. */
  readonly removed: string;
  readonly live: string;
  /** The condition that another request of its run has started and not ended. */
  readonly isBlocked: string;
  /** A fixed order of the runs, and the condition that a run follows one, which is a value. */
  readonly runOrder: string;
  readonly followsRun: string;
  /** The place of a request, by its id and its run, which are values, among those of its run. */
  readonly placeOf: string;
}

/** The rows of open waits. */
interface WaitTable {
  readonly from: string;
  readonly run: string;
  readonly request: string;
  readonly openedAt: string;
  /** The agent of its run. */
  readonly agent: string;
  /** The owner behind the slash of its request, as in the index of the waits of owners. */
  readonly owner: string;
  /** The condition of that index. */
  readonly isOwned: string;
  /** The condition that it is of a run, which is a value. */
  readonly ofRun: string;
  /** Without the runs: a run that is removed has no waits. */
  readonly alone: string;
}

/** The rows of outboxes. */
interface OutboxTable {
  readonly from: string;
  readonly run: string;
  readonly request: string;
  /** A fixed order of the runs, and the one in which the run that was changed last is the first. */
  readonly order: string;
  readonly newestFirst: string;
}

/** The schedules of runs. */
interface ScheduleTable {
  readonly from: string;
  readonly run: string;
  readonly id: string;
  readonly owner: string;
  /** The condition that it is of an agent, which is a value. */
  readonly ofAgent: string;
  /** The condition that it is of a run, which is a value. */
  readonly ofRun: string;
  /** A fixed order, and the condition that one follows that of a run, which is a value, with an id, which is another. */
  readonly order: string;
  readonly follows: string;
}

/** The aliases of runs. */
interface AliasTable {
  readonly from: string;
  readonly run: string;
  readonly agent: string;
  readonly name: string;
}

/** The references of runs to things outside the log. */
interface ReferenceTable {
  /** Without the runs. */
  readonly things: string;
  readonly from: string;
  readonly run: string;
}

/** The words of runs, which are written some time after the runs. */
interface TextTable {
  /** The condition that a run has changed since its words were written. */
  readonly isDue: string;
  /** The runs with that condition, with columns as in the table of runs. */
  readonly due: string;
  /** The statement that says whether too many are due to find them all, if the engine cannot stop to look for them. */
  readonly isBehind?: string;
  /** The condition that words of a run begin with those of a search, with its values. */
  fits(words: readonly string[]): TextCondition;
  /** The statement that finds runs with the words of a search by the index, up to a number; some say whether they have others, too. */
  matching(words: readonly string[], others: readonly string[], most: number): TextCondition;
  /** The condition that a row of the table of runs is one of those, and has the others, too. */
  isMatching(others: readonly string[]): TextCondition;
  /** The id of the last event of the newest request that has ended, and is no message. */
  readonly ended: string;
}

/** A part of a statement with its values. */
export interface TextCondition {
  readonly text: string;
  readonly values: readonly QueryValue[];
}

/** The audit trail. Its columns have the same names in all engines, except that of the run. */
interface AuditTable {
  readonly from: string;
  readonly run: string;
  /** The agent of its run; null for a removed one. */
  readonly agent: string;
  /** The condition that it is about a run, which is a value. */
  readonly ofRun: string;
}

/**
 * The phases of runs and requests, and the kinds of messages, are stored by their index: all have the same size, so a change
 * rewrites nothing else.
 */
export const RUN_PHASES = ["idle", "running", "waiting", "held"] as const;
export const REQUEST_PHASES = ["queued", "running", "waiting", "completed", "held"] as const;
export const OUTBOX_KINDS = ["reply", "cancel", "notice", "dead"] as const;

/** The columns of the statistics that count turns and completions by their durations. */
export const DURATION_COLUMNS: readonly string[] = NO_SUMS.durations.map((_, place) => `d${place}`);

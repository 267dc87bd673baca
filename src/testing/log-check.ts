import type { EventLog } from "../ports/event-log.ts";
import type { ArtifactStore } from "../ports/artifact-store.ts";
import type { SecretStore } from "../ports/secret-store.ts";
import type { HoldCode, HoldReason } from "../protocol/events/outcome-codes.ts";
import type { RunId } from "../protocol/ids.ts";
import { nodeEnvironment } from "../node/environment.ts";
import type { Agent, Collaborators } from "../runtime/agent/agent.ts";
import { LogRehearsal } from "../runtime/log-rehearsal.ts";
import type { RehearsedTurn } from "../runtime/run/rehearsal.ts";
import { memoryArtifacts } from "../storage/memory/artifacts.ts";
import { memorySecrets } from "../storage/memory/secrets.ts";

/** What `checkLog` takes. */
export interface LogCheckOptions {
  /** The agents that are to be served, as for `createRuntime`. */
  readonly agents: readonly Agent[];
  /** A log with the turns; a runtime may be working on it. */
  readonly log: EventLog;
  readonly bind?: Collaborators;
  readonly artifacts?: ArtifactStore;
  readonly secrets?: SecretStore;
  /** Replays so many turns that have ended, in place of the open ones. */
  readonly finished?: number;
  /** How long the code of a turn may need for its log, in milliseconds. Default 15,000. */
  readonly limitMs?: number;
}

/** What became of the turns of a log. */
export interface LogCheck {
  /** Whether every turn fits. */
  readonly fits: boolean;
  readonly turns: number;
  /** The numbers of turns by agent, in alphabetical order. */
  readonly agents: readonly AgentCheck[];
  /** The turns that do not fit, by reason; the reason with the most turns first. */
  readonly misfits: readonly Misfit[];
}

/** The numbers of turns of one agent. */
export interface AgentCheck {
  readonly agent: string;
  /** Turns that the version continues which takes new requests. */
  readonly fits: number;
  /** Turns that only another version continues, which is served beside it or was kept. */
  readonly older: number;
  /** Turns that would be held. */
  readonly held: number;
  /** Turns whose code did not come to the end of their log, or ended them before. */
  readonly undecided: number;
}

/** Turns that do not fit for the same reason. */
export interface Misfit {
  readonly agent: string;
  readonly outcome: "held" | "undecided";
  /** Why they would be held. */
  readonly code?: HoldCode;
  readonly message: string;
  /** The file and line of the agent, where they are known. */
  readonly at?: string;
  /** The step that the log has, and what the code does there. */
  readonly expected?: string;
  readonly found?: string;
  readonly runIds: readonly RunId[];
}

/** How long the code of a turn may need for its log, in milliseconds: longer than an MCP server that is away is waited for. */
export const CHECK_LIMIT_MS = 15_000;

/**
 * Replays the open turns of a log with agents that are to be served, without effects: nothing is written, called or sent.
 * Says which turns the agents continue, and which would be held, and why.
 */
export async function checkLog(options: LogCheckOptions): Promise<LogCheck> {
  const { agents, log, bind, limitMs = CHECK_LIMIT_MS, finished } = options;
  const rehearsal = new LogRehearsal({
    agents,
    log,
    ...(bind && { bind }),
    artifacts: options.artifacts ?? log.artifacts?.() ?? memoryArtifacts(),
    secrets: options.secrets ?? log.secrets?.() ?? memorySecrets(),
    environment: nodeEnvironment(),
    limitMs,
  });
  const tally = new CheckTally();
  for await (const turn of rehearsal.turns(finished === undefined ? {} : { finished })) tally.add(turn);
  return tally.result;
}

/** Counts rehearsed turns. */
export class CheckTally {
  readonly #agents = new Map<string, { -readonly [Key in keyof AgentCheck]: AgentCheck[Key] }>();
  readonly #misfits = new Map<string, Misfit & { readonly runIds: RunId[] }>();
  #turns = 0;

  /** What was counted so far. */
  get result(): LogCheck {
    const misfits = [...this.#misfits.values()];
    return {
      fits: misfits.length === 0,
      turns: this.#turns,
      agents: [...this.#agents.values()].toSorted((a, b) => (a.agent < b.agent ? -1 : 1)),
      misfits: misfits.toSorted((a, b) => b.runIds.length - a.runIds.length),
    };
  }

  add({ agent, runId, rehearsed }: RehearsedTurn): void {
    const counts = this.#agents.get(agent) ?? { agent, fits: 0, older: 0, held: 0, undecided: 0 };
    this.#agents.set(agent, counts);
    counts[rehearsed.outcome] += 1;
    this.#turns += 1;
    const { outcome } = rehearsed;
    if (outcome === "fits" || outcome === "older") return;
    const { code, message, at, expected, found } = toReason(rehearsed);
    const key = JSON.stringify([agent, outcome, code, at, expected ?? message, found]);
    const known = this.#misfits.get(key);
    if (known) {
      known.runIds.push(runId);
      return;
    }
    this.#misfits.set(key, {
      agent,
      outcome,
      ...(code !== undefined && { code }),
      message,
      ...(at !== undefined && { at }),
      ...(expected !== undefined && { expected }),
      ...(found !== undefined && { found }),
      runIds: [runId],
    });
  }
}

type Unfit = Exclude<RehearsedTurn["rehearsed"], { readonly outcome: "fits" | "older" }>;

function toReason(unfit: Unfit): Partial<HoldReason> & Pick<HoldReason, "message"> {
  return unfit.outcome === "held" ? unfit.reason : { message: unfit.message };
}

import { parentPort, workerData } from "node:worker_threads";
import { nodeEnvironment } from "../../node/environment.ts";
import { keepCode } from "../../node/versions/keep-versions.ts";
import type { RequestId } from "../../protocol/ids.ts";
import { LogRehearsal } from "../../runtime/log-rehearsal.ts";
import type { TurnToRehearse } from "../../runtime/log-rehearsal.ts";
import type { RehearsedTurn } from "../../runtime/run/rehearsal.ts";
import { Exit } from "../exit.ts";
import { decryptedStores } from "../../storage/encrypted/encrypted-log.ts";
import { loadAgents } from "../load-agents.ts";
import { explained } from "../logs/explained.ts";
import { loadServerConfig } from "../serve/server-config.ts";
import { openPlace } from "./places.ts";

/** What a thread is to rehearse. */
export interface ThreadData {
  readonly agents: string;
  readonly place: string;
  /** The configuration file of the server, which has the keys of an encrypted log. */
  readonly config?: string;
  /** An empty directory, for the files of kept versions that are loaded. */
  readonly directory: string;
  readonly limitMs: number;
  /** Whether kept versions continue turns. */
  readonly keepVersions: boolean;
  readonly finished?: number;
  /** The turns of the thread: those of runs whose number, modulo `of`, is `part`. */
  readonly part: number;
  readonly of: number;
  /** Turns that are left out: their outcome is known. */
  readonly done: readonly RequestId[];
  /** Turns that are rehearsed first, one after the other, because one of them has blocked a thread before. */
  readonly suspects: readonly RequestId[];
  /** Agents whose turns are not rehearsed. */
  readonly blocked: readonly string[];
  /** Counts up while the thread is not blocked. */
  readonly beats: Int32Array;
}

/** What a thread says. */
export type ThreadMessage =
  | { readonly type: "begun"; readonly turn: TurnToRehearse }
  | { readonly type: "turn"; readonly turn: RehearsedTurn }
  | { readonly type: "ended" }
  | { readonly type: "failed"; readonly message: string; readonly hint: readonly string[] };

const data = workerData as ThreadData;
const [done, suspects, blocked] = [new Set(data.done), new Set(data.suspects), new Set(data.blocked)];

async function rehearseAll(): Promise<void> {
  const { limitMs, finished, beats } = data;
  const { agents, topics, files } = await loadAgents(data.agents);
  const { encryption } = await loadServerConfig(data.config);
  const { close, versions: kept, ...store } = decryptedStores(await openPlace(data.place), encryption);
  const versions = await keepCode({
    files,
    folder: data.agents,
    store: data.keepVersions ? kept : undefined,
    directory: data.directory,
    warn() {},
  });
  Atomics.add(beats, 0, 1);
  setInterval(() => Atomics.add(beats, 0, 1), BEAT_MS);
  try {
    const rehearsal = new LogRehearsal({
      ...store,
      agents,
      topics,
      versions,
      environment: nodeEnvironment(),
      limitMs,
    });
    const rounds = [
      { includes: (turn: TurnToRehearse) => suspects.has(turn.requestId) && isMine(turn), atOnce: 1 },
      {
        includes: (turn: TurnToRehearse) => !suspects.has(turn.requestId) && isMine(turn) && !isBlocked(turn),
      },
    ];
    for (const round of suspects.size === 0 ? rounds.slice(1) : rounds) {
      const begun = (turn: TurnToRehearse): void => say({ type: "begun", turn });
      const query = { ...round, begun, ...(finished !== undefined && { finished }) };
      for await (const turn of rehearsal.turns(query)) say({ type: "turn", turn });
    }
  } finally {
    await close();
  }
}

/** How often a thread shows that it is not blocked, in milliseconds. */
const BEAT_MS = 100;

function isMine({ runId, requestId }: TurnToRehearse): boolean {
  return !done.has(requestId) && numberOf(runId) % data.of === data.part;
}

/** Whether the agent of a turn has blocked threads, so that the turn is not rehearsed. */
function isBlocked(turn: TurnToRehearse): boolean {
  if (!blocked.has(turn.agent)) return false;
  const message = "other turns of this agent have not given back control";
  say({ type: "turn", turn: { ...turn, rehearsed: { outcome: "undecided", message } } });
  return true;
}

/** A number that is the same for a run in each thread. */
function numberOf(runId: string): number {
  let number = 0;
  for (const character of runId) number = (Math.imul(number, 31) + (character.codePointAt(0) ?? 0)) >>> 0;
  return number;
}

function say(message: ThreadMessage): void {
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- threads have no origins
  parentPort?.postMessage(message);
}

try {
  await explained(rehearseAll);
  say({ type: "ended" });
} catch (thrown) {
  const { message, stack = message } = thrown as Error;
  const isExplained = thrown instanceof Exit;
  const hint = isExplained ? thrown.hint : [];
  say({ type: "failed", message: isExplained ? message : stack, hint });
}

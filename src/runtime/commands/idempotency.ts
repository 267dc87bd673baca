import { AgentError, isInstance } from "../../errors.ts";
import type { EventLog } from "../../ports/event-log.ts";
import type { RequestEntry } from "../../ports/log-entries.ts";
import type { RequestId, RunId } from "../../protocol/ids.ts";
import type { MessageRequest, TurnRequest } from "../../protocol/requests/requests.ts";
import type { Receipt } from "../api.ts";
import { canonical } from "../../protocol/json.ts";
import { checkKept, isMessage, readAccepted, readAcknowledgement, readMessage } from "../replay/accepted.ts";
import { readRenewed } from "../run/renewal.ts";

/** What two requests with the same id must have in common; otherwise the second one is a `conflict`. */
interface Same {
  readonly agent: string;
  readonly request: TurnRequest | MessageRequest;
  /** The owner whose ids of requests it has. */
  readonly owner: string;
  /** Whether it makes a run. The log refuses the first append of a run if another run has the id. */
  readonly makesRun: boolean;
}

/** Deduplicates requests by request_id. */
export class IdempotencyGuard {
  readonly #log: EventLog;
  readonly #underWay = new Map<string, Promise<unknown>>();

  constructor(log: EventLog) {
    this.#log = log;
  }

  /** Accepts a request with a client-chosen id, or repeats the first answer. */
  async once(requestId: RequestId, same: Same, accept: () => Promise<Receipt>): Promise<Receipt> {
    const id = `${requestId} ${same.owner}`;
    // The log refuses a run with a known id before anything is done, so such an id is looked up only after a refusal.
    let isLikelyNew = same.makesRun;
    for (let before = this.#underWay.get(id); before; before = this.#underWay.get(id)) {
      isLikelyNew = false;
      // Whether the first one succeeded is read from the log below. Only a check that timed out is thrown here, so that
      // retries do not repeat it.
      await before.catch((thrown: unknown) => {
        if (isInstance(thrown, AgentError) && thrown.code === "timeout") throw thrown;
      });
    }
    const work = this.#acceptOrRepeat(requestId, same, accept, isLikelyNew);
    this.#underWay.set(id, work);
    try {
      return await work;
    } finally {
      this.#underWay.delete(id);
    }
  }

  async #acceptOrRepeat(
    requestId: RequestId,
    same: Same,
    accept: () => Promise<Receipt>,
    isLikelyNew: boolean,
  ): Promise<Receipt> {
    const known = isLikelyNew ? undefined : await this.#log.lookup(requestId, same.owner);
    if (known !== undefined) return this.#repeat(known, same);
    try {
      return await accept();
    } catch (thrown) {
      // Another node may have accepted it in the meantime. A request that was not looked up may be a repeated one after any refusal, also
      // that of a limit. But if the log has failed, the entry that is found could be this request itself.
      const isTaken = isInstance(thrown, AgentError) && thrown.code === "conflict";
      const mayBeKnown = isTaken || (isLikelyNew && this.#log.health().writable);
      const other = mayBeKnown ? await this.#log.lookup(requestId, same.owner) : undefined;
      if (other === undefined) throw thrown;
      return this.#repeat(other, same);
    }
  }

  /** Repeats the first answer to an equal request. */
  async #repeat(entry: RequestEntry, same: Same): Promise<Receipt> {
    const { requestId } = entry;
    checkKept(entry);
    if (!(await this.#isRepeated(entry, same))) {
      // Throws `gone` if the run was removed in the meantime: its key cannot be compared then.
      checkKept((await this.#log.lookup(requestId, same.owner)) ?? entry);
      throw new AgentError("conflict", `request_id ${requestId} was used before for a different request`);
    }
    return this.#replay(entry);
  }

  async #isRepeated(entry: RequestEntry, { agent, request }: Same): Promise<boolean> {
    if (isMessage(entry)) return request.type === "Message" && this.#isSameMessage(entry, agent, request);
    const accepted = await readAccepted(this.#log, entry);
    if (request.type === "Message" || accepted.agent !== agent) return false;
    return canonicalRequest(accepted.request) === canonicalRequest(request);
  }

  async #isSameMessage(entry: RequestEntry, asked: string, request: MessageRequest): Promise<boolean> {
    const { runId } = entry;
    const { agent, name, body } = await readMessage(this.#log, entry);
    const isSameRun =
      (request.run_id ?? runId) === runId &&
      (request.key === undefined || (await readKey(this.#log, runId)) === request.key);
    const isSame = canonical([agent, name, body]) === canonical([asked, request.name, request.body]);
    return isSameRun && isSame;
  }

  async #replay(entry: RequestEntry): Promise<Receipt> {
    const { requestId, runId, owner } = entry;
    const kind = isMessage(entry) ? "message" : "turn";
    const owned = owner === undefined ? {} : { owner };
    return {
      requestId,
      runId,
      kind,
      ...owned,
      replayed: true,
      ...(await readAcknowledgement(this.#log, entry)),
    };
  }
}

/** The key of a run, or the one that it had before its actor continued in another run. */
async function readKey(log: EventLog, runId: RunId): Promise<string | undefined> {
  const run = await log.run(runId);
  return run?.alias ?? (run && (await readRenewed(log, run))?.key);
}

/** The part of a request that must be equal in a retry. */
function canonicalRequest({
  request_metadata: _metadata,
  caller: _caller,
  depth: _depth,
  hops: _hops,
  trace: _trace,
  ...request
}: TurnRequest): string {
  return canonical(request);
}

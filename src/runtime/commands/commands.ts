import { AgentError, isInstance } from "../../errors.ts";
import type { RunEntry } from "../../ports/log-entries.ts";
import { DEFAULT_OWNER, ownerOf, toOwned } from "../../ports/principal.ts";
import { createSpeaker, encodeEvent, toTimestamp } from "../../protocol/events/encode.ts";
import type { SendOptions } from "../../ports/router.ts";
import type { SenderRef } from "../../protocol/actors.ts";
import type { ArtifactId, RequestId, RunId } from "../../protocol/ids.ts";
import type {
  CancelRequest,
  ConfigureRequest,
  MessageRequest,
  Request,
  ResumeWithInput,
  TurnRequest,
} from "../../protocol/requests/requests.ts";
import { ownerIn } from "../access/scope.ts";
import type { Scope } from "../access/scope.ts";
import { refuseEvenly, seesFile } from "./uploads.ts";
import { recordConfiguration } from "./configurations.ts";
import { checkMessage, checkTurnRequest, findCallers } from "./check-request.ts";
import { FULL_MS, SEND_RETRY, checkNoCycle } from "./mail.ts";
import { IdempotencyGuard } from "./idempotency.ts";
import { Admission } from "./admission.ts";
import { ownerOfKeys } from "./shared-actors.ts";
import type { KeyedRuns } from "./keyed-runs.ts";
import type { Receipt } from "../api.ts";
import { mayBeRun, newRunId } from "../journal/system-runs.ts";
import { sendMessage } from "../run/messages.ts";
import { sendAcrossRenewals } from "../run/renewal.ts";
import type { RunMessage, RunReceipt } from "../run/messages.ts";
import type { Queries } from "../queries/queries.ts";
import type { HostContext } from "../run-context.ts";
import type { Agent } from "../agent/agent.ts";
import { isLoggedRead, isRead } from "../agent/resolve-operation.ts";
import type { AcceptedRequest } from "../journal/records.ts";
import { readNew } from "../run/reads.ts";
import { TIMER_AGENT } from "../agent/definition/timer-agent.ts";
import { checkWith } from "../agent/definition/schema.ts";
import { isMessage, readEvent } from "../replay/accepted.ts";
import { toJson } from "../journal/json-limits.ts";
import { Pauses } from "../journal/pauses.ts";
import { backoffMs } from "../../shared/backoff.ts";

/** Performs the requests of clients: checks them, finds their run, and sends them to the run's owner. */
export class Commands {
  readonly #context: HostContext;
  readonly #queries: Queries;
  readonly #keyed: KeyedRuns;
  readonly #acceptance: IdempotencyGuard;
  readonly #admission: Admission;
  readonly #pauses: Pauses;
  readonly #scope: Scope;

  /** `all` are the commands of another scope, with which these have everything else in common. */
  constructor(
    context: HostContext,
    queries: Queries,
    keyed: KeyedRuns,
    { scope, all }: { readonly scope: Scope; readonly all?: Commands },
  ) {
    this.#context = context;
    this.#queries = queries;
    this.#keyed = keyed;
    this.#acceptance = all ? all.#acceptance : new IdempotencyGuard(context.log);
    this.#admission = all ? all.#admission : new Admission(context.environment);
    this.#pauses = all ? all.#pauses : new Pauses(context.environment);
    this.#scope = scope;
  }

  /** The commands of a scope. */
  within(scope: Scope): Commands {
    return new Commands(this.#context, this.#queries, this.#keyed, { scope, all: this });
  }

  /** An answer and a cancel are taken for a turn whose agent is no longer served, too: it is held. */
  async process(name: string, request: Request): Promise<Receipt> {
    const { agents } = this.#context;
    switch (request.type) {
      case "ChatRequest":
      case "OperationRequest":
        return this.#turn(agents.get(name), request);
      case "Message":
        return this.#message(agents.get(name), request);
      case "ResumeWithInput":
        return this.#reach(request, () => this.#resume(name, request));
      case "CancelRequest":
        return this.#cancel(name, request);
      case "ConfigureRequest":
        return this.#reach(request, () => this.#configure(agents.get(name), request));
      default: {
        const never: never = request;
        return never;
      }
    }
  }

  async #turn(agent: Agent, request: TurnRequest): Promise<Receipt> {
    const { environment, files } = this.#context;
    const { request_id: requestId } = request;
    if (requestId === undefined) {
      await checkTurnRequest(this.#context, agent, request);
      await this.#admit(agent.name, request);
      return this.#accept(agent.name, request, `req_${environment.newId()}` as RequestId);
    }
    const owner = await this.#ownerOfIds(agent.name, request);
    const same = { agent: agent.name, request, owner, makesRun: makesRun(agent, request) };
    let takeBack = (): void => {};
    const receipt = await this.#acceptance.once(requestId, same, async () => {
      await checkTurnRequest(this.#context, agent, request);
      await this.#checkRequestId(requestId, request.run_id);
      takeBack = await this.#admit(agent.name, request);
      return this.#accept(agent.name, request, requestId);
    });
    if (!receipt.replayed) return receipt;
    takeBack();
    // The request may have been accepted just before a crash.
    if (receipt.runId !== null) await files.attach(request.attachments ?? [], receipt.runId);
    return receipt;
  }

  #accept(agent: string, request: TurnRequest, requestId: RequestId): Promise<Receipt> {
    const { attachments } = request;
    if (attachments === undefined) return this.#sendTurn(agent, request, requestId);
    return this.#acceptFiles(attachments, agent, request, requestId);
  }

  /** Keeps the files of a request until its run refers to them: meanwhile no removal of another run removes them. */
  async #acceptFiles(
    attachments: readonly ArtifactId[],
    agent: string,
    request: TurnRequest,
    requestId: RequestId,
  ): Promise<Receipt> {
    const context = this.#context;
    const { files } = context;
    const scope = this.#scope;
    const release = await refuseEvenly(context, scope, () =>
      files.reserve(attachments, (file) => seesFile(context, file, scope)),
    );
    try {
      const receipt = await this.#sendTurn(agent, request, requestId);
      if (receipt.runId !== null) await files.attach(attachments, receipt.runId);
      this.#context.owners?.of(this.#scope.owner).attached(attachments);
      await release();
      return receipt;
    } catch (error) {
      await release(error);
      throw error;
    }
  }

  async #sendTurn(agent: string, request: TurnRequest, requestId: RequestId): Promise<Receipt> {
    const { agents, environment } = this.#context;
    const { owner: ownOwner, by } = this.#scope;
    const callers = await findCallers(agent, request, this.#context, this.#scope);
    const sender = senderOf(request);
    const given: AcceptedRequest = {
      requestId,
      agent,
      request,
      acceptedAt: environment.now(),
      ...(callers.length > 0 && { callers }),
      ...(sender && { sender }),
      ...(by && { by }),
      ...toOwned(ownOwner),
    };
    if (isRead(agents.get(agent), request)) return this.#read(given);
    const send = async (runId: RunId, owner: string, isNew: boolean): Promise<Receipt> => {
      checkNoCycle(runId, request);
      const accepted = owner === ownOwner ? given : { ...given, owner };
      const hasOwnId = request.request_id !== undefined;
      const message = { kind: "turn", accepted, ...(hasOwnId && { hasOwnId }) } as const;
      const reply = await this.#sendInTurn(runId, message, isNew);
      const receipt = toReceipt("turn", requestId, reply, owner);
      this.#queries.remember(runId, accepted, receipt);
      return receipt;
    };
    return this.#whenRoom(agents.get(agent), () => this.#toRun(agent, request, send));
  }

  /** Sends something to the run that a request names, or to a new one. */
  async #toRun<Answer>(
    agent: string,
    { run_id: givenRunId, key }: Pick<TurnRequest, "run_id" | "key">,
    send: (runId: RunId, owner: string, isNew: boolean) => Promise<Answer>,
  ): Promise<Answer> {
    const newId = (): RunId => this.#newRunId();
    if (givenRunId !== undefined) {
      const run = await this.#findRun(agent, { run_id: givenRunId, key });
      return send(run.runId, ownerOf(run), false);
    }
    if (key === undefined) return send(newId(), this.#scope.owner, true);
    const owner = ownerOfKeys(this.#context.agents, agent, this.#scope);
    const sendOwn = (runId: RunId, isNew: boolean): Promise<Answer> => send(runId, owner, isNew);
    return this.#keyed.send({ owner, agent, key }, newId, sendOwn);
  }

  /**
   * The owner whose ids of requests a request has: that of its run. Only who sees all owners can name a run of another one.
   */
  async #ownerOfIds(
    agent: string,
    { run_id: runId, key }: Pick<TurnRequest, "run_id" | "key">,
  ): Promise<string> {
    const { owner, seesAll } = this.#scope;
    if (runId === undefined && key !== undefined)
      return ownerOfKeys(this.#context.agents, agent, this.#scope);
    const run = seesAll && runId !== undefined ? await this.#context.log.run(runId) : undefined;
    return run === undefined ? owner : ownerOf(run);
  }

  /** Counts a new request, unless its owner has reached a limit. The returned function takes that back: the request was a repeated one. */
  async #admit(agent: string, request: Pick<TurnRequest, "run_id" | "key">): Promise<() => void> {
    const { owners } = this.#context;
    return owners === undefined ? () => {} : owners.admitRequest(await this.#ownerOfIds(agent, request));
  }

  /** Sends something again while the mailbox of its actor is full, if the agent says that clients wait for room. */
  async #whenRoom<Answer>({ mailbox }: Agent, send: () => Promise<Answer>): Promise<Answer> {
    if (mailbox?.full !== "wait") return send();
    const { environment } = this.#context;
    const until = environment.monotonic() + FULL_MS;
    for (let failures = 0; ; failures += 1) {
      try {
        return await send();
      } catch (error) {
        const isFull = isInstance(error, AgentError) && error.code === "overloaded";
        if (!isFull || environment.monotonic() >= until) throw error;
      }
      await this.#pauses.wait(backoffMs(SEND_RETRY, failures));
    }
  }

  /** The runtime is closing: a request that waits for room is not sent again. */
  stop(): void {
    this.#pauses.stop();
    this.#admission.stop();
  }

  /** Runs an operation that only reads. An actor that has no run is read as it would begin, and gets none. */
  async #read(accepted: AcceptedRequest): Promise<Receipt> {
    const { agent, request, requestId } = accepted;
    const { run_id: givenRunId, key } = request;
    const reply = await this.#reach(request, async () => {
      const owner = key === undefined ? "" : ownerOfKeys(this.#context.agents, agent, this.#scope);
      const isNew =
        givenRunId === undefined && (key === undefined || !(await this.#keyed.find({ owner, agent, key })));
      if (isNew) return readNew(this.#context, accepted);
      const { runId } = await this.#findRun(agent, { run_id: givenRunId, key });
      return this.#send(runId, { kind: "read", accepted });
    });
    return { ...toReceipt("read", requestId, reply), runId: reply.runId === "" ? null : reply.runId };
  }

  async #message(agent: Agent, given: MessageRequest): Promise<Receipt> {
    const { environment } = this.#context;
    const request = { ...given, body: given.body ?? null };
    if (request.request_id === undefined) {
      await checkMessage(this.#context, agent, request);
      await this.#admit(agent.name, request);
      return this.#sendAgentMessage(agent.name, request, `msg_${environment.newId()}` as RequestId);
    }
    const messageId = request.request_id;
    const owner = await this.#ownerOfIds(agent.name, request);
    const same = { agent: agent.name, request, owner, makesRun: false };
    return this.#acceptance.once(messageId, same, async () => {
      await checkMessage(this.#context, agent, request);
      await this.#checkRequestId(messageId, request.run_id);
      await this.#admit(agent.name, request);
      return this.#sendAgentMessage(agent.name, request, messageId);
    });
  }

  async #sendAgentMessage(
    agent: string,
    { name, body, run_id: givenRunId, key, request_id: givenId }: MessageRequest,
    messageId: RequestId,
  ): Promise<Receipt> {
    const hasOwnId = givenId !== undefined;
    const { by } = this.#scope;
    const message = {
      kind: "message",
      messageId,
      agent,
      name,
      body,
      ...(hasOwnId && { hasOwnId }),
      ...(by && { by }),
    } as const;
    if (givenRunId === undefined && key === undefined)
      throw new AgentError("invalid_request", "a Message needs a run_id or a key");
    const isByKey = givenRunId === undefined && key !== undefined;
    const send = async (runId: RunId, owner: string, isNew: boolean): Promise<Receipt> => {
      const sent = { ...message, ...toOwned(owner), ...(isByKey && { key }) };
      return toReceipt("message", messageId, await this.#sendInTurn(runId, sent, isNew), owner);
    };
    const place = {
      ...(givenRunId !== undefined && { run_id: givenRunId }),
      ...(key !== undefined && { key }),
    };
    return this.#whenRoom(this.#context.agents.get(agent), () => this.#toRun(agent, place, send));
  }

  #newRunId(): RunId {
    return newRunId(this.#context.environment);
  }

  /** Throws `conflict` for a request id that is the id of a run: of the run that it names, or of one that exists. */
  async #checkRequestId(requestId: string, givenRunId: RunId | undefined): Promise<void> {
    const isIdOfRun =
      requestId === givenRunId ||
      (mayBeRun(requestId) && (await this.#context.log.run(requestId, ownerIn(this.#scope))) !== undefined);
    if (!isIdOfRun) return;
    throw new AgentError("conflict", `request_id ${requestId} is already the id of a run`);
  }

  async #resume(agent: string, request: ResumeWithInput): Promise<Receipt> {
    const { request_id: requestId, wait_id: waitId, resume_id: resumeId, request_keys: values } = request;
    const run = await this.#runOf(agent, request);
    const { runId } = run;
    const { by, roles } = this.#scope;
    const wait = waitId ?? (resumeId === undefined ? await this.#onlyWait(runId, requestId) : undefined);
    const reply = await this.#send(runId, {
      kind: "resume",
      values,
      ...(requestId !== undefined && { requestId }),
      ...(wait !== undefined && { waitId: wait }),
      ...(resumeId !== undefined && { resumeId }),
      ...(by && { by }),
      ...(roles && { roles }),
    });
    return toReceipt("resume", reply.requestId ?? (requestId as RequestId), reply, ownerOf(run));
  }

  /**
   * The id of the only open wait, for an answer that names none. With several nodes an answer may be sent twice, and
   * without the id the second one could answer the next wait.
   */
  async #onlyWait(runId: RunId, requestId: RequestId | undefined): Promise<number | undefined> {
    const { log } = this.#context;
    if (log.node === undefined) return undefined;
    const query = { runId, limit: 2, ...(requestId !== undefined && { requestId }) };
    const [only, second] = (await log.waits(query)).waits;
    return second === undefined ? only?.waitId : undefined;
  }

  async #runOf(agent: string, { request_id: requestId, ...given }: ResumeWithInput): Promise<RunEntry> {
    if (requestId !== undefined) {
      const { runId } = await this.#queries.request(requestId, this.#scope);
      return this.#checkRun(agent, runId);
    }
    if (given.run_id === undefined && given.key === undefined)
      throw new AgentError("invalid_request", "ResumeWithInput needs a request_id, a run_id or a key");
    return this.#findRun(agent, given);
  }

  /** Sends a request for an existing run, by its id or by its key. */
  #reach<Answer>(
    { run_id: givenRunId }: { readonly run_id?: RunId | undefined },
    send: () => Promise<Answer>,
  ): Promise<Answer> {
    return givenRunId === undefined ? sendAcrossRenewals(send) : send();
  }

  /** The run that a request names, by its id or by its key. */
  async #findRun(
    agent: string,
    { run_id: givenRunId, key }: { readonly run_id?: RunId | undefined; readonly key?: string | undefined },
  ): Promise<RunEntry> {
    const keyed =
      key === undefined
        ? undefined
        : await this.#keyed.find({
            owner: ownerOfKeys(this.#context.agents, agent, this.#scope),
            agent,
            key,
          });
    const runId = givenRunId ?? keyed;
    if (runId === undefined)
      throw new AgentError("not_found", `agent ${agent} has no run with the key ${key}`);
    const run = await this.#checkRun(agent, runId);
    if (key !== undefined && runId !== keyed)
      throw new AgentError("conflict", `run ${runId} does not have the key ${key}`);
    return run;
  }

  async #cancel(agent: string, { request_id: requestId }: CancelRequest): Promise<Receipt> {
    const before = await this.#queries.request(requestId, this.#scope);
    const owner = ownerOf(before);
    const { by } = this.#scope;
    // A scheduled request belongs to the timer agent, which has no routes: clients of every agent can cancel it.
    const { agent: runAgent } = await this.#queries.run(before.runId, this.#scope);
    await this.#checkRun(runAgent === TIMER_AGENT ? runAgent : agent, before.runId);
    if (before.completed === undefined) {
      try {
        const message = { kind: "cancel", requestId, ...(by && { by }) } as const;
        return toReceipt("cancel", requestId, await this.#send(before.runId, message), owner);
      } catch (error) {
        // The request may have ended just before; then its end is the answer.
        if (!(error instanceof AgentError) || error.code !== "conflict") throw error;
      }
    }
    const entry = await this.#queries.request(requestId, this.#scope);
    if (entry.completed === undefined) throw new AgentError("conflict", `request ${requestId} is not open`);
    if (isMessage(entry))
      throw new AgentError("conflict", `${requestId} is a message; a message cannot be canceled`);
    const event = await readEvent(this.#context.log, entry, entry.completed);
    const reply = { runId: entry.runId, replayed: true, after: entry.completed - 1, event };
    return toReceipt("cancel", requestId, reply, owner);
  }

  async #configure(agent: Agent, { args, ...given }: ConfigureRequest): Promise<Receipt> {
    const { environment, limits } = this.#context;
    const { name: agentName } = agent;
    const isOfRun = given.run_id !== undefined || given.key !== undefined;
    const { runId } = isOfRun ? await this.#findRun(agentName, given) : { runId: undefined };
    if (agent.config) await checkWith(environment, agent.config, args, `the configuration of ${agentName}`);
    // The size is checked with the secret values, because the owner of the run sees only references to them.
    toJson(args, `the configuration of ${agentName}`, limits.configBytes);
    const reply = await recordConfiguration(this.#context, {
      agent: agentName,
      runId,
      args,
      by: this.#scope.by,
    });
    const requestId = `req_${environment.newId()}` as RequestId;
    const address = { run_id: (runId ?? null) as RunId, request_id: requestId, agent: agentName, depth: 0 };
    const event = encodeEvent(createSpeaker(address), 0, toTimestamp(environment.now()), {
      type: "RequestCompleted",
      finish_reason: "success",
      result: null,
      output: null,
    });
    return { requestId, runId: runId ?? null, kind: "configure", replayed: false, after: reply.after, event };
  }

  /** Sends what makes work; while very much comes at once, its owners take turns. */
  async #sendInTurn(runId: RunId, message: RunMessage, isNew: boolean): Promise<RunReceipt> {
    const { owner } = this.#scope;
    const waiting = this.#admission.enter(owner);
    if (waiting) await waiting;
    const { round } = this.#admission;
    try {
      return await this.#send(runId, message, isNew ? { isNew } : undefined);
    } finally {
      this.#admission.leave(owner, round);
    }
  }

  #send(runId: RunId, message: RunMessage, options?: SendOptions): Promise<RunReceipt> {
    return sendMessage(this.#context.router, runId, message, options);
  }

  /** Throws `not_found` unless the run belongs to the agent: other agents do not see it. */
  async #checkRun(agent: string, runId: RunId): Promise<RunEntry> {
    const run = await this.#queries.run(runId, this.#scope);
    if (run.agent === agent) return run;
    // The name may be wrong, and then the names of the agents help.
    this.#context.agents.get(agent);
    throw new AgentError("not_found", `agent ${agent} has no run ${runId}`);
  }
}

/** Whether a request makes a run. An operation that reads is performed before anything is written. */
function makesRun(agent: Agent, request: TurnRequest): boolean {
  const isOfRun = request.run_id !== undefined || request.key !== undefined;
  return !isOfRun && !isRead(agent, request) && !isLoggedRead(agent, request);
}

/** The actor on another server that made a request, as that server says. */
function senderOf({ caller }: TurnRequest): SenderRef | undefined {
  const last = caller?.at(-1);
  return last && { run_id: last.run_id, server: last.server ?? "unknown" };
}

function toReceipt(
  kind: Receipt["kind"],
  requestId: RequestId,
  { runId, replayed, after, event }: RunReceipt,
  owner: string = DEFAULT_OWNER,
): Receipt {
  const owned = toOwned(owner);
  return { requestId, runId, kind, ...owned, replayed, after, ...(event !== undefined && { event }) };
}

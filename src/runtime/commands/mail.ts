import { AgentError, toAgentError } from "../../errors.ts";
import { Fenced } from "../../ports/event-log.ts";
import { ownerOf } from "../../ports/principal.ts";
import type { SendOptions } from "../../ports/router.ts";
import type { RunId } from "../../protocol/ids.ts";
import { newRunId } from "../journal/system-runs.ts";
import { Pauses } from "../journal/pauses.ts";
import type { AcceptedRequest } from "../journal/records.ts";
import type { Letter, Mail, PostReceipt, RenewedActor, Reply } from "../replay/mail-port.ts";
import { waitingCallers } from "../replay/actor-request.ts";
import type { HostContext } from "../run-context.ts";
import { sendMessage } from "../run/messages.ts";
import type { PostMessage } from "../run/messages.ts";
import { checkToldRequest, checkTurnRequest } from "./check-request.ts";
import type { Agent } from "../agent/agent.ts";
import { isTakenLater } from "../agent/overloaded.ts";
import { SCHEDULE } from "../journal/stored-schedule.ts";
import type { ScheduleBody } from "../journal/stored-schedule.ts";
import { WATCH } from "../agent/watchers.ts";
import { isRead } from "../agent/resolve-operation.ts";
import { readNew } from "../run/reads.ts";
import { isRenewed, sendAcrossRenewals } from "../run/renewal.ts";
import { toOutcome } from "../run/to-outcome.ts";
import type { Budget } from "../../protocol/events/event-body.ts";
import type { EventOf } from "../../protocol/events/events.ts";
import type { OperationRequest } from "../../protocol/requests/requests.ts";
import { backoffMs } from "../../shared/backoff.ts";
import type { Environment } from "../../ports/environment.ts";
import { LruMap } from "../../shared/lru-map.ts";
import { KeyedMutex } from "../../shared/keyed-mutex.ts";
import { announceRaise } from "./raised-budgets.ts";
import { toOwnerOf } from "./shared-actors.ts";
import { Deadlocks } from "./deadlocks.ts";
import type { KeyedRuns } from "./keyed-runs.ts";

/** The pause before a request is sent again, in milliseconds. */
export const SEND_RETRY = { firstMs: 20, mostMs: 1_000 };

/** How long a request without a deadline waits for room in a full mailbox, in milliseconds. */
export const FULL_MS = 60_000;

/** How many requests of one actor to another are sent in one message. */
const TOGETHER = 100;

/** Carries requests and answers between the actors of a log, through the router. */
export class ActorMail implements Mail {
  readonly #context: Omit<HostContext, "mail">;
  readonly #keyed: KeyedRuns;
  readonly #pauses: Pauses;
  readonly #deadlocks: Deadlocks;
  readonly #ownSteps: StepRate;
  readonly #posting = new KeyedMutex();
  /** The requests that no one sends yet, by sender and receiver. */
  readonly #waiting = new Map<string, Posting[]>();

  constructor(context: Omit<HostContext, "mail">, keyed: KeyedRuns) {
    this.#context = context;
    this.#keyed = keyed;
    this.#pauses = new Pauses(context.environment);
    this.#ownSteps = new StepRate(context.limits.ownSteps, context.environment);
    this.#deadlocks = new Deadlocks(context, (to, reply) => this.reply(to, reply));
  }

  async post(given: Letter): Promise<PostReceipt | undefined> {
    const letter = this.#addressed(given);
    const receiver = receiverOf(letter);
    const { promise, resolve, reject } = Promise.withResolvers<PostReceipt | undefined>();
    const posting: Posting = {
      letter,
      isRepeated: letter.isRepeated,
      fullUntil: letter.expiresAt,
      resolve,
      reject,
    };
    const waiting = this.#waiting.get(receiver);
    if (waiting) waiting.push(posting);
    else this.#waiting.set(receiver, [posting]);
    void this.#posting.run(receiver, () => this.#postWaiting(receiver));
    return promise;
  }

  async cancel(given: Pick<Letter, "from" | "accepted">): Promise<void> {
    const letter = this.#addressed(given);
    return this.#posting.run(receiverOf(letter), async () => {
      await this.#send(letter.accepted, { isRepeated: true, isCanceled: true });
    });
  }

  async reply(to: RunId, reply: Reply): Promise<void> {
    await sendMessage(this.#context.router, to, { kind: "reply", ...reply });
  }

  async continueIn(to: RunId, actor: RenewedActor): Promise<void> {
    await sendMessage(this.#context.router, to, { kind: "continue", ...actor });
  }

  raised(owner: string, budget: Budget): Promise<void> {
    return announceRaise(this.#context, owner, budget);
  }

  parked(runId: RunId): Promise<void> {
    return this.#deadlocks.examine(runId);
  }

  /** The runtime is closing: nothing is sent again. */
  stop(): void {
    this.#pauses.stop();
    this.#deadlocks.stop();
  }

  #addressed<Sent extends Pick<Letter, "accepted">>(letter: Sent): Sent {
    const { accepted } = letter;
    const owned = toOwnerOf(this.#context.agents.find(accepted.agent), accepted);
    return owned === accepted ? letter : { ...letter, accepted: owned };
  }

  /** Sends what waits for an actor, together, until each request is accepted or refused. */
  async #postWaiting(receiver: string): Promise<void> {
    const waiting = this.#waiting.get(receiver);
    if (waiting === undefined) return;
    const postings = waiting.splice(0, TOGETHER);
    if (waiting.length === 0) this.#waiting.delete(receiver);
    let left: readonly Posting[] = postings;
    let waitMs = this.#ownStepsOf(postings);
    for (let failures = 0; left.length > 0;) {
      // oxlint-disable-next-line no-await-in-loop -- one attempt after the other
      if (waitMs > 0) await this.#pauses.wait(waitMs);
      const wanted: Posting[] = [];
      for (const posting of left) {
        if (posting.letter.isWanted()) wanted.push(posting);
        else posting.resolve(undefined);
      }
      if (wanted.length === 0) return;
      left = this.#settle(wanted, await this.#try(wanted, failures === 0));
      const isFirstLeft = left[0] === wanted[0];
      waitMs = isFirstLeft ? backoffMs(SEND_RETRY, failures) : 0;
      failures = isFirstLeft ? failures + 1 : 0;
    }
  }

  /** How long requests have to wait that are steps of an actor of its own, in milliseconds. */
  #ownStepsOf(postings: readonly Posting[]): number {
    let waitMs = 0;
    for (const { letter } of postings)
      if (letter.isOwnStep) waitMs = this.#ownSteps.take(actorOf(letter.accepted));
    return waitMs;
  }

  /** Tries to send requests in their order. The answers are those of the first of them, as far as they were tried. */
  async #try(postings: readonly Posting[], isFirst: boolean): Promise<readonly Answer[]> {
    const together = isFirst && postings.length > 1 ? await this.#tryTogether(postings) : undefined;
    if (together !== undefined) return together;
    const [{ letter, isRepeated } = never()] = postings;
    try {
      return [{ receipt: await this.#send(letter.accepted, { isRepeated, from: letter.from }) }];
    } catch (error) {
      return [{ error: toAgentError(error) }];
    }
  }

  /** Sends requests in one message, so that their acceptance is one commit; `undefined` if that is not possible. */
  async #tryTogether(postings: readonly Posting[]): Promise<readonly Answer[] | undefined> {
    const { agents, environment } = this.#context;
    const [{ letter: first } = never()] = postings;
    const { agent: name, request } = first.accepted;
    const agent = agents.find(name);
    // All are from one run.
    const owner = ownerOf(first.accepted);
    // A tell that was accepted before is found by the receiver; an answer to an ask has to be sent again.
    const isPlain = ({ letter: { accepted }, isRepeated }: Posting): boolean =>
      !(isRepeated && accepted.callId !== undefined) &&
      agent !== undefined &&
      !isRead(agent, accepted.request);
    if (agent === undefined || !postings.every(isPlain)) return undefined;
    const answers = new Map<Posting, Answer>();
    const good: Posting[] = [];
    for (const posting of postings) {
      try {
        // oxlint-disable-next-line no-await-in-loop -- a check rarely waits
        await this.#check(agent, posting.letter.accepted);
        good.push(posting);
      } catch (error) {
        answers.set(posting, { error: toAgentError(error) });
      }
    }
    const acceptedAt = environment.now();
    const send = async (runId: RunId): Promise<void> => {
      const sent: Posting[] = [];
      for (const posting of good) {
        const { accepted } = posting.letter;
        try {
          if (accepted.callId !== undefined) checkNoCycle(runId, accepted.request);
          sent.push(posting);
        } catch (error) {
          answers.set(posting, { error: toAgentError(error) });
        }
      }
      if (sent.length === 0) return;
      const items = sent.map(({ letter }) => ({ ...letter.accepted, acceptedAt }));
      const options = { from: first.from };
      const { results = [] } = await sendMessage(
        this.#context.router,
        runId,
        { kind: "posts", items },
        options,
      );
      for (const [index, refusal] of results.entries()) {
        const posting = sent[index];
        if (posting === undefined) continue;
        const error =
          refusal === null ? undefined : new AgentError(refusal.code, refusal.message, refusal.details);
        // The run was renewed when it had the former ones: the rest is sent to the run that has the key now.
        if (error && request.key !== undefined && isRenewed(error)) break;
        answers.set(posting, error ? { error } : { receipt: { runId } });
      }
    };
    try {
      if (request.key === undefined) {
        await this.#checkRun(name, request.run_id, owner);
        await send(request.run_id as RunId);
      } else {
        const newId = (): RunId => newRunId(environment);
        await this.#keyed.send({ owner, agent: name, key: request.key }, newId, send);
      }
    } catch (error) {
      // Each is sent alone, and may have arrived with the others.
      for (const posting of good) posting.isRepeated = true;
      if (toAgentError(error).cause instanceof Fenced) return [{ error: toAgentError(error) }];
      return undefined;
    }
    const tried: Answer[] = [];
    for (const posting of postings) {
      const answer = answers.get(posting);
      if (answer === undefined) break;
      tried.push(answer);
    }
    return tried;
  }

  /** Ends the requests that were accepted or refused. Returns those that are to be sent again. */
  #settle(postings: readonly Posting[], answers: readonly Answer[]): readonly Posting[] {
    const { environment, log } = this.#context;
    for (const [index, { receipt, error }] of answers.entries()) {
      const posting = postings[index];
      if (posting === undefined) break;
      if (error === undefined) posting.resolve(receipt);
      // Another node has taken over the sending run, and sends the request.
      else if (error.cause instanceof Fenced && log.node !== undefined) posting.resolve(undefined);
      else {
        const isFull = error.code === "overloaded";
        posting.fullUntil ??= environment.now() + FULL_MS;
        if (isTakenLater(error) && !(isFull && environment.now() >= posting.fullUntil)) {
          posting.isRepeated ||= !isFull;
          return postings.slice(index);
        }
        posting.reject(error);
      }
    }
    return postings.slice(answers.length);
  }

  async #send(
    accepted: AcceptedRequest,
    { isRepeated, isCanceled = false, ...options }: PostOptions,
  ): Promise<PostReceipt> {
    const { agents, environment, log } = this.#context;
    const { agent: name, requestId, request } = accepted;
    const message: PostMessage = {
      kind: "post",
      accepted: { ...accepted, acceptedAt: environment.now() },
      ...(isCanceled && { isCanceled }),
    };
    const agent = agents.find(name);
    // The log of the other actor has nothing of it, so it is sent again as the first time, and cannot be canceled there.
    if (agent && isRead(agent, request))
      return isCanceled ? { runId: "" } : this.#read(agent, message.accepted, options);
    // A request that was accepted before belongs to its run, also if another run has the key now.
    const owner = ownerOf(accepted);
    const entry = isRepeated ? await log.lookup(requestId, owner) : undefined;
    if (entry?.removed === true) throw new AgentError("gone", `the run of request ${requestId} was removed`);
    if (entry) return this.#deliver(entry.runId, message, options);
    if (!isCanceled) await this.#check(agents.get(name), accepted);
    const { key, run_id: runId } = request;
    if (key === undefined) {
      await this.#checkRun(name, runId, owner);
      return this.#deliver(runId as RunId, message, options);
    }
    const newId = (): RunId => newRunId(environment);
    return this.#keyed.send({ owner, agent: name, key }, newId, (to) => this.#deliver(to, message, options));
  }

  #read(agent: Agent, accepted: AcceptedRequest, options: SendOptions): Promise<PostReceipt> {
    const read = (): Promise<PostReceipt> => this.#readOnce(agent, accepted, options);
    return accepted.request.run_id === undefined ? sendAcrossRenewals(read) : read();
  }

  async #readOnce(agent: Agent, accepted: AcceptedRequest, options: SendOptions): Promise<PostReceipt> {
    const { router } = this.#context;
    const { name } = agent;
    const { request } = accepted;
    const owner = ownerOf(accepted);
    await this.#check(agent, accepted);
    const { key } = request;
    const runId =
      request.run_id ?? (key === undefined ? undefined : await this.#keyed.find({ owner, agent: name, key }));
    if (request.run_id !== undefined) await this.#checkRun(name, request.run_id, owner);
    const { event } =
      runId === undefined
        ? await readNew(this.#context, accepted)
        : await sendMessage(router, runId, { kind: "read", accepted }, options);
    const outcome = toOutcome(request, JSON.parse(event ?? "{}") as EventOf<"RequestCompleted">);
    return { runId: runId ?? "", outcome };
  }

  /** Throws unless the actor can take what it is sent: a request, or for a tell also a message. */
  #check(agent: Agent, { callId, request }: AcceptedRequest): Promise<void> {
    const { operation: name, input: body } = request as OperationRequest;
    // Only the runtime makes such requests.
    if (name === WATCH) return Promise.resolve();
    if (name === SCHEDULE) return this.#checkSchedule(agent, body as unknown as ScheduleBody);
    if (callId !== undefined) return checkTurnRequest(this.#context, agent, request);
    return checkToldRequest(this.#context, agent, request as OperationRequest);
  }

  /** Throws unless the actor can take what a schedule sends. */
  async #checkSchedule(agent: Agent, body: ScheduleBody): Promise<void> {
    if (body.on) await checkToldRequest(this.#context, agent, body);
  }

  async #deliver(runId: RunId, message: PostMessage, options: SendOptions): Promise<PostReceipt> {
    const { callId, request } = message.accepted;
    if (callId !== undefined && message.isCanceled !== true) checkNoCycle(runId, request);
    await sendMessage(this.#context.router, runId, message, options);
    return { runId };
  }

  /** Throws unless a run belongs to the agent of its address, and to the owner of the one that asks. */
  async #checkRun(agent: string, runId: RunId | undefined, owner: string): Promise<void> {
    const run = runId === undefined ? undefined : await this.#context.log.run(runId, owner);
    if (run?.removed === true) throw new AgentError("gone", `run ${runId} was removed`);
    if (run?.agent !== agent) throw new AgentError("not_found", `agent ${agent} has no run ${runId}`);
  }
}

/** A request that is being sent. */
interface Posting {
  readonly letter: Letter;
  /** Whether it may have been sent before. */
  isRepeated: boolean;
  /** Until when it waits for room, in milliseconds since 1970; absent until there was none. */
  fullUntil: number | undefined;
  readonly resolve: (receipt: PostReceipt | undefined) => void;
  readonly reject: (error: AgentError) => void;
}

/** What became of a request when it was sent. */
interface Answer {
  readonly receipt?: PostReceipt;
  readonly error?: AgentError;
}

function never(): never {
  throw new Error("nothing is to be sent");
}

/** How a request is sent to its actor. */
interface PostOptions extends SendOptions {
  /** Whether it may have been sent before. */
  readonly isRepeated: boolean;
  /** Whether it is only to be canceled. */
  readonly isCanceled?: boolean;
}

/** Throws `would_deadlock` for a request to a run that waits for the end of this request. */
export function checkNoCycle(runId: RunId, { caller, key }: AcceptedRequest["request"]): void {
  if (caller === undefined) return;
  const waiting = waitingCallers(caller);
  const at = waiting.findIndex((each) => each.run_id === runId);
  if (at === -1) return;
  const cycle = [...waiting.slice(at).map((each) => each.run_id), runId];
  const name = key === undefined ? `run ${runId}` : `run ${runId} (${key})`;
  throw new AgentError("would_deadlock", `${name} waits for the end of this request: ${cycle.join(" → ")}`, {
    facts: { cycle },
  });
}

/** The requests of one run to one actor. */
function receiverOf({ from, accepted }: Pick<Letter, "from" | "accepted">): string {
  return `${from} ${actorOf(accepted)}`;
}

/** The actor that a request is for. */
function actorOf({ owner = "", agent, request }: AcceptedRequest): string {
  return `${agent} ${request.key ?? `/${request.run_id ?? ""}`} ${owner}`;
}

/**
 * How fast actors may go on by themselves: each makes the steps of a second at once, and after them one at a time. The
 * actors that were slowed last are remembered.
 */
class StepRate {
  readonly #perSecond: number;
  readonly #environment: Environment;
  /** When the steps of an actor would be over at the allowed rate, in milliseconds since 1970. */
  readonly #until = new LruMap<string, number>(REMEMBERED_ACTORS);

  constructor(perSecond: number, environment: Environment) {
    this.#perSecond = perSecond;
    this.#environment = environment;
  }

  /** Counts a step of an actor. Returns how long it has to wait, in milliseconds. */
  take(actor: string): number {
    const now = this.#environment.now();
    const until = Math.max(this.#until.get(actor) ?? 0, now) + 1_000 / this.#perSecond;
    this.#until.set(actor, until);
    return Math.max(0, until - now - 1_000);
  }
}

const REMEMBERED_ACTORS = 10_000;

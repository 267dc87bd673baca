import { AgentError } from "../../errors.ts";
import type { HeldTurn, RunSummary } from "../../protocol/answers/status.ts";
import type { ArtifactId, RequestId, RunId } from "../../protocol/ids.ts";
import type { Json, JsonObject } from "../../protocol/json.ts";
import type { Operations } from "../../runtime/agent/agent.ts";
import type { OperationInput } from "../../runtime/agent/turn-api.ts";
import { project } from "../../view/fold.ts";
import type { RunView, TurnView } from "../../view/run-view.ts";
import type { AgentCallOptions } from "../call-api.ts";
import type { AgentClient, Upload } from "../client-api.ts";
import { streamRunChanges } from "../lists/watch-runs.ts";
import { outputOf } from "../call/outcome.ts";
import { followRun, requestsBehind, toTurnRequest } from "../requests/requests.ts";
import type { Requests, TurnBody } from "../requests/requests.ts";
import { hasCode } from "../wire/problem.ts";
import { randomId } from "../wire/random-id.ts";
import type { RunMemory } from "./run-memory.ts";
import { followStore } from "./run-store.ts";
import type { Connection, RunStore } from "./run-store.ts";

/**
 * What a conversation does. `sending`: a message is on its way, or queued. `streaming`: a turn works. `waiting`: it waits for an
 * answer. `held`: no code on the server can continue it. `failed`: the newest message was refused, its turn has failed, or reading
 * has ended; `error` says why. `lost`: the server cannot be reached; reading goes on when it can.
 */
export type ConversationStatus = "idle" | "sending" | "streaming" | "waiting" | "held" | "failed" | "lost";

/** A message of this page that is not in the view yet. */
export interface SentMessage {
  readonly requestId: RequestId;
  readonly operation: string;
  readonly input: Json;
  /** Ids of the files that were uploaded for it. */
  readonly attachments: readonly ArtifactId[];
  /** Why it was refused or did not reach the server; `retry` sends it again. */
  readonly error?: AgentError;
}

/** What a page shows of a conversation. */
export interface ConversationState {
  readonly status: ConversationStatus;
  /** The run of the conversation; absent before its first request is accepted. */
  readonly runId: RunId | undefined;
  readonly view: RunView;
  /** The messages that are not in the view yet, oldest first. Each is replaced by its turn. */
  readonly sent: readonly SentMessage[];
  /** The runs of this conversation that were left for a branch, oldest first; `open` shows one. */
  readonly branches: readonly RunId[];
  readonly connection: Connection;
  /** Why the newest message was refused, why the connection is lost, why reading ended, or why the newest turn has failed. */
  readonly error: AgentError | undefined;
  /** Whether a request was sent that has not started, or a turn works or is held without a question. */
  readonly pending: boolean;
  /** Why no code on the server can continue the turn, if it is held. It takes answers, and continues by itself. */
  readonly held: HeldTurn | undefined;
}

/** A conversation with an agent in one run. It is connected while it has a subscriber. */
export interface Conversation<Ops extends Operations = Operations> {
  /** Calls the listener after each change; returns the end of the subscription. */
  subscribe(listener: () => void): () => void;
  /** The same object until the next change. */
  readonly state: ConversationState;
  /** Sends a text. Resolves when the server has accepted it; rejects with its refusal. */
  send(text: string, options?: ConversationOptions): Promise<void>;
  /** Calls an operation, likewise. */
  call<Name extends keyof Ops & string>(
    operation: Name,
    input: OperationInput<Ops[Name]>,
    options?: ConversationOptions,
  ): Promise<void>;
  /** Answers an open question: the named one, or the oldest. Rejects with `conflict` if it is not open, or none is. */
  answer(values: JsonObject, waitId?: number): Promise<void>;
  /** Cancels the turn that works or waits, or the message on its way. Rejects with `conflict` if there is none. */
  cancel(): Promise<void>;
  /**
   * Tries again: sends a message that was not accepted with the same id, has the server try a held turn, or does the newest
   * turn again in a new run that has the history before it; that of an actor in its run. Rejects with `conflict` if a turn works.
   */
  retry(): Promise<void>;
  /** Sends another text in the place of a turn's, in a new run that has the history before that turn. */
  edit(requestId: RequestId, text: string, options?: ConversationOptions): Promise<void>;
  /** Goes back to the end of a turn. The next message makes a run with the history up to there; nothing is made before. */
  branch(requestId: RequestId): void;
  /** Shows another run of the agent, or without an id begins a new one with the next message. */
  open(runId?: RunId): void;
}

/** Options of a request in a conversation. */
export type ConversationOptions = Pick<AgentCallOptions, "attachments" | "metadata" | "onBusy"> & {
  /** Uploaded before the message is sent, and attached to it: the files of a form, or others with their names. */
  readonly files?: readonly (File | Upload)[];
};

/** Which run a conversation has. Default: a new one, which the first message creates. */
export interface ConversationSettings {
  /** The run that is taken up again. */
  readonly runId?: RunId | undefined;
  /** The name of a run of the agent, which the first message creates: the conversation is with that actor. */
  readonly key?: string | undefined;
  /** Remembers the run over a reload of the page. */
  readonly memory?: RunMemory | undefined;
}

/** A client of an agent, as `createClient` makes it. */
export type Conversable<Ops extends Operations = Operations> = Pick<AgentClient<Ops>, "url"> &
  Partial<Pick<AgentClient<Ops>, "call">>;

/** Begins a conversation with an agent, or takes one up again. */
export function createConversation<Ops extends Operations>(
  agent: Conversable<Ops>,
  settings: ConversationSettings = {},
): Conversation<Ops> {
  const requests = requestsBehind(agent);
  if (requests) return new FollowedConversation(requests, settings);
  throw new AgentError("invalid_request", "the agent is not one of createClient");
}

class FollowedConversation<Ops extends Operations> implements Conversation<Ops> {
  readonly #requests: Requests;
  readonly #memory: RunMemory | undefined;
  readonly #listeners = new Set<() => void>();
  /** The name of the actor, until the conversation leaves its run for a branch. */
  #key: string | undefined;
  #run: RunId | undefined;
  /** Whether the run is one that was remembered, so that its absence is no error. */
  #isRemembered = false;
  /** The event after which the next message branches; `undefined` if it continues the run. */
  #end: number | undefined;
  #store: RunStore | undefined;
  #unsubscribe: (() => void) | undefined;
  /** Ends the search for the run of the actor. */
  #search: AbortController | undefined;
  #fault: AgentError | undefined;
  #sent: readonly SentMessage[] = [];
  /** What goes with the messages that are not accepted. */
  readonly #options = new Map<RequestId, ConversationOptions>();
  /** What is shown until the run of a branch is read. */
  #before: RunView | undefined;
  #branches: readonly RunId[] = [];
  /** One request after the other, because the first one creates the run. */
  #last: Promise<unknown> = Promise.resolve();
  #state: ConversationState;

  constructor(requests: Requests, { runId, key, memory }: ConversationSettings) {
    this.#requests = requests;
    this.#memory = memory;
    this.#run = runId;
    this.#key = runId === undefined ? key : undefined;
    this.#state = {
      status: "idle",
      runId,
      view: nothing,
      sent: [],
      branches: [],
      connection: { state: "idle", since: Date.now() },
      error: undefined,
      pending: false,
      held: undefined,
    };
  }

  get state(): ConversationState {
    return this.#state;
  }

  // Properties, because pages call them without the conversation.
  readonly subscribe = (listener: () => void): (() => void) => {
    const notify = (): void => listener();
    this.#listeners.add(notify);
    this.#connect();
    return () => {
      this.#listeners.delete(notify);
      if (this.#listeners.size === 0) this.#disconnect();
    };
  };

  readonly send = (text: string, options: ConversationOptions = {}): Promise<void> =>
    this.#post("chat", text, options);

  readonly call = <Name extends keyof Ops & string>(
    operation: Name,
    input: OperationInput<Ops[Name]>,
    options: ConversationOptions = {},
  ): Promise<void> => this.#post(operation, input as Json, options);

  readonly answer = async (values: JsonObject, waitId?: number): Promise<void> => {
    const wait = this.#state.view.waits.find(
      (asked) => asked.state === "open" && (waitId === undefined || asked.waitId === waitId),
    );
    if (wait) return this.#requests.resume(wait.requestId, wait.waitId, values);
    const fact = waitId === undefined ? "no question is open" : `question ${waitId} is not open`;
    throw new AgentError("conflict", `${fact}, so there is nothing to answer`);
  };

  readonly cancel = async (): Promise<void> => {
    const turn = this.#state.view.turns.find(isOpen);
    const message = this.#sent.findLast(({ error }) => error === undefined);
    // A message that is not accepted yet cannot be canceled.
    if (turn === undefined && message) await this.#last;
    const { requestId } = turn ?? this.#sent.find((sent) => sent.requestId === message?.requestId) ?? {};
    if (requestId === undefined)
      throw new AgentError("conflict", "no turn works or waits, so there is nothing to cancel");
    await this.#requests.cancel(requestId);
  };

  readonly retry = async (): Promise<void> => {
    const { view, held } = this.#state;
    const refused = this.#sent.find(({ error }) => error !== undefined);
    const turn = view.turns.at(-1);
    if (refused) return this.#transmit(refused, this.#options.get(refused.requestId));
    if (held && this.#run !== undefined) return void (await this.#onRun(this.#run, "retry"));
    if (turn === undefined || view.turns.some(isOpen))
      throw new AgentError("conflict", "no turn has ended, so there is nothing to try again");
    // An actor keeps its run.
    if (this.#key === undefined) this.#cut(turn);
    const { operation, input, attachments } = turn;
    await this.#post(operation, input, { attachments });
  };

  readonly edit = async (
    requestId: RequestId,
    text: string,
    options: ConversationOptions = {},
  ): Promise<void> => {
    this.#cut(this.#turn(requestId));
    await this.#post("chat", text, options);
  };

  readonly branch = (requestId: RequestId): void => {
    const { endedId } = this.#turn(requestId);
    if (endedId === undefined) throw new AgentError("conflict", `turn ${requestId} has not ended`);
    this.#end = endedId;
    this.#show();
  };

  readonly open = (runId?: RunId): void => {
    this.#key = undefined;
    this.#sent = [];
    this.#take(runId);
    this.#connect();
    this.#show();
  };

  #turn(requestId: RequestId): TurnView {
    const turn = this.#state.view.turns.find((one) => one.requestId === requestId);
    if (turn) return turn;
    throw new AgentError("not_found", `the conversation has no turn ${requestId}`);
  }

  /** Goes back to before a turn. */
  #cut({ startedId }: TurnView): void {
    const { turns } = this.#state.view;
    const before = turns.findLast(({ endedId }) => endedId !== undefined && endedId < startedId);
    this.#end = before?.endedId ?? 0;
    this.#show();
  }

  async #post(operation: string, input: Json, options: ConversationOptions): Promise<void> {
    const { attachments = [] } = options;
    await this.#transmit({ requestId: randomId("req_"), operation, input, attachments }, options);
  }

  /** Sends a message, after those that were sent before. */
  #transmit(message: SentMessage, options: ConversationOptions = {}): Promise<void> {
    const { requestId, operation, input, attachments: given } = message;
    let sent: SentMessage = { requestId, operation, input, attachments: given };
    this.#options.set(requestId, options);
    const others = (): readonly SentMessage[] => this.#sent.filter((one) => one.requestId !== requestId);
    // A message that was refused gives way to the next one.
    this.#sent = [...others().filter(({ error }) => error === undefined), sent];
    this.#fault = undefined;
    this.#show();
    const accepted = this.#last.then(async () => {
      try {
        const { files = [], ...given } = options;
        const attachments = [...sent.attachments, ...(await this.#upload(files))];
        sent = { ...sent, attachments };
        this.#options.set(requestId, given);
        this.#remember();
        await this.#fork();
        const to = this.#key === undefined ? this.#run && { runId: this.#run } : { key: this.#key };
        const body: TurnBody =
          operation === "chat" && typeof input === "string"
            ? { type: "ChatRequest", input }
            : { type: "OperationRequest", operation, input };
        const request = toTurnRequest(body, requestId, { ...given, ...to, attachments });
        const { requestId: id, runId, end } = await this.#requests.begin(request);
        this.#options.delete(requestId);
        if (end) {
          // It only reads, so it is in no log.
          outputOf(end);
          this.#sent = others();
          return;
        }
        // A server of the draft names the run only by its events.
        const run = runId ?? (await this.#requests.status(id)).run_id;
        if (run !== this.#run) this.#take(run);
        this.#connect();
      } catch (thrown) {
        const error = thrown as AgentError;
        // The message stays in sight, with why it was not accepted.
        this.#sent = this.#sent.map((one) => (one.requestId === requestId ? { ...sent, error } : one));
        throw error;
      } finally {
        this.#show();
      }
    });
    this.#last = accepted.catch(() => {});
    return accepted;
  }

  async #upload(files: readonly (File | Upload)[]): Promise<readonly ArtifactId[]> {
    const uploads = files.map((file) => this.#requests.upload(file instanceof Blob ? toUpload(file) : file));
    return (await Promise.all(uploads)).map(({ artifactId }) => artifactId);
  }

  /** Makes the run of a branch, when its first message is sent. */
  async #fork(): Promise<void> {
    if (this.#end === undefined || this.#run === undefined) return;
    const left = this.#run;
    const made = await this.#onRun(left, "fork", { after: this.#end });
    this.#key = undefined;
    this.#branches = [...this.#branches.filter((run) => run !== left), left];
    const { view } = this.#state;
    this.#take((made as { readonly run_id: RunId }).run_id);
    this.#before = view;
    this.#connect();
  }

  /** Does something with a run. It is not repeated: after one that has reached the server, the run is another one. */
  async #onRun(run: RunId, action: string, body?: JsonObject): Promise<unknown> {
    const path = `/runs/${encodeURIComponent(run)}/${action}`;
    return (await this.#requests.server.wire.ask("POST", path, { body })).json;
  }

  /** Has another run, or none. */
  #take(run: RunId | undefined): void {
    this.#disconnect();
    this.#store = undefined;
    this.#fault = undefined;
    this.#end = undefined;
    this.#before = undefined;
    this.#isRemembered = false;
    this.#run = run;
    this.#memory?.write(run);
  }

  /** Takes up the run that is remembered. */
  #remember(): void {
    if (this.#run !== undefined || this.#key !== undefined) return;
    this.#run = this.#memory?.read();
    this.#isRemembered = this.#run !== undefined;
  }

  #connect(): void {
    if (this.#listeners.size === 0 || this.#unsubscribe) return;
    this.#remember();
    if (this.#run !== undefined) {
      const run = this.#run;
      this.#store ??= followStore((options) => followRun(this.#requests, run, options));
      this.#unsubscribe = this.#store.subscribe(() => this.#show());
      this.#show();
    } else if (this.#key !== undefined && this.#search === undefined) this.#find(this.#key);
  }

  #disconnect(): void {
    this.#unsubscribe?.();
    this.#unsubscribe = undefined;
    this.#search?.abort();
    this.#search = undefined;
  }

  /** Finds the run of the actor, and waits until it is there. */
  #find(key: string): void {
    const search = new AbortController();
    this.#search = search;
    const { signal } = search;
    const find = async (): Promise<RunId | undefined> => {
      const requests = this.#requests;
      const { items } = await requests.list<RunSummary>("/runs", { query: { key, limit: 1 }, signal });
      if (items[0]) return items[0].run_id;
      for await (const row of streamRunChanges(requests.wire, { signal }))
        if (!("removed" in row) && row.key === key) return row.run_id;
      return undefined;
    };
    find().then(
      (run) => {
        if (signal.aborted || run === undefined) return;
        this.#take(run);
        this.#connect();
      },
      (thrown: unknown) => {
        if (signal.aborted) return;
        this.#fault = thrown as AgentError;
        this.#show();
      },
    );
  }

  #show(): void {
    const { view: read = nothing, error: lost } = this.#store ?? {};
    // What was remembered is gone: the conversation begins anew.
    if (this.#isRemembered && hasCode(lost, "not_found", "gone")) this.#take(undefined);
    // The actor continues in another run.
    if (this.#key !== undefined && read.renewedTo !== undefined) {
      this.#take(read.renewedTo);
      return this.#connect();
    }
    const store = this.#store;
    const whole = read.head === 0 ? (this.#before ?? nothing) : read;
    const view = this.#end === undefined ? whole : (store?.at(this.#end) ?? nothing);
    const started = new Set(whole.turns.map(({ requestId }) => requestId));
    this.#sent = this.#sent.filter(({ requestId }) => !started.has(requestId));
    this.#state = {
      ...toStatus(view, this.#sent, this.#fault ?? store?.error, store?.connection.state),
      runId: this.#run,
      view,
      sent: this.#sent,
      branches: this.#branches,
      connection: store?.connection ?? { state: "idle", since: Date.now() },
    };
    for (const listener of Array.from(this.#listeners)) listener();
  }
}

/** The view of a conversation without a run. */
const nothing = project([]);

/** What a conversation does, and why it does not. */
function toStatus(
  view: RunView,
  sent: readonly SentMessage[],
  fault: AgentError | undefined,
  connection: Connection["state"] | undefined,
): Pick<ConversationState, "status" | "error" | "pending" | "held"> {
  const held = view.turns.find((turn) => turn.held !== undefined)?.held;
  const isSending = sent.some(({ error }) => error === undefined);
  const pending = isSending || view.status === "running";
  const failure = isSending ? undefined : toFailure(view.turns.at(-1));
  const error = sent.at(-1)?.error ?? fault ?? failure;
  let status: ConversationStatus = error ? "failed" : "idle";
  if (isSending) status = "sending";
  if (view.status !== "idle") status = view.status === "running" ? "streaming" : "waiting";
  if (held) status = "held";
  if (connection === "lost") status = "lost";
  return { status, error, pending, held };
}

/** The error of a turn that has failed. */
function toFailure(turn: TurnView | undefined): AgentError | undefined {
  if (turn?.outcome !== "error") return undefined;
  const { error, requestId, agent } = turn;
  const { code = "agent_error", message = "the turn failed" } = error ?? {};
  return new AgentError(code, message, { facts: { request_id: requestId, agent } });
}

function isOpen({ outcome }: TurnView): boolean {
  return outcome === undefined;
}

function toUpload(file: File): Upload {
  return { name: file.name, mimeType: file.type || "application/octet-stream", data: file };
}

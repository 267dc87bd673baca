import { AgentError } from "../../errors.ts";
import type { HeldTurn } from "../../protocol/answers/status.ts";
import type { RequestId, RunId } from "../../protocol/ids.ts";
import type { JsonObject } from "../../protocol/json.ts";
import type { Operations } from "../../runtime/agent/agent.ts";
import type { OperationInput } from "../../runtime/agent/turn-api.ts";
import type { AgentClient } from "../client-api.ts";
import type { AgentCall, AgentCallOptions } from "../call-api.ts";
import { project } from "../../view/fold.ts";
import type { RunView, TurnView, WaitView } from "../../view/run-view.ts";
import { createRunStore } from "./run-store.ts";
import type { Connection, RunStore } from "./run-store.ts";

/** What a page shows of a conversation. */
export interface ConversationState {
  /** The run of the conversation; absent before its first request is accepted. */
  readonly runId: RunId | undefined;
  readonly view: RunView;
  readonly connection: Connection;
  /** Why the newest request was refused, why the connection is lost, or why reading ended. */
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
  /** Cancels the turn that works or waits. */
  cancel(): Promise<void>;
}

/** Options of a request in a conversation. */
export type ConversationOptions = Pick<AgentCallOptions, "attachments" | "metadata" | "onBusy">;

/** Begins a conversation with an agent, or takes one up again by the id of its run. */
export function createConversation<Ops extends Operations>(
  agent: Pick<AgentClient<Ops>, "answer" | "call" | "cancel" | "chat" | "run">,
  runId?: RunId,
): Conversation<Ops> {
  const listeners = new Set<() => void>();
  /** The requests that were sent and have not started. */
  const sent = new Set<RequestId>();
  let store: RunStore | undefined;
  let unsubscribe: (() => void) | undefined;
  let refusal: AgentError | undefined;
  let run = runId;
  /** One request after the other, because the first one creates the run. */
  let last: Promise<unknown> = Promise.resolve();
  let state: ConversationState = {
    runId,
    view: project([]),
    connection: { state: "idle", since: Date.now() },
    error: undefined,
    pending: false,
    held: undefined,
  };

  function show(): void {
    const { view, connection, error } = store ?? state;
    for (const { requestId } of view.turns) sent.delete(requestId);
    const pending = sent.size > 0 || view.status === "running";
    const held = view.turns.find((turn) => turn.held !== undefined)?.held;
    state = { runId: run, view, connection, error: refusal ?? (store && error), pending, held };
    for (const listener of Array.from(listeners)) listener();
  }

  function connect(): void {
    if (run === undefined || listeners.size === 0 || unsubscribe) return;
    store ??= createRunStore(agent, run);
    unsubscribe = store.subscribe(show);
  }

  function send(start: (options: AgentCallOptions) => AgentCall<unknown>): Promise<void> {
    const accepted = last.then(async () => {
      // The store reads the events, so the call itself stops listening as soon as it is accepted.
      const listening = new AbortController();
      const call = start({ ...(run !== undefined && { runId: run }), signal: listening.signal });
      refusal = undefined;
      sent.add(call.requestId);
      show();
      try {
        run = await call.runId;
        connect();
      } catch (thrown) {
        refusal = thrown as AgentError;
        sent.delete(call.requestId);
        throw thrown;
      } finally {
        listening.abort();
        show();
      }
    });
    last = accepted.catch(() => {});
    return accepted;
  }

  return {
    subscribe(listener) {
      const notify = (): void => listener();
      listeners.add(notify);
      connect();
      return () => {
        listeners.delete(notify);
        if (listeners.size > 0) return;
        unsubscribe?.();
        unsubscribe = undefined;
      };
    },
    get state() {
      return state;
    },
    send: (text, options) => send((own) => agent.chat(text, { ...options, ...own })),
    call: (operation, input, options) => send((own) => agent.call(operation, input, { ...options, ...own })),
    async answer(values, waitId) {
      const isAsked = (wait: WaitView): boolean =>
        wait.state === "open" && (waitId === undefined || wait.waitId === waitId);
      const wait = state.view.waits.find(isAsked);
      if (wait === undefined) {
        const fact = waitId === undefined ? "no question is open" : `question ${waitId} is not open`;
        throw new AgentError("conflict", `${fact}, so there is nothing to answer`);
      }
      await agent.answer(wait, values);
    },
    async cancel() {
      const isOpen = (turn: TurnView): boolean => turn.outcome === undefined;
      const turn = state.view.turns.find(isOpen);
      if (turn) await agent.cancel(turn.requestId);
    },
  };
}

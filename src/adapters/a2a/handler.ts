import type {
  AgentCard,
  StreamResponse,
  Task,
  CancelTaskRequest,
  GetTaskRequest,
  ListTasksRequest,
  ListTasksResponse,
  SendMessageRequest,
  SubscribeToTaskRequest,
  TaskPushNotificationConfig,
  GetTaskPushNotificationConfigRequest,
  ListTaskPushNotificationConfigsRequest,
  ListTaskPushNotificationConfigsResponse,
  DeleteTaskPushNotificationConfigRequest,
} from "@a2a-js/sdk";
import {
  A2AError,
  ExtendedAgentCardNotConfiguredError,
  TaskNotCancelableError,
  UnsupportedOperationError,
} from "@a2a-js/sdk/errors";
import type { A2ARequestHandler } from "@a2a-js/sdk/server";
import { AgentError } from "../../errors.ts";
import { withPrefix } from "../../http/messages/mount.ts";
import { cancelRequest } from "../../http/routes/cancel-request.ts";
import { wrongField } from "../../http/messages/wrong-field.ts";
import type { Runtime } from "../../runtime/api.ts";
import type { Feed } from "../../runtime/feeds.ts";
import { toFeed } from "../../runtime/queries/to-feed.ts";
import { acceptTaskMessage } from "./accept.ts";
import type { TaskMoment } from "./accept.ts";
import { contextOf, findTask } from "./place.ts";
import type { TaskPlace } from "./place.ts";
import { getReceiver, listReceivers, removeReceiver, setReceiver } from "./push.ts";
import { toProtocolError, toRpcError } from "./refusal.ts";
import { TaskFold } from "./task-fold.ts";
import { listTasksOf, readFold, sourceOf } from "./tasks.ts";
import type { TaskService } from "./tasks.ts";

/** Finds the task that a stream shows. */
export type FindStreamed = () => Promise<TaskMoment>;

/**
 * The operations of the protocol for one HTTP request. Of a stream it only finds out what is asked for: what the stream shows comes
 * from the log as its reader takes it.
 */
export class TaskHandler implements A2ARequestHandler {
  readonly #service: TaskService;
  readonly #cardOf: () => AgentCard;
  /** What to stream, if the request asks for a stream. */
  streamed: FindStreamed | undefined;

  /** @param cardOf Makes the card of the agent, which one that is no longer served does not have. */
  constructor(service: TaskService, cardOf: () => AgentCard) {
    this.#service = service;
    this.#cardOf = cardOf;
  }

  async getAgentCard(): Promise<AgentCard> {
    return this.#cardOf();
  }

  async getAuthenticatedExtendedAgentCard(): Promise<AgentCard> {
    throw new ExtendedAgentCardNotConfiguredError();
  }

  async sendMessage(asked: SendMessageRequest): Promise<Task> {
    const { historyLength, returnImmediately = false } = asked.configuration ?? {};
    checkLength(historyLength);
    const { place } = await acceptTaskMessage(this.#service, asked);
    const fold = returnImmediately
      ? await readFold(sourceOf(this.#service), place)
      : await this.#awaitTask(place);
    return fold.task({ historyLength });
  }

  sendMessageStream(asked: SendMessageRequest): AsyncGenerator<StreamResponse, void, undefined> {
    this.streamed = () => acceptTaskMessage(this.#service, asked);
    return nothing();
  }

  resubscribe({ id }: SubscribeToTaskRequest): AsyncGenerator<StreamResponse, void, undefined> {
    const { host, agent } = this.#service;
    this.streamed = async () => {
      const place = await findTask(host.runtime, agent, id);
      const { status } = await host.runtime.status(place.requestId);
      if (status === "completed") throw new UnsupportedOperationError(`the task ${id} is over`);
      return { place, after: 0 };
    };
    return nothing();
  }

  async getTask({ id, historyLength }: GetTaskRequest): Promise<Task> {
    checkLength(historyLength);
    const place = await findTask(this.#service.host.runtime, this.#service.agent, id);
    return (await readFold(sourceOf(this.#service), place)).task({ historyLength });
  }

  async cancelTask({ id }: CancelTaskRequest): Promise<Task> {
    const { c, host, agent } = this.#service;
    const place = await findTask(host.runtime, agent, id);
    if ((await host.runtime.status(place.requestId)).status === "completed")
      throw new TaskNotCancelableError(`the task ${id} is over`);
    await cancelRequest(c, host, place);
    return (await readFold(sourceOf(this.#service), place)).task();
  }

  listTasks(asked: ListTasksRequest): Promise<ListTasksResponse> {
    return listTasksOf(this.#service, asked);
  }

  createTaskPushNotificationConfig(asked: TaskPushNotificationConfig): Promise<TaskPushNotificationConfig> {
    return setReceiver(this.#service, asked);
  }

  getTaskPushNotificationConfig(
    asked: GetTaskPushNotificationConfigRequest,
  ): Promise<TaskPushNotificationConfig> {
    return getReceiver(this.#service, asked);
  }

  listTaskPushNotificationConfigs({
    taskId,
  }: ListTaskPushNotificationConfigsRequest): Promise<ListTaskPushNotificationConfigsResponse> {
    return listReceivers(this.#service, taskId);
  }

  deleteTaskPushNotificationConfig(asked: DeleteTaskPushNotificationConfigRequest): Promise<void> {
    return removeReceiver(this.#service, asked);
  }

  /** A task when it has ended, or waits for an answer. */
  #awaitTask(place: TaskPlace): Promise<TaskFold> {
    const { c, host } = this.#service;
    return host.waits.until(c, async (signal) => {
      const { feed, fold } = await openTask(this.#service, place, signal);
      const prefix = host.mount.addressOf(c, "");
      for await (const { events } of feed.pages)
        for (const event of events) fold.take(withPrefix(event, prefix));
      if (signal.aborted && !fold.hasEnded)
        throw new AgentError("unavailable", `the server is stopping; the task ${place.requestId} goes on`);
      fold.endAtWait();
      return fold;
    });
  }
}

/** Opens the events of a task, from its start until it ends, waits for an answer, or waits behind a question of another task. */
export async function openTask(
  { host: { runtime } }: TaskService,
  { agent, runId, requestId }: TaskPlace,
  signal: AbortSignal,
): Promise<{ readonly feed: Feed; readonly fold: TaskFold }> {
  const { created_at: createdAt, status } = await runtime.status(requestId);
  const contextId = await contextOf(runtime, runId);
  const address = { kind: "request", agent, runId, requestId } as const;
  const place = { agent, runId, requestId };
  const events = await runtime.follow(address, { after: 0, filter: { level: "all" }, signal });
  const feed = status === "queued" ? endedBehindQuestion(runtime, place, events) : events;
  return { feed, fold: new TaskFold(place, contextId, createdAt) };
}

/** The handler for a binding that only knows the errors of the protocol. `reached` is called with each operation. */
export function withProtocolErrors(handler: TaskHandler, reached: () => void): A2ARequestHandler {
  return new Proxy(handler, {
    get(target, name) {
      const member: unknown = Reflect.get(target, name, target);
      if (typeof member !== "function") return member;
      return (...given: unknown[]): unknown => {
        if (name !== "getAgentCard") reached();
        const made: unknown = Reflect.apply(member, target, given);
        return made instanceof Promise ? made.catch(rethrow) : made;
      };
    },
  });
}

function rethrow(thrown: unknown): never {
  throw toProtocolError(thrown) ?? new A2AError(toRpcError(thrown).message);
}

/** The handler says what to stream, and streams nothing itself. */
async function* nothing(): AsyncGenerator<StreamResponse, void, undefined> {
  yield* [];
}

function checkLength(length: number | undefined): void {
  if (length === undefined || (Number.isInteger(length) && length >= 0)) return;
  throw wrongField("historyLength", "must be a number from 0");
}

/**
 * The events of a task that is queued, which also end when another task of its context asks something: its own client need not be the
 * one that answers.
 */
function endedBehindQuestion(runtime: Runtime, place: TaskPlace, feed: Feed): Feed {
  return toFeed((sink) => {
    const over = new AbortController();
    const reader = feed.read({
      page: (page) => sink.page(page),
      end(error) {
        over.abort();
        sink.end(error);
      },
    });
    untilBehind(runtime, place, over.signal).then(
      (isBehind) => isBehind && reader.stop(),
      // The events of the task itself tell what is wrong.
      () => {},
    );
    return reader;
  }, feed.finished);
}

/** Resolves with true when the task waits behind a question, and with false when it has begun or is not read any more. */
async function untilBehind(
  runtime: Runtime,
  { agent, runId, requestId }: TaskPlace,
  signal: AbortSignal,
): Promise<boolean> {
  while (!signal.aborted && (await runtime.status(requestId)).status === "queued") {
    if ((await runtime.run(runId)).status === "waiting") return true;
    // Ends when the run waits or has nothing to do.
    const feed = await runtime.follow({ kind: "run", agent, runId }, { signal });
    for await (const page of feed.pages) if (page.last) break;
  }
  return false;
}

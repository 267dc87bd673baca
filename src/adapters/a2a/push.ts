import { A2A_CONTENT_TYPE, StreamResponse } from "@a2a-js/sdk";
import type {
  DeleteTaskPushNotificationConfigRequest,
  GetTaskPushNotificationConfigRequest,
  ListTaskPushNotificationConfigsResponse,
  Task,
  TaskPushNotificationConfig,
} from "@a2a-js/sdk";
import { V03PushNotificationSerializer } from "@a2a-js/sdk/compat/v0_3/server";
import {
  PushNotificationNotSupportedError,
  TaskNotFoundError,
  UnsupportedOperationError,
} from "@a2a-js/sdk/errors";
import type { Push, PushedEvent, PushMessage, PushReceiver } from "../../http/push.ts";
import { wrongField } from "../../http/messages/wrong-field.ts";
import { principalOf } from "../../http/routes/host.ts";
import type { RequestId } from "../../protocol/ids.ts";
import type { Runtime } from "../../runtime/api.ts";
import { findTask, WIRE } from "./place.ts";
import { readFold, sourceOf } from "./tasks.ts";
import type { TaskService } from "./tasks.ts";

/** Adds a receiver of a task, or replaces the one with its id. */
export async function setReceiver(
  service: TaskService,
  config: TaskPushNotificationConfig,
): Promise<TaskPushNotificationConfig> {
  const push = pushOf(service);
  const { c, host, agent } = service;
  const { requestId } = await findTask(host.runtime, agent, config.taskId);
  const checkOpen = async (): Promise<void> => {
    if ((await host.runtime.status(requestId)).status === "completed")
      throw new UnsupportedOperationError(`the task ${requestId} is over`);
  };
  await checkOpen();
  const added = await addReceiver(service, requestId, config);
  try {
    // The end of a task that has just ended may have been told already.
    await checkOpen();
  } catch (thrown) {
    await push.remove({ owner: principalOf(c).owner, requestId }, added.id);
    throw thrown;
  }
  return added;
}

/** Adds a receiver of a task that may not have begun. */
export async function addReceiver(
  service: TaskService,
  requestId: RequestId,
  config: TaskPushNotificationConfig,
): Promise<TaskPushNotificationConfig> {
  const { c } = service;
  const id = config.id === "" ? requestId : config.id;
  const details = {
    version: c.req.header("a2a-version") ?? "0.3",
    prefix: sourceOf(service).prefix,
    headers: headersOf(config),
    scheme: config.authentication?.scheme ?? "",
  };
  const { owner } = principalOf(c);
  await pushOf(service).set({ owner, requestId }, { id, wire: WIRE, url: config.url, details });
  return { ...config, id, taskId: requestId };
}

/** A receiver of a task. The secrets by which it knows the server are not told. */
export async function getReceiver(
  service: TaskService,
  { taskId, id }: GetTaskPushNotificationConfigRequest,
): Promise<TaskPushNotificationConfig> {
  const { configs } = await listReceivers(service, taskId);
  const found = configs.find((config) => config.id === (id === "" ? taskId : id));
  if (found !== undefined) return found;
  throw new TaskNotFoundError(`the task ${taskId} has no receiver ${JSON.stringify(id)}`);
}

/** The receivers of a task. */
export async function listReceivers(
  service: TaskService,
  taskId: string,
): Promise<ListTaskPushNotificationConfigsResponse> {
  const push = pushOf(service);
  const { requestId } = await findTask(service.host.runtime, service.agent, taskId);
  const receivers = await push.list({ owner: principalOf(service.c).owner, requestId });
  return { configs: receivers.map((receiver) => toConfig(taskId, receiver)), nextPageToken: "" };
}

/** Removes a receiver of a task; one that it does not have was removed before. */
export async function removeReceiver(
  service: TaskService,
  { taskId, id }: DeleteTaskPushNotificationConfigRequest,
): Promise<void> {
  const push = pushOf(service);
  const { requestId } = await findTask(service.host.runtime, service.agent, taskId);
  await push.remove({ owner: principalOf(service.c).owner, requestId }, id === "" ? taskId : id);
}

/** What a receiver is told: the task as it was when it asked something or ended, in the version of the client that has named it. */
export async function writeNotification(
  runtime: Runtime,
  { event, ...place }: PushedEvent,
  { details }: PushReceiver,
): Promise<PushMessage | undefined> {
  const { version, prefix, headers } = details as unknown as NotificationDetails;
  const fold = await readFold({ runtime, prefix }, place, event);
  fold.endAtWait();
  const whole = fold.task({ historyLength: 0 });
  // A larger task is left to the receiver to read.
  const isSmall = JSON.stringify(whole).length <= TASK_LENGTH;
  const task = isSmall ? whole : fold.task({ historyLength: 0, artifacts: false });
  const { body, contentType } = serialize(task, version);
  return { body, headers: { ...headers, "content-type": contentType } };
}

/** What is kept of a receiver beside its address. */
interface NotificationDetails {
  readonly version: string;
  readonly prefix: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly scheme: string;
}

const TASK_LENGTH = 262_144;

const legacy = new V03PushNotificationSerializer();

function serialize(task: Task, version: string): { readonly body: string; readonly contentType: string } {
  const update: StreamResponse = { payload: { $case: "task", value: task } };
  if (version !== "1.0") return legacy.serialize(update);
  return { body: JSON.stringify(StreamResponse.toJSON(update)), contentType: A2A_CONTENT_TYPE };
}

function pushOf({ push }: TaskService): Push {
  if (push === undefined) throw new PushNotificationNotSupportedError();
  return push;
}

/** The headers by which a receiver knows the server. */
function headersOf({ token, authentication }: TaskPushNotificationConfig): Record<string, string> {
  const { scheme = "", credentials = "" } = authentication ?? {};
  const headers = {
    ...(token !== "" && { "x-a2a-notification-token": token }),
    ...(scheme !== "" && credentials !== "" && { authorization: `${scheme} ${credentials}` }),
  };
  for (const value of Object.values(headers))
    if (!/^[\x20-\x7e]{1,3072}$/.test(value))
      throw wrongField("authentication", "and the token must be at most 3,072 visible ASCII characters");
  return headers;
}

function toConfig(taskId: string, { id, url, details }: PushReceiver): TaskPushNotificationConfig {
  const { scheme } = details as unknown as NotificationDetails;
  const authentication = scheme === "" ? undefined : { scheme, credentials: "" };
  return { tenant: "", taskId, id, url, token: "", authentication };
}

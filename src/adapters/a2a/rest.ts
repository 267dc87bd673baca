import {
  A2A_CONTENT_TYPE,
  ListTasksRequest,
  ListTasksResponse,
  SendMessageRequest,
  ListTaskPushNotificationConfigsResponse,
  StreamResponse,
  Task,
  TaskPushNotificationConfig,
} from "@a2a-js/sdk";
import {
  restStatusFor,
  RequestMalformedError,
  toRestErrorBody,
  VersionNotSupportedError,
} from "@a2a-js/sdk/errors";
import { AgentError } from "../../errors.ts";
import { readJson } from "../../http/messages/body.ts";
import { reply, replyEmpty } from "../../http/messages/reply.ts";
import { isObject } from "../../protocol/json.ts";
import type { Fields } from "../../protocol/json.ts";
import type { TaskHandler } from "./handler.ts";
import { toProtocolError } from "./refusal.ts";
import { streamTask } from "./stream.ts";
import { checkTenant } from "./place.ts";
import type { TaskService } from "./tasks.ts";

/** Answers a request below `/v1`. Clients of 0.3 have their own form of this binding, which is not served. */
export async function answerRest(service: TaskService, handler: TaskHandler): Promise<Response> {
  const { c } = service;
  try {
    const version = c.req.header("a2a-version") ?? "0.3";
    if (version !== "1.0")
      throw new VersionNotSupportedError(
        `this binding is of version 1.0, not ${version}; JSON-RPC serves 0.3, too`,
      );
    return await answer(service, handler);
  } catch (thrown) {
    const known = toProtocolError(thrown);
    if (known === undefined) throw thrown;
    const status = restStatusFor(known);
    return reply(c, JSON.stringify(toRestErrorBody(known, status)), { status });
  }
}

async function answer(service: TaskService, handler: TaskHandler): Promise<Response> {
  const { c } = service;
  const send = (value: unknown): Response => reply(c, JSON.stringify(value), { type: A2A_CONTENT_TYPE });
  const stream = (): Promise<Response> => {
    if (handler.streamed === undefined) throw new AgentError("internal", "nothing to stream");
    return streamTask(service, handler.streamed, (update) => StreamResponse.toJSON(update));
  };
  const [, tenant, path = ""] = PATH.exec(c.req.param("path") ?? "") ?? [];
  checkTenant(c, tenant ?? c.req.query("tenant"));
  const [, taskId, receiver] = RECEIVERS.exec(path) ?? [];
  if (taskId !== undefined) return answerReceivers(service, handler, { taskId, id: receiver ?? "" });
  const [, id = "", action] = TASK.exec(path) ?? [];
  switch (`${c.req.method} ${id === "" ? path : `tasks/*${action ?? ""}`}`) {
    case "POST message:send":
      return send({ task: Task.toJSON(await handler.sendMessage(await readMessage(service))) });
    case "POST message:stream":
      await handler.sendMessageStream(await readMessage(service)).next();
      return stream();
    case "GET tasks": {
      const query = c.req.query();
      const asked = ListTasksRequest.fromJSON(query);
      const includeArtifacts = query["includeArtifacts"] === "true";
      const list = await handler.listTasks({ ...asked, includeArtifacts });
      const { tasks = [], ...rest } = ListTasksResponse.toJSON(list) as {
        readonly tasks?: readonly object[];
      };
      return send({ nextPageToken: "", totalSize: 0, ...rest, tasks });
    }
    case "GET tasks/*": {
      const length = c.req.query("historyLength");
      const historyLength = length === undefined || length === "" ? undefined : Number(length);
      return send(Task.toJSON(await handler.getTask({ tenant: "", id, historyLength })));
    }
    case "POST tasks/*:cancel":
      return send(Task.toJSON(await handler.cancelTask({ tenant: "", id, metadata: undefined })));
    case "GET tasks/*:subscribe":
    case "POST tasks/*:subscribe":
      await handler.resubscribe({ tenant: "", id }).next();
      return stream();
    default:
      throw noRoute(service);
  }
}

/** Answers about the receivers of a task. */
async function answerReceivers(
  service: TaskService,
  handler: TaskHandler,
  { taskId, id }: { readonly taskId: string; readonly id: string },
): Promise<Response> {
  const { c } = service;
  const send = (value: unknown): Response => reply(c, JSON.stringify(value), { type: A2A_CONTENT_TYPE });
  const asked = { tenant: "", taskId, id };
  switch (`${c.req.method}${id === "" ? "" : " one"}`) {
    case "POST": {
      const given = await readObject(service, (body) => TaskPushNotificationConfig.fromJSON(body));
      const config = await handler.createTaskPushNotificationConfig({ ...given, taskId });
      const made = JSON.stringify(TaskPushNotificationConfig.toJSON(config));
      return reply(c, made, { status: 201, type: A2A_CONTENT_TYPE });
    }
    case "GET": {
      const list = await handler.listTaskPushNotificationConfigs({ ...asked, pageSize: 0, pageToken: "" });
      return send({ configs: [], ...(ListTaskPushNotificationConfigsResponse.toJSON(list) as object) });
    }
    case "GET one":
      return send(TaskPushNotificationConfig.toJSON(await handler.getTaskPushNotificationConfig(asked)));
    case "DELETE one":
      await handler.deleteTaskPushNotificationConfig(asked);
      return replyEmpty(c);
    default:
      throw noRoute(service);
  }
}

function noRoute({ c }: TaskService): AgentError {
  return new AgentError("not_found", `there is no route ${c.req.method} ${c.req.param("path") ?? ""}`);
}

/** A path may begin with the tenant. */
const PATH = /^(?:(?!tasks(?:\/|$))([^/]+)\/(?=tasks(?:\/|$)|message:))?(.*)$/;
const RECEIVERS = /^tasks\/([^/:]+)\/pushNotificationConfigs(?:\/([^/]+))?$/;
const TASK = /^tasks\/([^/:]+)(:[a-z]+)?$/;

function readMessage(service: TaskService): Promise<SendMessageRequest> {
  return readObject(service, (body) => SendMessageRequest.fromJSON(body));
}

/** Reads the body by a codec of the package. */
async function readObject<Read>({ c, host }: TaskService, decode: (body: Fields) => Read): Promise<Read> {
  const body = await readJson(c, host.bodyLimitBytes);
  if (!isObject(body)) throw new RequestMalformedError("the body must be a JSON object");
  checkTenant(c, body["tenant"]);
  return readWire(() => decode(body));
}

/** The codec of the package throws errors of its own for a body that is not a message. */
function readWire<Read>(read: () => Read): Read {
  try {
    return read();
  } catch (thrown) {
    throw new RequestMalformedError({ message: "the body is not that of the route", cause: thrown });
  }
}

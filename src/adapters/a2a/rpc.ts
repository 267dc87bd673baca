import { StreamResponse } from "@a2a-js/sdk";
import { LegacyJsonRpcTransportHandler, V03PushNotificationSerializer } from "@a2a-js/sdk/compat/v0_3/server";
import { A2A_ERROR_CODE, RequestMalformedError, VersionNotSupportedError } from "@a2a-js/sdk/errors";
import { JsonRpcTransportHandler, ServerCallContext } from "@a2a-js/sdk/server";
import { readJson } from "../../http/messages/body.ts";
import { reply } from "../../http/messages/reply.ts";
import { isObject } from "../../protocol/json.ts";
import { withProtocolErrors } from "./handler.ts";
import type { TaskHandler } from "./handler.ts";
import { checkTenant } from "./place.ts";
import { toRpcError } from "./refusal.ts";
import { streamTask } from "./stream.ts";
import type { TaskService } from "./tasks.ts";

/** Answers a JSON-RPC request in the version that it names; without one it is of 0.3. */
export async function answerRpc(service: TaskService, handler: TaskHandler): Promise<Response> {
  const { c, host } = service;
  const body = await readJson(c, host.bodyLimitBytes);
  const id = idOf(body);
  const send = (envelope: object): Response => reply(c, JSON.stringify(envelope));
  const refuse = (thrown: unknown): Response => send({ jsonrpc: "2.0", id, error: toRpcError(thrown) });
  const version = c.req.header("a2a-version") ?? LEGACY;
  const isLegacy = version === LEGACY;
  if (!isLegacy && version !== "1.0")
    return refuse(new VersionNotSupportedError(`the version ${version} is neither 1.0 nor 0.3`));
  if (!isObject(body)) return refuse(new RequestMalformedError("the body must be a JSON object"));
  const { params } = body;
  let isRead = false;
  const inner = withProtocolErrors(handler, () => {
    isRead = true;
  });
  const transport = isLegacy ? new LegacyJsonRpcTransportHandler(inner) : new JsonRpcTransportHandler(inner);
  const context = new ServerCallContext({ requestedVersion: version });
  try {
    checkTenant(c, isObject(params) ? params["tenant"] : undefined);
    const answer = await transport.handle({ ...body }, context);
    if (!(Symbol.asyncIterator in answer)) {
      // The codecs of the package throw errors of their own for params that do not fit the method.
      const isMisread =
        !isRead && isObject(answer.error) && answer.error["code"] === A2A_ERROR_CODE.INTERNAL_ERROR;
      return isMisread
        ? refuse(new RequestMalformedError("the params are not those of the method"))
        : send(answer);
    }
    // The handler streams nothing itself: it says what to stream.
    await answer.next();
    const { streamed } = handler;
    if (streamed === undefined) return refuse(new Error("nothing to stream"));
    const encode = isLegacy ? toLegacy : (update: StreamResponse) => StreamResponse.toJSON(update);
    return await streamTask(service, streamed, (update) => ({ jsonrpc: "2.0", id, result: encode(update) }));
  } catch (thrown) {
    return refuse(thrown);
  }
}

const LEGACY = "0.3";

const serializer = new V03PushNotificationSerializer();

/** An update as clients of 0.3 read it. */
function toLegacy(update: StreamResponse): unknown {
  return JSON.parse(serializer.serialize(update).body);
}

function idOf(body: unknown): string | number | null {
  const id = isObject(body) ? body["id"] : null;
  return typeof id === "string" || typeof id === "number" ? id : null;
}

import { createHmac, timingSafeEqual } from "node:crypto";
import type { Context } from "hono";
import { AgentError } from "../errors.ts";
import type { Adapter } from "../http/adapter.ts";
import type { AppEnv } from "../http/messages/app-env.ts";
import { readBytes } from "../http/messages/body.ts";
import { toProblem } from "../http/messages/problem.ts";
import { reply } from "../http/messages/reply.ts";
import { DEFAULT_OWNER } from "../ports/principal.ts";
import type { Principal } from "../ports/principal.ts";
import type { RequestId } from "../protocol/ids.ts";
import type { Json } from "../protocol/json.ts";
import { sha256 } from "../shared/sha256.ts";

/** A message of a foreign sender, as it has arrived. */
export interface ForeignDelivery {
  readonly headers: Headers;
  /** The body as it was sent, which signatures cover. */
  readonly body: string;
}

/** What a message is for an agent. */
export interface ForeignRequest {
  /** The id of the delivery, which is the same when the sender sends it again: one id is one turn. */
  readonly id: string;
  readonly operation: string;
  readonly input: Json;
  /** The key of the run; default: a new run. */
  readonly key?: string;
}

/** How the messages of a foreign sender become requests. */
export interface WebhookInOptions {
  /** The path is `/webhooks/` and this name: 1 to 64 letters, digits, `-` and `_`. */
  readonly name: string;
  readonly agent: string;
  /** Whose requests they are. Default: the owner `default`. */
  readonly owner?: string;
  /** Whether a message is from the sender: its own check of the signature. May throw, which also refuses it. */
  readonly verify: (delivery: ForeignDelivery) => boolean | Promise<boolean>;
  /** The request of a message that is from the sender; `undefined` to take it and do nothing. */
  readonly toRequest: (delivery: ForeignDelivery) => ForeignRequest | undefined;
  /** Maximum size of a message. Default 1 MiB. */
  readonly limitBytes?: number;
}

/** How a foreign sender signs its messages. */
export interface HmacSignature {
  /** The header with the signature, for example `x-hub-signature-256`. */
  readonly header: string;
  /** What the header has before the signature, for example `sha256=`. Default: nothing. */
  readonly prefix?: string;
  /** What both sides know; not empty. */
  readonly secret: string;
}

/**
 * The `verify` of a webhook whose sender signs the body with HMAC-SHA256 in hexadecimal, as GitHub does. Throws `invalid_request`
 * for an empty secret, for example of a variable that is not set.
 */
export function hmacSignature({ header, prefix = "", secret }: HmacSignature): WebhookInOptions["verify"] {
  if (secret === "")
    throw new AgentError("invalid_request", `the secret of the signature in ${header} is empty`);
  return ({ headers, body }) => {
    const given = Buffer.from(headers.get(header) ?? "");
    const right = Buffer.from(prefix + createHmac("sha256", secret).update(body).digest("hex"));
    return given.length === right.length && timingSafeEqual(given, right);
  };
}

/**
 * Takes messages of a foreign sender such as GitHub or Stripe at `POST /webhooks/{name}`, without the server's own tokens:
 * `serve(runtime, { adapters: [webhook({ … })] })`. A delivery that is repeated is one turn, also after a restart.
 */
export function webhook(options: WebhookInOptions): Adapter {
  const { name, agent, verify, toRequest, limitBytes = 1_048_576, owner = DEFAULT_OWNER } = options;
  const sender: Principal = { id: `webhook ${name}`, owner, roles: ["user"] };
  if (!/^[\w-]{1,64}$/.test(name)) {
    throw new AgentError("invalid_request", `${JSON.stringify(name)} is not a name of a webhook`);
  }
  const path = `/webhooks/${name}`;

  async function take(c: Context<AppEnv>): Promise<ForeignRequest | undefined> {
    const given = {
      headers: c.req.raw.headers,
      body: Buffer.from(await readBytes(c, limitBytes)).toString("utf8"),
    };
    let isTheirs = false;
    try {
      isTheirs = await verify(given);
    } catch {
      // A check that fails has not succeeded.
    }
    if (!isTheirs) throw new AgentError("unauthorized", "the signature of the message is wrong");
    try {
      return toRequest(given);
    } catch (cause) {
      throw new AgentError("unprocessable", "the message cannot be understood", { cause });
    }
  }

  return {
    name: `webhook ${name}`,
    roots: ["webhooks"],
    owns: (asked) => asked === path,
    open: (asked) => asked === path,
    toRefusal: (error) => ({ body: toProblem(error).body, type: "application/problem+json" }),
    addRoutes(app, host, place) {
      if (place.agent !== undefined) return;
      app.post(path, async (c) => {
        const wanted = await take(c);
        if (wanted === undefined) return reply(c, JSON.stringify({ ignored: true }));
        const { id, operation, input, key } = wanted;
        const receipt = await host.as(c, sender).runtime.process(agent, {
          type: "OperationRequest",
          operation,
          input,
          ...(key !== undefined && { key }),
          request_id: `in-${await sha256(`${name} ${id}`)}` as RequestId,
        });
        return reply(c, JSON.stringify({ request_id: receipt.requestId, replayed: receipt.replayed }), {
          status: 202,
        });
      });
    },
  };
}

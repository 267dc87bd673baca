import { readTools } from "../../http/messages/client-tools.ts";
import type { Context } from "hono";
import * as z from "zod";
import { AgentError } from "../../errors.ts";
import type { AppEnv } from "../../http/messages/app-env.ts";
import { readJson } from "../../http/messages/body.ts";
import { withPrefix } from "../../http/messages/mount.ts";
import { reply } from "../../http/messages/reply.ts";
import { wrongField } from "../../http/messages/wrong-field.ts";
import type { Host } from "../../http/routes/host.ts";
import { replyWithStream } from "../../http/sse/reply-with-stream.ts";
import { jsonObject, runId } from "../../protocol/fields.ts";
import { ChatCollector, ChatFrames, toFrame } from "./chat.ts";
import type { ChatResult } from "./chat.ts";
import { readSaid, toEarlier } from "./content.ts";
import { findModel } from "./models.ts";
import { checkFormat, checkSupported, readParameters } from "./parameters.ts";
import { followAnswer } from "./place.ts";
import type { AnswerPlace } from "./place.ts";
import { toServerError } from "./refusal.ts";
import { IDEMPOTENCY_HEADER, readIdempotencyKey, startTurn } from "./start-turn.ts";
import type { ModelRequest } from "./start-turn.ts";
import { readResults } from "./tools.ts";

/** The header that names the run of a request and of its answer. */
export const RUN_HEADER = "x-run-id";

/** Answers the newest message of a conversation. */
export async function completeChat(c: Context<AppEnv>, host: Host): Promise<Response> {
  const { turn, stream, withUsage } = readChat(c, host, await readJson(c, host.bodyLimitBytes));
  if (!stream) return sendChat(c, host, await startTurn(host, turn));
  return replyWithStream(c, host, {
    id: undefined,
    async open(signal) {
      const place = await startTurn(host, turn);
      const feed = await followAnswer(host.runtime, place, signal);
      const frames = new ChatFrames(place, withUsage);
      const prefix = host.mount.addressOf(c, "");
      return {
        feed,
        after: undefined,
        headers: { [RUN_HEADER]: place.runId },
        format: {
          // A client of this protocol does not reconnect by itself.
          endless: true,
          opening: "",
          event: (text) => frames.take(withPrefix(text, prefix)),
          get hasEnded() {
            return frames.hasEnded;
          },
          heartbeat: () => ": heartbeat\n\n",
          end: (leaving) => (leaving ? toFrame({ error: stopping(place) }) : frames.endAtWait()),
        },
      };
    },
  });
}

async function sendChat(c: Context<AppEnv>, host: Host, place: AnswerPlace): Promise<Response> {
  const prefix = host.mount.addressOf(c, "");
  const result = await host.waits.until(c, (signal) => collectChat(host, place, { prefix, signal }));
  const headers = { [RUN_HEADER]: place.runId };
  if (result.type === "completion") return reply(c, JSON.stringify(result.body), { headers });
  // Their clients would send the request again, as another turn.
  return reply(c, JSON.stringify(result.body), {
    status: result.status,
    headers: { ...headers, "x-should-retry": "false" },
  });
}

async function collectChat(
  { runtime }: Host,
  place: AnswerPlace,
  { prefix, signal }: { readonly prefix: string; readonly signal: AbortSignal },
): Promise<ChatResult> {
  const collector = new ChatCollector(place);
  for await (const { events } of (await followAnswer(runtime, place, signal)).pages) {
    for (const event of events) collector.take(withPrefix(event, prefix));
    if (collector.result !== undefined) return collector.result;
  }
  if (signal.aborted) throw new AgentError("unavailable", stopping(place).message);
  const result = collector.endAtWait();
  if (result !== undefined) return result;
  throw new AgentError("internal", "the request has no answer");
}

/** What a chat is, as its body says it. */
interface Chat {
  readonly turn: ModelRequest;
  readonly stream: boolean;
  readonly withUsage: boolean;
}

function readChat(c: Context<AppEnv>, host: Host, body: unknown): Chat {
  const { known, others } = readParameters(body, FIELDS);
  const { stream = false, stream_options: options, metadata = {}, messages } = known;
  const { response_format: format, ...given } = others;
  checkSupported(given);
  const model = findModel(host.runtime, known.model);
  const { tools, others: parameters } = readTools(host.runtime, model.agent, given);
  const answers = readResults(messages);
  checkFormat(host.runtime, model, { format, parameter: "response_format" });
  const newest = messages.length - 1;
  const { role, content } = messages[newest] ?? {};
  if (role !== "user" && answers.length === 0)
    throw wrongField(
      `messages.${newest}.role`,
      "must be user or tool: the newest message is the one to answer",
    );
  const field = `messages.${newest}.content`;
  return {
    turn: {
      model,
      field,
      said: readSaid(answers.length === 0 ? content : "", field),
      answers,
      tools,
      idempotencyKey: readIdempotencyKey(c.req.header(IDEMPOTENCY_HEADER)),
      earlier: toEarlier(messages.slice(0, newest), "messages"),
      metadata: { ...metadata, ...(Object.keys(parameters).length > 0 && { parameters }) },
      runId:
        readRunId(c.req.header(RUN_HEADER), RUN_HEADER) ?? readRunId(metadata["run_id"], "metadata.run_id"),
    },
    stream,
    withUsage: options?.include_usage === true,
  };
}

const FIELDS = {
  model: z.string(),
  messages: z
    .array(
      z.object({
        role: z.enum(["user", "assistant", "system", "developer", "tool", "function"]),
        content: z.unknown(),
        tool_call_id: z.string().optional(),
      }),
    )
    .min(1),
  stream: z.boolean().optional(),
  stream_options: z.object({ include_usage: z.boolean().nullish() }).optional(),
  metadata: jsonObject.optional(),
};

function readRunId(given: unknown, field: string): string | undefined {
  if (given === undefined) return undefined;
  const parsed = runId.safeParse(given);
  if (parsed.success) return parsed.data;
  throw wrongField(field, "must be the id of a run");
}

/** Ends a stream whose answer goes on in the log. */
function stopping({ runId: run }: AnswerPlace): ReturnType<typeof toServerError> {
  const message = `the server is stopping; the agent goes on, and GET /events/${run} has the answer`;
  return toServerError(message, "unavailable");
}

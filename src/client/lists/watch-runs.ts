import { AgentError } from "../../errors.ts";
import { isObject } from "../../protocol/json.ts";
import type { RunChange } from "../client-api.ts";
import { followLimits } from "../stream/follow-settings.ts";
import { PageWatch } from "../stream/page.ts";
import { SseReader } from "../stream/sse-reader.ts";
import { chunksOf } from "../wire/body.ts";
import { pause, within } from "../wire/clock.ts";
import { isTransient } from "../wire/problem.ts";
import { backoffMs } from "../wire/retry.ts";
import type { OpenReply, Wire } from "../wire/wire.ts";

/**
 * Follows the list of runs across reconnects. The rows have no ids, so each connection begins with the first page again;
 * of two rows of a run the one with the later `updated_at` is the newer one.
 */
export async function* watchRuns(
  wire: Wire,
  signal: AbortSignal | undefined,
): AsyncGenerator<RunChange, void> {
  const { clock } = wire;
  const page = new PageWatch(clock);
  try {
    for (let failures = 0; ; failures += 1) {
      try {
        const reply = await connect(wire, page.with(signal));
        for await (const changes of readRows(wire, reply)) {
          failures = 0;
          yield* changes;
        }
      } catch (thrown) {
        signal?.throwIfAborted();
        if (page.isAway) await page.shown(signal);
        else if (!isTransient(thrown)) throw thrown;
      }
      await pause(clock, backoffMs(clock, failures), signal);
      signal?.throwIfAborted();
    }
  } finally {
    page.stop();
  }
}

async function connect(wire: Wire, signal: AbortSignal | undefined): Promise<OpenReply> {
  const query = { stream: true };
  const reply = await wire.open("GET", "/runs", { query, headers: { accept: "text/event-stream" }, signal });
  if (reply.response.headers.get("content-type")?.startsWith("text/event-stream") === true) return reply;
  reply.close();
  throw new AgentError("not_found", `${wire.subject} has no stream of runs`, {
    hint: "read the list with client.runs()",
  });
}

async function* readRows(wire: Wire, { response, close }: OpenReply): AsyncGenerator<RunChange[], void> {
  const frames = new SseReader(followLimits.eventBytes);
  const text = new TextDecoder();
  const chunks = chunksOf(response);
  try {
    for (;;) {
      const next = chunks.next();
      next.catch(() => {});
      const chunk = await within(wire.clock, followLimits.idleMs, next);
      if (chunk === undefined)
        throw new AgentError("timeout", `${wire.subject} sent nothing for ${followLimits.idleMs} ms`);
      if (chunk.done === true) return;
      const heard = frames.push(text.decode(chunk.value, { stream: true }));
      yield heard.flatMap(({ data }) => (data === undefined ? [] : toChange(data)));
    }
  } catch (thrown) {
    throw wire.toFault(thrown);
  } finally {
    close();
  }
}

function toChange(data: string): RunChange[] {
  try {
    const row = JSON.parse(data) as unknown;
    return isObject(row) && typeof row["run_id"] === "string" ? [row as unknown as RunChange] : [];
  } catch {
    // The next change of the run brings its row again.
    return [];
  }
}

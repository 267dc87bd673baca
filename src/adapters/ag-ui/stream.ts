import type { Message } from "@ag-ui/core";
import type { Context } from "hono";
import type { AppEnv } from "../../http/messages/app-env.ts";
import { lastEventId } from "../../http/messages/event-query.ts";
import { withPrefix } from "../../http/messages/mount.ts";
import type { StreamFormat } from "../../http/sse/format.ts";
import { replyWithStream } from "../../http/sse/reply-with-stream.ts";
import type { Encoding } from "./encoding.ts";
import { withMemory } from "./memory.ts";
import type { SegmentPlace } from "./place.ts";
import { RunEvents } from "./run-events.ts";
import type { ThreadService } from "./thread.ts";
import type { AgUiEvent } from "./event.ts";

/** Answers with the events of a run as they happen, until its agent asks something or has ended. */
export function streamRun(
  c: Context<AppEnv>,
  { host, state }: ThreadService,
  { encoding, find }: { readonly encoding: Encoding; readonly find: () => Promise<SegmentPlace> },
): Promise<Response> {
  return replyWithStream(c, host, {
    id: undefined,
    async open(signal) {
      const seen = lastEventId(c);
      const place = await find();
      const { agent, thread: runId, requestId } = place;
      const { runtime, mount } = host;
      const address = { kind: "request", agent, runId, requestId } as const;
      const feed = await runtime.follow(address, { after: 0, filter: { level: "all" }, signal });
      const run = new RunEvents(place);
      const remember = async (at: number): Promise<void> =>
        run.remember((await runtime.memory(runId, at)) ?? null);
      return {
        feed: state ? withMemory(feed, remember) : feed,
        after: undefined,
        headers: { "content-type": encoding.type, vary: "accept" },
        format: runFormat(run, encoding, { seen, before: place.before, prefix: mount.addressOf(c, "") }),
      };
    },
  });
}

/** Who reads a run. */
interface RunReader {
  /** The number of the last frame that the reader has. */
  readonly seen: number | undefined;
  readonly before: SegmentPlace["before"];
  /** The address of the server. */
  readonly prefix: string;
}

/** The frames of a run, numbered from 1, without those that its reader has seen. Files have addresses below `prefix`. */
function runFormat(
  run: RunEvents,
  encoding: Encoding,
  { seen = 0, before, prefix }: RunReader,
): StreamFormat {
  let count = 0;

  function toFrames(events: readonly AgUiEvent[]): string {
    let text = "";
    for (const event of events) {
      count += 1;
      if (count === 2 && before !== undefined)
        text += encoding.frame({ type: "MESSAGES_SNAPSHOT", messages: before as Message[] });
      if (count > seen) text += encoding.frame(event, count);
    }
    return text;
  }

  return {
    // A client of this protocol comes back only if its program says so, and takes an end without RUN_FINISHED for an end.
    endless: true,
    breaks: true,
    opening: "",
    event: (text) => toFrames(run.take(withPrefix(text, prefix))),
    get hasEnded() {
      return run.hasEnded;
    },
    isBinary: encoding.isBinary,
    heartbeat: () => (encoding.isBinary ? "" : ": keep-alive\n\n"),
    end: (leaving) => (leaving ? "" : toFrames(run.endAtWait())),
  };
}

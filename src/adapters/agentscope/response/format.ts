import { withPrefix } from "../../../http/messages/mount.ts";
import type { StreamFormat } from "../../../http/sse/format.ts";
import { encodeObject } from "../dialect/dialect.ts";
import type { Dialect } from "../dialect/dialect.ts";
import type { AgentScopeObject } from "../objects.ts";
import type { Projection } from "./projection.ts";

/** The settings of one stream. */
export interface FormatOptions {
  readonly projection: Projection;
  readonly requestId: string;
  readonly dialect: Dialect;
  /** The prefix below which the reader reaches the app. */
  readonly prefix: string;
  /** The last sequence number that the reader has; -1 for none. */
  readonly after: number;
  /** Called when the last object was sent, although the request may continue. */
  ended(): void;
  /** Whether the reader has disconnected. */
  isGone(): boolean;
}

/**
 * The frames of one response: the cursor and one object in one line of JSON. Their browser clients break at a frame
 * without data, at an event name, at a carriage return and at `[DONE]`, so there is none of these. A client of this
 * protocol does not reconnect by itself, so the stream has no maximum life.
 */
export function responseFormat(options: FormatOptions): StreamFormat {
  const { projection, requestId, dialect, prefix, after, ended, isGone } = options;

  function toFrames(objects: readonly AgentScopeObject[]): string {
    let text = "";
    for (const object of objects) {
      if (object.sequence_number !== null && object.sequence_number <= after) continue;
      text += `id: ${projection.cursor}\ndata: ${encodeObject(object, dialect)}\n\n`;
    }
    return text;
  }

  return {
    endless: true,
    opening: "",
    event(text) {
      const frames = toFrames(projection.take(withPrefix(text, prefix)));
      if (projection.hasEnded) ended();
      return frames;
    },
    heartbeat: () => ": heartbeat\n\n",
    end(leaving) {
      if (leaving) return toFrames(projection.interrupt(STOPPING, requestId));
      return isGone() ? "" : toFrames(projection.endAtWait());
    },
  };
}

/** Ends an answer whose response continues in the log. */
const STOPPING = {
  code: "UNAVAILABLE",
  message: "the server is stopping; the agent continues, and the session's stream has the rest",
};

import { idOf } from "../../protocol/events/encode.ts";
import { countTexts, encodeTextAt } from "../../protocol/events/texts.ts";
import type { Texts } from "../../protocol/events/texts.ts";
import { withPrefix } from "../messages/mount.ts";

/** The text of one stream. A stream has its own format object, which may remember what it has sent. */
export interface StreamFormat {
  /** The text before the first event. */
  readonly opening: string;
  /** The text of an encoded event; empty if the stream does not show it. */
  event(text: string): string;
  /** The text of successive texts. Default: `event` of each. */
  texts?(texts: Texts): string;
  /** The text that keeps an idle connection alive. The cursor is the reader's position in the log, if known. */
  heartbeat(cursor: number | undefined): string;
  /**
   * The text after the last event. `leaving` if more events can follow and the reader must come back for them: the
   * server stops, the stream has reached its maximum life, or reading has failed.
   */
  end(leaving: boolean): string;
  /** Whether its last text was given, although events may follow: the stream ends then. Default false. */
  readonly hasEnded?: boolean;
  /** Whether the stream has no maximum life, for readers that cannot come back. Default false. */
  readonly endless?: boolean;
  /**
   * Whether the connection is closed without an end when more events can follow, for readers that take every answer with an end
   * for a whole one, and come back after a broken one. Default false.
   */
  readonly breaks?: boolean;
  /** Whether its texts are bytes, one in each character. Default false. */
  readonly isBinary?: boolean;
}

/** The format of the native protocol, for readers below a prefix. */
export function nativeFormat(prefix: string): StreamFormat {
  if (prefix === "") return AT_THE_ROOT;
  return { ...AT_THE_ROOT, event: (text) => toFrame(withPrefix(text, prefix)) };
}

/**
 * An event as a frame. It has no `event:` line, so that `onmessage` of an EventSource receives it. An encoded
 * event has no line breaks, so one `data:` line is enough.
 */
function toFrame(event: string): string {
  return `id: ${idOf(event)}\ndata: ${event}\n\n`;
}

/** The frames of texts as one string; their ids are known, so no event is searched for its id. */
function toFrames(texts: Texts): string {
  const count = countTexts(texts);
  let frames = "";
  for (let index = 0; index < count; index += 1)
    frames += `id: ${texts.first + index}\ndata: ${encodeTextAt(texts, index)}\n\n`;
  return frames;
}

/** Gives the reader its position even if a filter drops all events. */
function toHeartbeat(cursor: number | undefined): string {
  return cursor === undefined ? ":\n\n" : `id: ${cursor}\n\n`;
}

/**
 * The delay before a reader reconnects. Every stream starts with it, and a stream that closes before its last
 * event also ends with it.
 */
const RETRY = "retry: 1000\n\n";

/** The format of rows without positions. A reader that comes back gets them from the first one on again. */
export const rowFormat: StreamFormat = {
  opening: RETRY,
  event: (row) => `data: ${row}\n\n`,
  heartbeat: () => toHeartbeat(undefined),
  end: () => RETRY,
};

/** Remembers nothing, so all streams share it. */
const AT_THE_ROOT: StreamFormat = {
  opening: RETRY,
  event: toFrame,
  texts: toFrames,
  heartbeat: toHeartbeat,
  end: (leaving) => (leaving ? RETRY : ""),
};

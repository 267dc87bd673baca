import { idOf } from "../../protocol/events/encode.ts";
import { withPrefix } from "../messages/mount.ts";

/**
 * An event as a frame. It has no `event:` line, so that `onmessage` of an EventSource receives it. An encoded
 * event has no line breaks, so one `data:` line is enough.
 */
export function toFrame(event: string, prefix: string): string {
  return `id: ${idOf(event)}\ndata: ${withPrefix(event, prefix)}\n\n`;
}

/** Keeps a connection alive, and gives the reader its position even if a filter drops all events. */
export function toHeartbeat(cursor: number | undefined): string {
  return cursor === undefined ? ":\n\n" : `id: ${cursor}\n\n`;
}

/**
 * The delay before a reader reconnects. Every stream starts with it, and a stream that closes before its last
 * event also ends with it.
 */
export const RETRY = "retry: 1000\n\n";

import { idOf } from "../../protocol/encode.ts";

/**
 * One event as a frame. It has no `event:` line, so that it reaches the `onmessage` of an EventSource;
 * an encoded event has no line breaks, so one `data:` line holds it.
 */
export function toFrame(event: string): string {
  return `id: ${idOf(event)}\ndata: ${event}\n\n`;
}

/** Keeps a connection alive, and tells the reader how far it has come even where a filter hid everything. */
export function toHeartbeat(cursor: number | undefined): string {
  return cursor === undefined ? ":\n\n" : `id: ${cursor}\n\n`;
}

/** Said at the end of a stream that is not over: come back in a second. */
export const COME_BACK = "retry: 1000\n\n";

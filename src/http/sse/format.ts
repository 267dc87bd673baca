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

/**
 * How long a reader waits before it connects again. Every stream opens with it, and a stream that ends before
 * its last event ends with it too.
 */
export const RETRY = "retry: 1000\n\n";

import type { RequestId, RunId } from "../protocol/ids.ts";
import type { JsonObject } from "../protocol/json.ts";
import type { Runtime } from "../runtime/api.ts";

/** Receivers outside that the clients of a wire name for a request; they are told of its questions and of its end. */
export interface Push {
  /** Serves a wire, which writes what its receivers are told. */
  addWire(wire: string, write: WritePush): void;
  /**
   * Adds a receiver of a request, which need not exist yet, or replaces the one with its id. Throws `unprocessable` for an address
   * to which nothing may be sent, and for one receiver too many.
   */
  set(request: PushedRequest, receiver: PushReceiver): Promise<void>;
  /** The receivers of a request. */
  list(request: PushedRequest): Promise<readonly PushReceiver[]>;
  /** Removes a receiver; what was not sent to it yet is not sent. It is removed by itself when it was told of the end of its request. */
  remove(request: PushedRequest, id: string): Promise<void>;
}

/** A request whose receivers are meant. */
export interface PushedRequest {
  readonly owner: string;
  readonly requestId: RequestId;
}

/** Where a client of a wire wants to be told. */
export interface PushReceiver {
  readonly id: string;
  readonly wire: string;
  readonly url: string;
  /** What else the wire keeps of it, for example a token; at most 8 KiB of JSON. It is not readable in the log. */
  readonly details: JsonObject;
}

/** What happened in a request. */
export interface PushedEvent {
  readonly agent: string;
  readonly runId: RunId;
  readonly requestId: RequestId;
  /** The id of the event. */
  readonly event: number;
}

/** What a receiver is sent. */
export interface PushMessage {
  readonly body: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** Writes what a receiver is told of an event, by the runtime of the owner of the request; `undefined` for nothing. */
export type WritePush = (
  runtime: Runtime,
  event: PushedEvent,
  receiver: PushReceiver,
) => Promise<PushMessage | undefined>;

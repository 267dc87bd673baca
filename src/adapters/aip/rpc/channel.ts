import type * as grpc from "@grpc/grpc-js";
import { AgentError } from "../../../errors.ts";
import type { Library } from "../wire/load.ts";
import type { MessageName, MessageTypes } from "../wire/messages.ts";
import { toChannelCredentials } from "./tls.ts";
import { asIs } from "./methods.ts";

/** A bidirectional stream of messages as bytes. */
export type ByteStream = grpc.ClientDuplexStream<Buffer, Buffer>;

/** How long a short call may take. */
const CALL_MS = 10_000;

/** A connection to one address, made on first use. */
export class Channel {
  readonly address: string;
  readonly #library: Library;
  readonly #client: grpc.Client;

  constructor(library: Library, address: string) {
    const { grpc } = library;
    this.address = address;
    this.#library = library;
    this.#client = new grpc.Client(address, toChannelCredentials(library), OPTIONS);
  }

  /** Resolves when the address answers; fails at once if it refuses, else after the time limit. */
  async ready(limitMs: number): Promise<void> {
    const { grpc } = this.#library;
    const channel = this.#client.getChannel();
    const deadline = Date.now() + limitMs;
    for (;;) {
      const state = channel.getConnectivityState(true);
      if (state === grpc.connectivityState.READY) return;
      if (state === grpc.connectivityState.TRANSIENT_FAILURE)
        throw new AgentError("unavailable", `${this.address} refuses connections`);
      await new Promise<void>((resolve, reject) => {
        channel.watchConnectivityState(state, deadline, (late) => {
          if (late === undefined) resolve();
          else reject(new AgentError("unavailable", `${this.address} did not answer within ${limitMs} ms`));
        });
      });
    }
  }

  /** Makes a short call with one answer. */
  call<Request extends MessageName, Response extends MessageName>(
    path: string,
    [request, response]: readonly [Request, Response],
    message: MessageTypes[Request],
    metadata?: Readonly<Record<string, string>>,
  ): Promise<MessageTypes[Response]> {
    const { codecs } = this.#library;
    return new Promise((resolve, reject) => {
      this.#client.makeUnaryRequest(
        path,
        codecs[request].encode,
        codecs[response].decode,
        message,
        this.#toMetadata(metadata),
        { deadline: Date.now() + CALL_MS },
        (error, answer) => (answer === undefined ? reject(error ?? NO_ANSWER) : resolve(answer)),
      );
    });
  }

  /** Passes bytes on to a method with one answer. It takes as long as the method needs, or until the abort. */
  pass(path: string, bytes: Buffer, signal: AbortSignal): Promise<Buffer> {
    return new Promise((resolve, reject) => {
      const call = this.#client.makeUnaryRequest(path, asIs, asIs, bytes, (error, answer) => {
        signal.removeEventListener("abort", cancel);
        if (answer === undefined) reject(error ?? NO_ANSWER);
        else resolve(answer);
      });
      const cancel = (): void => call.cancel();
      if (signal.aborted) cancel();
      else signal.addEventListener("abort", cancel);
    });
  }

  /** Opens a session. */
  stream(path: string): ByteStream {
    return this.#client.makeBidiStreamRequest(path, asIs, asIs);
  }

  /** Opens a stream of answers to one request. */
  follow<Request extends MessageName, Response extends MessageName>(
    path: string,
    [request, response]: readonly [Request, Response],
    message: MessageTypes[Request],
    metadata?: Readonly<Record<string, string>>,
  ): grpc.ClientReadableStream<MessageTypes[Response]> {
    const { codecs } = this.#library;
    return this.#client.makeServerStreamRequest(
      path,
      codecs[request].encode,
      codecs[response].decode,
      message,
      this.#toMetadata(metadata),
    );
  }

  /** Closes the connection after its last call. */
  close(): void {
    this.#client.close();
  }

  #toMetadata(fields: Readonly<Record<string, string>> = {}): grpc.Metadata {
    const metadata = new this.#library.grpc.Metadata();
    for (const [name, value] of Object.entries(fields)) metadata.set(name, value);
    return metadata;
  }
}

/** The library would share one connection between all channels to an address, and keep it after `close`. */
const OPTIONS = { "grpc.use_local_subchannel_pool": 1, "grpc.enable_retries": 0 };

const NO_ANSWER = new AgentError("unavailable", "the call ended without an answer");

import type * as grpc from "@grpc/grpc-js";
import { AgentError } from "../../../errors.ts";
import type { HostPort } from "./address.ts";
import type { Library } from "../wire/load.ts";
import { toDefinition } from "./methods.ts";
import type { ServiceName } from "./methods.ts";
import { allowManyResets } from "./stream-resets.ts";
import { isOwnFault, STATUS, toCallStatus } from "./status.ts";

/** Reports something that an operator should know, and the value that was thrown if it is a fault. */
export type OperatorReport = (message: string, thrown?: unknown) => void;

/** A gRPC server without authentication. It can listen on several ports. */
export class RpcServer {
  readonly #library: Library;
  readonly #server: grpc.Server;
  readonly #checkResets: () => string | undefined;

  constructor(library: Library) {
    this.#library = library;
    this.#server = new library.grpc.Server(OPTIONS);
    this.#checkResets = allowManyResets(this.#server);
  }

  serve(service: ServiceName, handlers: grpc.UntypedServiceImplementation): void {
    this.#server.addService(toDefinition(service, this.#library.codecs), handlers);
  }

  /** Listens on one more port. Returns the port. */
  async listen({ host, port }: HostPort, report: OperatorReport): Promise<number> {
    const credentials = this.#library.grpc.ServerCredentials.createInsecure();
    const bound = await new Promise<number>((resolve, reject) => {
      this.#server.bindAsync(`${host}:${port}`, credentials, (cause, bound) => {
        if (cause === null) resolve(bound);
        else reject(toListenError({ host, port }, cause));
      });
    });
    const problem = this.#checkResets();
    if (problem !== undefined) report(problem);
    return bound;
  }

  /** Stops accepting calls and waits for the open ones; after the time limit they are cut. */
  async stop(graceMs: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#server.tryShutdown(() => resolve());
    const late = setTimeout(() => this.#server.forceShutdown(), graceMs);
    await promise;
    clearTimeout(late);
    this.#server.forceShutdown();
  }
}

/** Finds callers that have disappeared, which would otherwise keep their session. */
const OPTIONS = { "grpc.keepalive_time_ms": 30_000, "grpc.keepalive_timeout_ms": 20_000 };

function toListenError({ host, port }: HostPort, cause: Error): AgentError {
  const fact = cause.message.includes("EADDRINUSE") ? "the port is taken" : cause.message;
  return new AgentError("unavailable", `AIP cannot listen on ${host}, port ${port}: ${fact}`, { cause });
}

/** Makes a handler with one answer. The signal aborts when the caller cancels or is gone. */
export function answering<Request, Response>(
  report: OperatorReport,
  answer: (request: Request, caller: CallerInfo) => Response | Promise<Response>,
): grpc.handleUnaryCall<Request, Response> {
  return (call, callback) => {
    const canceled = new AbortController();
    call.on("cancelled", () => canceled.abort());
    const gatewayId = gatewayIdOf(call.metadata);
    const finish = async (): Promise<void> => {
      try {
        const response = await answer(call.request, { signal: canceled.signal, gatewayId });
        callback(null, response);
      } catch (thrown) {
        if (isOwnFault(thrown)) report(`${call.getPath()} failed`, thrown);
        callback(toCallStatus(thrown));
      }
    };
    void finish();
  };
}

/** What is known of the caller of a method. */
export interface CallerInfo {
  readonly signal: AbortSignal;
  /** The id of the calling gateway, if it is one of this project. */
  readonly gatewayId: string | undefined;
}

/** The metadata field by which gateways of this project recognize each other. */
export const GATEWAY_FIELD = "troupe-gateway";

export function gatewayIdOf(metadata: grpc.Metadata): string | undefined {
  const [id] = metadata.get(GATEWAY_FIELD);
  return typeof id === "string" ? id : undefined;
}

/** Ends a stream with a status. */
export function endWith(
  call: grpc.ServerDuplexStream<unknown, unknown> | grpc.ServerWritableStream<unknown, unknown>,
  thrown: unknown,
): void {
  const { code, details } = toCallStatus(thrown);
  // After a cancel there is no caller that could get a status.
  if (!call.cancelled) call.emit("error", { code: code === 0 ? STATUS.unknown : code, details });
}

import type * as grpc from "@grpc/grpc-js";
import { AgentError } from "../../../errors.ts";
import type { HostPort } from "./address.ts";
import type { Library } from "../wire/load.ts";
import { toDefinition } from "./methods.ts";
import type { ServiceName } from "./methods.ts";
import { toServerCredentials } from "./tls.ts";
import { isOwnFault, STATUS, toCallStatus } from "./status.ts";

/** Reports something that an operator should know, and the value that was thrown if it is a fault. */
export type OperatorReport = (message: string, thrown?: unknown) => void;

/** A gRPC server. It can listen on several ports. */
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
    const credentials = toServerCredentials(this.#library);
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

/**
 * Lets clients of a server cancel many calls at once. Node's HTTP/2 server closes a connection with all its calls
 * after about 1,000 stream resets in a burst. The library has no public option for Node's limit, so this file sets
 * it in the library's own options, before the server listens. Returns a check for afterwards: it returns a warning
 * if the limit could not be raised.
 */
export function allowManyResets(server: grpc.Server): () => string | undefined {
  const internals = server as unknown as Internals;
  Object.assign(internals.commonServerOptions ?? {}, LIMITS);
  return () => (isRaised(internals) ? undefined : WARNING);
}

/** Resets at once, and resets per second after that. Node uses them only if both are set. */
const LIMITS = { streamResetBurst: 100_000, streamResetRate: 10_000 };

/** The first major version of Node that has these options. */
const NODE_MAJOR = 24;

const WARNING =
  "this Node closes an AIP connection with all its calls after about 1,000 canceled calls in a burst; use Node 24 or newer";

function isRaised({ http2Servers }: Internals): boolean {
  const [major = 0] = process.versions.node.split(".").map(Number);
  const servers = [...(http2Servers?.keys() ?? [])];
  return major >= NODE_MAJOR && servers.length > 0 && servers.every(hasLimits);
}

/** Whether an HTTP/2 server of Node got the options. */
function hasLimits(server: object): boolean {
  return Object.getOwnPropertySymbols(server).some((symbol) => {
    const value = (server as Record<symbol, unknown>)[symbol] as typeof LIMITS | null | undefined;
    return value?.streamResetBurst === LIMITS.streamResetBurst;
  });
}

interface Internals {
  readonly commonServerOptions?: object;
  readonly http2Servers?: ReadonlyMap<object, unknown>;
}

import type * as grpc from "@grpc/grpc-js";

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

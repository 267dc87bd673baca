import type * as grpc from "@grpc/grpc-js";
import { AgentError } from "../../../errors.ts";
import { createCodecs, DECODED } from "./codec.ts";
import type { Codecs } from "./codec.ts";

/** What a node needs for TLS; all are texts in the PEM format. */
export interface AipTls {
  /** The private key of this node. Who listens needs it, and a caller where the other side asks for a certificate. */
  readonly key?: string | undefined;
  /** The certificate of this node, and those that lead to the authority. */
  readonly cert?: string | undefined;
  /**
   * The authority of the other nodes. A node that listens with it takes only callers with a certificate of this authority, which is
   * mutual TLS. Without it callers need none, and who calls trusts the authorities of the system.
   */
  readonly ca?: string | undefined;
}

/** The gRPC library, and the codecs of the protocol's messages. */
export interface Library {
  readonly grpc: Omit<typeof grpc, "default">;
  readonly codecs: Codecs;
  /** The keys of the node that uses it; absent without TLS. */
  readonly tls?: AipTls | undefined;
}

/** Loads the optional packages on first use; says what to install if they are missing. */
export async function loadLibrary(tls?: AipTls): Promise<Library> {
  library ??= load().catch((thrown: unknown) => {
    library = undefined;
    throw thrown;
  });
  const loaded = await library;
  return tls === undefined ? loaded : { ...loaded, tls };
}

let library: Promise<Library> | undefined;

async function load(): Promise<Library> {
  const [{ default: grpc }, { default: loader }] = await Promise.all([
    import("@grpc/grpc-js"),
    import("@grpc/proto-loader"),
  ]).catch((cause: unknown) => {
    throw new AgentError(
      "unavailable",
      "AIP needs the packages @grpc/grpc-js and @grpc/proto-loader, and one is missing",
      { hint: "npm install @grpc/grpc-js@1.14 @grpc/proto-loader@0.8", cause },
    );
  });
  const schema = await loader.load(SCHEMA, DECODED);
  return { grpc, codecs: createCodecs(schema) };
}

/** The path from the root of the package is the same for the sources and for the build. */
const SCHEMA = toPath(new URL("../../../../src/adapters/aip/wire/aip.proto", import.meta.url));

function toPath({ pathname }: URL): string {
  const path = decodeURIComponent(pathname);
  // On Windows a path begins with a drive, and in a URL with a slash before it.
  return /^\/[A-Za-z]:\//.test(path) ? path.slice(1) : path;
}

import type * as grpc from "@grpc/grpc-js";
import { AgentError } from "../../../errors.ts";
import type { AipTls, Library } from "../wire/load.ts";

/** Whether only callers with a certificate can connect. */
export function isMutual(tls: AipTls | undefined): boolean {
  return tls?.ca !== undefined;
}

/** The credentials of a server; without `tls` everything is sent as it is. */
export function toServerCredentials({ grpc, tls }: Library): grpc.ServerCredentials {
  if (tls === undefined) return grpc.ServerCredentials.createInsecure();
  const { key, cert, ca } = tls;
  if (key === undefined || cert === undefined)
    throw new AgentError("invalid_request", "AIP over TLS needs a key and a certificate to listen with", {
      hint: "give both, as --aip-key and --aip-cert or as tls: { key, cert }",
    });
  const pair = { private_key: Buffer.from(key), cert_chain: Buffer.from(cert) };
  return grpc.ServerCredentials.createSsl(ca === undefined ? null : Buffer.from(ca), [pair], isMutual(tls));
}

/** The credentials of a caller. */
export function toChannelCredentials({ grpc, tls }: Library): grpc.ChannelCredentials {
  if (tls === undefined) return grpc.credentials.createInsecure();
  const [ca, key, cert] = [tls.ca, tls.key, tls.cert].map((pem) =>
    pem === undefined ? null : Buffer.from(pem),
  );
  try {
    return grpc.credentials.createSsl(ca, key, cert);
  } catch (cause) {
    const fact = cause instanceof Error ? cause.message : String(cause);
    throw new AgentError("invalid_request", `the keys of AIP cannot be used: ${fact}`, {
      hint: "key, cert and ca are texts in the PEM format; key and cert belong together",
      cause,
    });
  }
}

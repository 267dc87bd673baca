import type * as grpc from "@grpc/grpc-js";
import { loadLibrary } from "../../../../src/adapters/aip/wire/load.ts";
import type { MessageTypes } from "../../../../src/adapters/aip/wire/messages.ts";
import { startProxy } from "./proxy.ts";
import type { Proxy } from "./proxy.ts";

const { codecs, grpc: library } = await loadLibrary();

type GetNodes = grpc.sendUnaryData<MessageTypes["GetNodesResponse"]>;

/** A gateway that has nodes and no subscriptions. */
export async function startOldGateway(
  ids: readonly string[],
): Promise<Proxy & AsyncDisposable & { readonly agents: string[] }> {
  const agents = [...ids];
  const server = new library.Server();
  server.addService(
    {
      GetNodes: {
        path: "/grpc_service.GatewayService/GetNodes",
        requestStream: false,
        responseStream: false,
        requestSerialize: codecs.GetNodesRequest.encode,
        requestDeserialize: codecs.GetNodesRequest.decode,
        responseSerialize: codecs.GetNodesResponse.encode,
        responseDeserialize: codecs.GetNodesResponse.decode,
      },
    },
    {
      GetNodes(_call: unknown, callback: GetNodes) {
        const peers = agents.map((id) => ({ agent_info: { agent_id: id, address: `${id}:1` } }));
        callback(null, { peers } as unknown as MessageTypes["GetNodesResponse"]);
      },
    },
  );
  const port = await new Promise<number>((resolve, reject) => {
    server.bindAsync("127.0.0.1:0", library.ServerCredentials.createInsecure(), (error, port) =>
      error ? reject(error) : resolve(port),
    );
  });
  const proxy = await startProxy(port);
  return {
    ...proxy,
    agents,
    async [Symbol.asyncDispose]() {
      proxy.kill();
      server.forceShutdown();
    },
  };
}

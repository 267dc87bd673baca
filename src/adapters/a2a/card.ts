import type { AgentCard } from "@a2a-js/sdk";
import type { AgentDescriptor } from "../../protocol/answers/descriptor.ts";
import { REPEATS } from "./message.ts";

/** What a card says about the server. */
interface CardSettings {
  /** That of the JSON-RPC endpoint of the agent. */
  readonly address: string;
  readonly isGuarded: boolean;
  /** Whether it has push notifications. */
  readonly pushes: boolean;
}

/** What an agent says about itself: its operations are skills. */
export function toCard(
  { name, purpose, version, operations }: AgentDescriptor,
  { address, isGuarded, pushes }: CardSettings,
): AgentCard {
  const one = { tenant: "" };
  return {
    name,
    description: purpose,
    version: version ?? "1",
    provider: undefined,
    supportedInterfaces: [
      { ...one, url: address, protocolBinding: "JSONRPC", protocolVersion: "1.0" },
      { ...one, url: `${address}/v1`, protocolBinding: "HTTP+JSON", protocolVersion: "1.0" },
      { ...one, url: address, protocolBinding: "JSONRPC", protocolVersion: "0.3" },
    ],
    capabilities: {
      streaming: true,
      pushNotifications: pushes,
      extendedAgentCard: false,
      extensions: [
        {
          uri: REPEATS,
          description: "A message that is sent twice is taken once.",
          required: false,
          params: undefined,
        },
      ],
    },
    securitySchemes: isGuarded
      ? {
          bearer: {
            scheme: {
              $case: "httpAuthSecurityScheme",
              value: { description: "", scheme: "bearer", bearerFormat: "" },
            },
          },
        }
      : {},
    securityRequirements: isGuarded ? [{ schemes: { bearer: { list: [] } } }] : [],
    defaultInputModes: ["text/plain", "application/json"],
    defaultOutputModes: ["text/plain", "application/json"],
    skills: operations.map((operation) => ({
      id: operation.name,
      name: operation.name,
      description: operation.description === "" ? purpose : operation.description,
      tags: [name],
      examples: [],
      inputModes: [operation.name === "chat" ? "text/plain" : "application/json"],
      outputModes: [],
      securityRequirements: [],
    })),
    signatures: [],
  };
}

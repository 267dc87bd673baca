import { once } from "node:events";
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import { Role, TaskState } from "@a2a-js/sdk";
import type { AgentCard, Part } from "@a2a-js/sdk";
import { AgentEvent } from "@a2a-js/sdk/server";
import type { AgentExecutor, ExecutionEventBus } from "@a2a-js/sdk/server";

/** An agent as somebody else would write it. */
export class Stranger implements AgentExecutor {
  readonly #waiting = Promise.withResolvers<void>();
  readonly #canceled = Promise.withResolvers<void>();

  waiting(): Promise<void> {
    return this.#waiting.promise;
  }

  canceled(): Promise<void> {
    return this.#canceled.promise;
  }

  async execute(
    { taskId, contextId, userMessage, task }: Parameters<AgentExecutor["execute"]>[0],
    bus: ExecutionEventBus,
  ): Promise<void> {
    const [part] = userMessage.parts;
    const text = part?.content?.$case === "text" ? part.content.value : "";
    const ids = { taskId, contextId };
    const message = (said: string): Parameters<typeof AgentEvent.message>[0] => ({
      ...ids,
      messageId: crypto.randomUUID(),
      role: Role.ROLE_AGENT,
      parts: [toPart(said)],
      metadata: undefined,
      extensions: [],
      referenceTaskIds: [],
    });
    const become = (state: TaskState, said?: string): void =>
      bus.publish(
        AgentEvent.statusUpdate({
          ...ids,
          status: {
            state,
            message: said === undefined ? undefined : message(said),
            timestamp: new Date().toISOString(),
          },
          metadata: undefined,
        }),
      );
    const give = (artifactId: string, parts: Part[], append = false): void =>
      bus.publish(
        AgentEvent.artifactUpdate({
          ...ids,
          artifact: { artifactId, name: "", description: "", parts, metadata: undefined, extensions: [] },
          append,
          lastChunk: false,
          metadata: undefined,
        }),
      );
    if (text === "hi") {
      bus.publish(AgentEvent.message({ ...message("hello"), taskId: "" }));
      bus.finished();
      return;
    }
    if (task === undefined)
      bus.publish(
        AgentEvent.task({
          id: taskId,
          contextId,
          status: {
            state: TaskState.TASK_STATE_SUBMITTED,
            message: undefined,
            timestamp: new Date().toISOString(),
          },
          artifacts: [],
          history: [userMessage],
          metadata: undefined,
        }),
      );
    if (task?.status?.state === TaskState.TASK_STATE_INPUT_REQUIRED) {
      give("answer", [toPart(`got ${text}`)]);
      become(TaskState.TASK_STATE_COMPLETED);
    } else if (text === "talk") {
      become(TaskState.TASK_STATE_WORKING, "thinking");
      give("answer", [toPart("one ")]);
      give("answer", [toPart("two")], true);
      const near = { $case: "raw", value: Buffer.from("bytes") } as const;
      const away = { $case: "url", value: "http://files.example/far.txt" } as const;
      const about = { metadata: undefined, mediaType: "text/plain" };
      give("files", [
        { content: near, filename: "near.txt", ...about },
        { content: away, filename: "far.txt", ...about },
      ]);
      become(TaskState.TASK_STATE_COMPLETED);
    } else if (text === "ask") become(TaskState.TASK_STATE_INPUT_REQUIRED, "Which one?");
    else if (text === "fail") become(TaskState.TASK_STATE_FAILED, "too bad");
    else if (text === "wait") {
      become(TaskState.TASK_STATE_WORKING);
      this.#waiting.resolve();
      await this.#canceled.promise;
      become(TaskState.TASK_STATE_CANCELED);
    }
    bus.finished();
  }

  async cancelTask(): Promise<void> {
    this.#canceled.resolve();
  }
}

function toPart(text: string): Part {
  return { content: { $case: "text", value: text }, metadata: undefined, filename: "", mediaType: "" };
}

export function strangersCard(url: string, streaming: boolean): AgentCard {
  return {
    name: "Stranger",
    description: "Does what strangers do.",
    version: "1",
    provider: undefined,
    supportedInterfaces: [
      { url: `${url}/rpc`, protocolBinding: "JSONRPC", protocolVersion: "1.0", tenant: "" },
    ],
    capabilities: { streaming, pushNotifications: false, extendedAgentCard: false, extensions: [] },
    securitySchemes: {},
    securityRequirements: [],
    defaultInputModes: ["text/plain"],
    defaultOutputModes: ["text/plain"],
    skills: [],
    signatures: [],
  };
}

export async function listen(server: Server): Promise<string> {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

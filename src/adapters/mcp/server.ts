import { isInputRequiredResult, Server } from "@modelcontextprotocol/server";
import { callTool, openSealedCall } from "./call.ts";
import { canElicit } from "./elicitation.ts";
import { listResources, readResource, templatesOf } from "./resources.ts";
import type { McpService } from "./service.ts";
import { ANSWER, answerTool, describeTool, findTool, toolsOf } from "./tools.ts";

/** The server of one HTTP request. It keeps nothing. */
export function createServer(service: McpService): Server {
  const { host, agent } = service;
  const { runtime } = host;
  const about = agent === undefined ? undefined : runtime.describe(agent);
  const server = new Server(
    { name: agent ?? "troupe", version: about?.version ?? "1", ...(about && { description: about.purpose }) },
    {
      capabilities: { tools: {}, resources: {} },
      instructions: INSTRUCTIONS,
      requestState: { verify: (state) => openSealedCall(runtime, state) },
    },
  );
  server.setRequestHandler("tools/list", (_request, ctx) => {
    const canAsk = canElicit(ctx);
    const tools = toolsOf(runtime, agent).map((tool) => describeTool(runtime, tool, { canAsk }));
    return { tools: [...tools, answerTool] };
  });
  server.setRequestHandler("tools/call", async ({ params }, ctx) => {
    const result = await callTool(service, params, ctx);
    if (isInputRequiredResult(result)) return result;
    const tool = findTool(runtime, agent, params.name);
    const { outputSchema } =
      tool === undefined ? answerTool : describeTool(runtime, tool, { canAsk: canElicit(ctx) });
    // The revisions of 2025 have objects alone.
    return server.projectCallToolResult(result, outputSchema);
  });
  server.setRequestHandler("resources/list", () => listResources(service));
  server.setRequestHandler("resources/templates/list", () => ({ resourceTemplates: templatesOf(service) }));
  server.setRequestHandler("resources/read", ({ params }) => readResource(service, params.uri));
  return server;
}

const INSTRUCTIONS = `Each tool is an agent, or an operation of one. The _meta of a result has the run_id, with which the next call goes on in the same conversation. When an agent asks something, the result says so, and the tool ${ANSWER} answers it.`;

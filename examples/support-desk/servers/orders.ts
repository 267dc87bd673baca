// The orders of the shop, as another team serves them: a program that speaks MCP on stdin and stdout.
import { McpServer } from "@modelcontextprotocol/server";
import { StdioServerTransport } from "@modelcontextprotocol/server/stdio";
import { z } from "zod";

const server = new McpServer({ name: "orders", version: "1" });
server.registerTool(
  "get_order",
  {
    description: "Gets an order: what was bought, and for how many cents.",
    inputSchema: z.object({ order: z.string() }),
    outputSchema: z.object({ order: z.string(), item: z.string(), cents: z.int() }),
    annotations: { readOnlyHint: true },
  },
  ({ order }) => {
    const found = { order, item: "a kettle", cents: 1000 + Number(order.replace(/\D/g, "")) };
    return { content: [{ type: "text", text: JSON.stringify(found) }], structuredContent: found };
  },
);
await server.connect(new StdioServerTransport());

// The rules of the shop, as its knowledge base serves them.
import { McpServer } from "@modelcontextprotocol/server";
import { StdioServerTransport } from "@modelcontextprotocol/server/stdio";
import { z } from "zod";

const server = new McpServer({ name: "articles", version: "1" });
server.registerTool(
  "search_articles",
  {
    description: "Finds rules of the shop.",
    inputSchema: z.object({ about: z.string() }),
    annotations: { readOnlyHint: true },
  },
  ({ about }) => ({
    content: [{ type: "text", text: `${about}: broken goods, within 30 days, once a person agrees.` }],
  }),
);
await server.connect(new StdioServerTransport());

export { mcp } from "./mcp.ts";

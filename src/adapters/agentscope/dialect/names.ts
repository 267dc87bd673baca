/** The type of a message in lower case, as the protocol has it. Clients write it in any case. */
export function toMessageType(given: string): string {
  const type = given.toLowerCase();
  return type === JAVA_MCP_CALL ? "mcp_call" : type;
}

/** The type of a message as the Java edition names it. */
export function toJavaType(type: string): string {
  return (type === "mcp_call" ? JAVA_MCP_CALL : type).toUpperCase();
}

/** A key in the spelling of the Java edition: `session_id` becomes `sessionId`. */
export function toCamel(key: string): string {
  return key.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
}

/** A key in the spelling of the protocol: `sessionId` becomes `session_id`. */
export function toSnake(key: string): string {
  return key.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

/** The one type with another name in the Java edition. */
const JAVA_MCP_CALL = "mcp_tool_call";

/** Converts a name of another library to a valid tool name: lower-case letters, digits and `_`. */
export function toToolName(name: string): string {
  const words = name.replaceAll(/([a-z0-9])([A-Z])/g, "$1_$2").toLowerCase();
  const plain = words.replaceAll(/[^a-z0-9_]+/g, "_").replace(/^[^a-z]+/, "");
  return (plain === "" ? "tool" : plain).slice(0, 63);
}

import { createRequire } from "node:module";
import { join } from "node:path";
import { AgentError, isInstance } from "../../errors.ts";
import { modelFromEnv } from "../../llm/ai-sdk/model-from-env.ts";
import { scriptedModel } from "../../llm/scripted-model.ts";
import { readVersion } from "../package-version.ts";
import type { Finding } from "./finding.ts";

/** The versions of Node and troupe. An older Node does not come this far. */
export function checkNode(): Finding[] {
  return [
    { subject: "node", ok: true, message: process.versions.node },
    { subject: "troupe", ok: true, message: readVersion() },
  ];
}

/** Which model the environment names, and whether its packages are installed. */
export function checkModel(): Finding[] {
  const subject = "model";
  const script = scriptedModel([]);
  try {
    const model = modelFromEnv(process.env, script);
    if (model === script) {
      const message = "no model in the environment; agents that have a script use it";
      return [{ subject, ok: true, message }];
    }
    const missing = ["@ai-sdk/openai-compatible"].filter((name) => findVersion(name) === undefined);
    if (missing.length === 0) return [{ subject, ok: true, message: `${model.name}, from the environment` }];
    const message = `${model.name} needs packages that are not installed`;
    return [{ subject, ok: false, message, fix: `npm install ${missing.join(" ")}` }];
  } catch (thrown) {
    if (!isInstance(thrown, AgentError)) throw thrown;
    return [
      { subject, ok: false, message: thrown.message, fix: "correct the variable, for example in .env" },
    ];
  }
}

/** The optional packages, and what each is for. */
export function checkPackages(): Finding[] {
  return Object.entries(OPTIONAL).map(([name, purpose]) => {
    const version = findVersion(name);
    if (version !== undefined) return { subject: "packages", ok: true, message: `${name} ${version}` };
    const message = `${name} is not installed; it is only needed for ${purpose}: npm install ${name}`;
    return { subject: "packages", ok: true, absent: true, message };
  });
}

const OPTIONAL = {
  ai: "models that are named at the AI SDK's gateway",
  "@ai-sdk/openai-compatible": "models that the environment names",
  "@modelcontextprotocol/client": "tools of MCP servers",
  "@modelcontextprotocol/server": "agents as tools of MCP clients",
  "@a2a-js/sdk": "the A2A protocol",
  "@agentclientprotocol/sdk": "agents in editors (troupe acp)",
  "@grpc/grpc-js": "the AIP protocol",
  "@grpc/proto-loader": "the AIP protocol",
  pg: "a log in PostgreSQL",
} as const;

/** The version of a package as the project's files would import it. */
function findVersion(name: string): string | undefined {
  const paths = createRequire(join(process.cwd(), "package.json")).resolve.paths(name) ?? [];
  for (const path of paths) {
    try {
      const { version } = createRequire(import.meta.url)(join(path, name, "package.json")) as {
        readonly version: string;
      };
      return version;
    } catch {
      // Not in this folder.
    }
  }
  return undefined;
}

import { join, relative } from "node:path";
import type { Exit } from "../exit.ts";
import { listAgentFiles, loadAgentFile, loadAgents } from "../agent-files/load-agents.ts";
import { toFinding } from "./finding.ts";
import type { Finding } from "./finding.ts";

/** Loads each agent file, and then all of them together as a server does. */
export async function checkAgents(directory: string): Promise<Finding[]> {
  const subject = "agents";
  const findings: Finding[] = [];
  try {
    for (const file of await listAgentFiles(directory)) findings.push(await checkFile(join(directory, file)));
    if (findings.every(({ ok }) => ok)) await loadAgents(directory);
  } catch (thrown) {
    findings.push(toFinding(subject, thrown, "npx troupe init my-agents creates a project with an agent"));
  }
  return findings;
}

async function checkFile(path: string): Promise<Finding> {
  const shown = relative("", path);
  try {
    const names = (await loadAgentFile(path)).map(({ name }) => name);
    if (names.length > 0) return { subject: "agents", ok: true, message: `${shown}: ${names.join(", ")}` };
    return {
      subject: "agents",
      ok: true,
      message: `${shown} exports no agent; a name that starts with _ says that it is not to`,
    };
  } catch (thrown) {
    const [, missing] = /Cannot find package '([^']+)'/.exec((thrown as Exit).hint ?? "") ?? [];
    return toFinding("agents", thrown, missing === undefined ? `correct ${shown}` : `npm install ${missing}`);
  }
}

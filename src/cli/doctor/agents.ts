import { join, relative } from "node:path";
import { isInstance } from "../../errors.ts";
import { Exit } from "../exit.ts";
import { listAgentFiles, loadAgentFile, loadAgents } from "../agent-files/load-agents.ts";
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

function toFinding(subject: string, thrown: unknown, otherwise: string): Finding {
  if (!isInstance(thrown, Exit)) throw thrown;
  const [place, ...rest] = (thrown.hint ?? "").split("\n");
  const isStack = rest.length > 0 || /^\w*Error\b/.test(place ?? "");
  return {
    subject,
    ok: false,
    message: isStack ? [thrown.message, place, ...rest].join("\n") : thrown.message,
    fix: isStack || thrown.hint === undefined ? otherwise : thrown.hint,
  };
}

import type { WaitView } from "../../../view/run-view.ts";
import { approvalKeyOf, toQuestion } from "../../../view/to-answer.ts";
import type { ResponseBuilder } from "../builders/response.ts";
import type { AgentScopeObject } from "../objects.ts";

/** The objects of a question: a request for approval, the call of a tool that the client runs, or a text. */
export function askQuestion(response: ResponseBuilder, wait: WaitView): AgentScopeObject[] {
  const { requestId, waitId, questions, agent, tool } = wait;
  const asked = {
    request_id: requestId,
    wait_id: waitId,
    request_keys: questions,
    ...(wait.approvers && { approvers: wait.approvers }),
  };
  const metadata = { wait_for_input: asked };
  if (tool !== undefined) {
    const message = response.message({ type: "function_call", metadata });
    const data = { call_id: String(waitId), name: tool.name, arguments: JSON.stringify(tool.args) };
    return [message.inProgress(), message.addContent({ type: "data", data }), message.completed()];
  }
  const name = approvalKeyOf(wait);
  if (name !== undefined) {
    const message = response.message({ type: "mcp_approval_request", metadata });
    const data = {
      id: String(waitId),
      name,
      arguments: JSON.stringify(questions),
      server_label: agent,
    };
    return [message.inProgress(), message.addContent({ type: "data", data }), message.completed()];
  }
  const message = response.message({ metadata });
  const text = wait.question === undefined ? Object.values(questions).join("\n") : toQuestion(wait);
  return [
    message.inProgress(),
    message.addDelta({ type: "text", text }),
    message.contentCompleted(0),
    message.completed(),
  ];
}

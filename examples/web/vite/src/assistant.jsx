// The same conversation with the parts of assistant-ui.
import {
  AssistantRuntimeProvider,
  ComposerPrimitive,
  MessagePrimitive,
  ThreadPrimitive,
  useExternalStoreRuntime,
} from "@assistant-ui/react";
import { createRoot } from "react-dom/client";
import { createClient } from "troupe/client";
import { toAssistantStore, useAgent } from "troupe/react";

const agent = createClient(`${location.origin}/agents`).agent("payments");

// An open question is a call of the tool "question"; its result is the answer.
function Question({ args, result, addResult }) {
  if (result !== undefined) return null;
  return (
    <p role="group" aria-label="Question">
      {Object.values(args.questions).join(" ")}
      <button type="button" onClick={() => addResult({ approved: true })}>
        Yes
      </button>
      <button type="button" onClick={() => addResult({ approved: false })}>
        No
      </button>
    </p>
  );
}

function Message() {
  return (
    <MessagePrimitive.Root className="message">
      <MessagePrimitive.Parts components={{ tools: { by_name: { question: Question } } }} />
    </MessagePrimitive.Root>
  );
}

function Page() {
  const runtime = useExternalStoreRuntime(toAssistantStore(useAgent(agent, { remember: "address" })));
  return (
    <AssistantRuntimeProvider runtime={runtime}>
      <ThreadPrimitive.Root aria-label="Thread">
        <ThreadPrimitive.Messages components={{ Message }} />
        <ComposerPrimitive.Root>
          <ComposerPrimitive.Input aria-label="Message" />
          <ComposerPrimitive.Send>Send</ComposerPrimitive.Send>
        </ComposerPrimitive.Root>
      </ThreadPrimitive.Root>
    </AssistantRuntimeProvider>
  );
}

createRoot(document.querySelector("#root")).render(<Page />);

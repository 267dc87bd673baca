import type { VNode } from "preact";
import { useState } from "preact/hooks";
import { toAgentError } from "../../errors.ts";
import { refusalText } from "../parts/refusal.tsx";
import type { Questions } from "../../protocol/events/events.ts";
import { isObject } from "../../protocol/json.ts";
import type { Json, JsonObject } from "../../protocol/json.ts";
import { Field } from "./form.tsx";
import { emptyDraft, readDraft } from "./draft.ts";
import type { Draft, Fault } from "./draft.ts";
import { answerSchema, yesNoKey } from "./question.ts";

interface QuestionFormProps {
  readonly questions: Questions;
  readonly schema: JsonObject | undefined;
  /** Set while the page shows the past. */
  readonly isDisabled: boolean;
  /** Sends the answer; throws an AgentError if the server refuses it. */
  onAnswer(values: JsonObject): Promise<void>;
}

/** The question of an agent as a form. A question for one boolean is two buttons. */
export function QuestionForm({ questions, schema, isDisabled, onAnswer }: QuestionFormProps): VNode {
  const whole = answerSchema(questions, schema);
  const key = yesNoKey(whole);
  const [isSending, setSending] = useState(false);
  const [faults, setFaults] = useState<readonly Fault[]>([]);
  const [refusal, setRefusal] = useState<string>();

  const send = async (values: JsonObject): Promise<void> => {
    setSending(true);
    setFaults([]);
    setRefusal(undefined);
    try {
      await onAnswer(values);
    } catch (thrown) {
      const error = toAgentError(thrown);
      const found = (error.details.issues ?? []).map(toFault);
      setFaults(found);
      setRefusal(refusalText(error));
      setSending(false);
    }
  };
  const isOff = isDisabled || isSending;
  const refused = refusal !== undefined && (
    <p class="note failed" role="alert">
      {refusal}
    </p>
  );

  if (key !== undefined) {
    return (
      <div class="form">
        <p class="asked" dir="auto">
          {questions[key] ?? key}
        </p>
        <div class="actions">
          <button
            type="button"
            class="button primary"
            disabled={isOff}
            onClick={() => void send({ [key]: true })}
          >
            Yes
          </button>
          <button type="button" class="button" disabled={isOff} onClick={() => void send({ [key]: false })}>
            No
          </button>
        </div>
        {refused}
      </div>
    );
  }
  return (
    <AnswerFields
      schema={whole}
      questions={questions}
      faults={faults}
      isDisabled={isOff}
      onFaults={setFaults}
      onSend={send}
    >
      {refused}
    </AnswerFields>
  );
}

interface AnswerFieldsProps {
  readonly schema: JsonObject;
  readonly questions: Questions;
  readonly faults: readonly Fault[];
  readonly isDisabled: boolean;
  readonly children: VNode | false;
  onFaults(faults: readonly Fault[]): void;
  onSend(values: JsonObject): Promise<void>;
}

function AnswerFields({
  schema,
  questions,
  faults,
  isDisabled,
  children,
  onFaults,
  onSend,
}: AnswerFieldsProps): VNode {
  const [draft, setDraft] = useState<Draft>(() => emptyDraft(schema, schema));
  const labelled = withLabels(schema, questions);
  return (
    <form
      class="form"
      onSubmit={(event) => {
        event.preventDefault();
        const { value, faults: found } = readDraft(labelled, labelled, draft);
        onFaults(found);
        if (found.length === 0) void onSend(isObject(value) ? value : {});
      }}
    >
      <Field
        schema={labelled}
        root={labelled}
        path=""
        label=""
        draft={draft}
        isRequired
        faults={faults}
        isDisabled={isDisabled}
        onDraft={setDraft}
      />
      {children}
      <div class="actions">
        <button type="submit" class="button primary" disabled={isDisabled}>
          Answer
        </button>
      </div>
    </form>
  );
}

/** The schema with the questions as the labels of its properties. */
function withLabels(schema: JsonObject, questions: Questions): JsonObject {
  const { properties } = schema;
  if (!isObject(properties)) return schema;
  const labelled = Object.entries(properties).map(([key, field]) => {
    const question = questions[key];
    const isAsked = question !== undefined && question !== "" && isObject(field);
    return [key, isAsked ? { ...field, title: question } : field] as const;
  });
  return { ...schema, properties: Object.fromEntries<Json>(labelled) };
}

/** A fault that the server found. Its path begins with the field of the request that holds the answer. */
export function toFault({ path, message }: Fault): Fault {
  return { path: path.replace(/^(?:request_keys|input)\.?/, ""), message };
}

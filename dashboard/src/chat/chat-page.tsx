// A conversation with the model in front of the tools: what was said, the turn that runs, and the next message.
import { useEffect, useState } from "preact/hooks";
import { get, post, remove } from "../api/client.ts";
import type { ChatQuestion, WholeConversation } from "../api/shapes.ts";
import { linkTo } from "../hooks/route.ts";
import { useAction } from "../hooks/use-action.ts";
import { useLoad } from "../hooks/use-load.ts";
import { hasScope, useWho } from "../hooks/who.ts";
import { ConfirmButton } from "../parts/confirm-button.tsx";
import { Failure, Loaded } from "../parts/loading.tsx";
import { Crumbs, Header } from "../parts/page-header.tsx";
import { Composer } from "./composer.tsx";
import { Conversations } from "./conversations.tsx";
import { MessageView } from "./message-view.tsx";
import { Question } from "./question.tsx";
import { describeCost, TurnView } from "./turn-view.tsx";
import { type Turns, useTurns } from "./use-turns.ts";

const LEAD = "A model finds your tools, writes programs and runs them in the sandbox, by the same rules as every other caller.";

export function ChatPage() {
  const who = useWho();
  const [begun, setBegun] = useState<string | null>(null);
  const turns = useTurns(null, {
    onBegun: (id) => {
      setBegun(id);
      // The page stays as it is; a reload shows the conversation.
      history.replaceState(null, "", linkTo("chat", id));
    },
    onEnded: () => undefined,
  });
  // The address is already that of the conversation, so its page is shown anew.
  const showKept = () => dispatchEvent(new HashChangeEvent("hashchange"));
  return (
    <>
      <Header title="Chat" lead={LEAD}>
        {begun && <Tools id={begun} isBusy={turns.isRunning} hasTurns onForgotten={showKept} />}
      </Header>
      <LiveTurns turns={turns} question={null} />
      {hasScope(who, "execute") ? (
        <>
          <Talk turns={turns} question={null} />
          {!begun && !turns.turns.length && <Conversations />}
        </>
      ) : (
        <p class="callout">
          Talking needs a token with the scope <code>execute</code>. <a href={linkTo("token")}>Use another token</a>
        </p>
      )}
    </>
  );
}

export function ConversationPage({ id }: { id: string }) {
  const [round, setRound] = useState(0);
  const loaded = useLoad((signal) => get("/chat/conversations/{id}", { id }, signal), [id, round]);
  return (
    <>
      <Crumbs>
        <a href={linkTo("chat")}>Chat</a>
      </Crumbs>
      <Loaded of={loaded}>
        {(found) => <KeptConversation key={round} found={found} again={loaded.again} onForgotten={() => setRound(round + 1)} />}
      </Loaded>
    </>
  );
}

interface KeptProps {
  found: WholeConversation;
  again: () => void;
  onForgotten: () => void;
}

function KeptConversation({ found, again, onForgotten }: KeptProps) {
  // What was kept when the page was opened; turns that begin here are shown as they happen.
  const [kept] = useState(found);
  const turns = useTurns(found.id, { onBegun: () => undefined, onEnded: again });
  const isFollowed = kept.standing === "running";
  useEffect(() => {
    if (isFollowed) turns.follow();
  }, []);
  const isFresh = turns.turns.length === 0;
  const question = isFresh ? (kept.question as ChatQuestion | null) : null;
  const last = kept.turns_taken.at(-1);
  const canResume = isFresh && !question && (last?.status === "stopped" || last?.status === "failed");
  // The messages of a turn that runs come with its events, but for the question.
  const messages = kept.messages.filter((one) => !isFollowed || one.kind === "user" || one.turn <= (last?.turn ?? 0));
  return (
    <>
      <Header title={found.title || "Chat"} tab="Chat" lead={`${found.model} · ${describeCost(found.usage)}`}>
        <Tools id={found.id} isBusy={turns.isRunning} hasTurns={messages.length > 0} onForgotten={onForgotten} />
      </Header>
      {messages.map((message) => (
        <MessageView key={message.number} message={message} />
      ))}
      <LiveTurns turns={turns} question={question} />
      {canResume && <GoOn resume={turns.resume} />}
      <Talk turns={turns} question={question} />
    </>
  );
}

interface ToolsProps {
  id: string;
  isBusy: boolean;
  hasTurns: boolean;
  onForgotten: () => void;
}

/** What can be done with a whole conversation. */
function Tools({ id, isBusy, hasTurns, onForgotten }: ToolsProps) {
  const drop = useAction(async () => {
    await remove("/chat/conversations/{id}", { id });
    location.hash = linkTo("chat");
  });
  const undo = useAction(async () => {
    await post("/chat/conversations/{id}/undo", { id }, {});
    onForgotten();
  });
  return (
    <>
      <ConfirmButton label="Forget last turn" ask="Forget it" onConfirm={undo.run} disabled={isBusy || !hasTurns} />
      <ConfirmButton label="Delete" ask="Delete it with its files" onConfirm={drop.run} disabled={isBusy} />
      <Failure error={drop.error || undo.error} />
    </>
  );
}

const GoOn = ({ resume }: { resume: () => void }) => (
  <p class="actions">
    <span class="quiet">The last turn did not end.</span>
    <button type="button" class="plain" onClick={resume}>
      Go on with it
    </button>
  </p>
);

interface TurnsProps {
  turns: Turns;
  /** What the last turn waited for when the page was opened. */
  question: ChatQuestion | null;
}

function LiveTurns({ turns, question }: TurnsProps) {
  const last = turns.turns.at(-1);
  const asked = question ?? (turns.isRunning ? null : (last?.question ?? null));
  const canResume = !turns.isRunning && !asked && (last?.answer?.status === "stopped" || last?.answer?.status === "failed");
  return (
    <>
      {turns.turns.map((turn, place) => (
        <TurnView key={place} turn={turn} />
      ))}
      <Failure error={turns.error} />
      {asked && <Question key={asked.approval} question={asked} isBusy={turns.isRunning} decide={turns.decide} />}
      {canResume && <GoOn resume={turns.resume} />}
    </>
  );
}

function Talk({ turns, question }: TurnsProps) {
  const isAsked = question !== null || (!turns.isRunning && Boolean(turns.turns.at(-1)?.question));
  return (
    <Composer
      isRunning={turns.isRunning}
      blocked={isAsked ? "Decide about the calls above first." : ""}
      send={turns.send}
      stop={turns.stop}
    />
  );
}

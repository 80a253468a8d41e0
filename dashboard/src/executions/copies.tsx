// Copies of an execution for elsewhere: its code, its id, its JSON, and a command that runs it again.
import { BASE } from "../api/connection.ts";
import type { Execution } from "../api/shapes.ts";
import { CopyButton } from "../parts/copy-button.tsx";

const quote = (text: string) => `'${text.replaceAll("'", "'\\''")}'`;

/** The request as a line for a shell. The token is not in it. */
function writeCurl({ code, session }: Execution) {
  const body = JSON.stringify({ code, ...(session ? { session } : {}) });
  return `curl ${new URL("execute", BASE)} -H 'Content-Type: application/json' -H "Authorization: Bearer $GRISTMILL_TOKEN" -d ${quote(body)}`;
}

export const Copies = ({ execution }: { execution: Execution }) => (
  <p class="chips">
    <span class="quiet">Copy</span>
    {execution.code && <CopyButton text={execution.code} label="code" />}
    <CopyButton text={execution.id} label="id" />
    <CopyButton text={location.href.replace(/\?.*$/, "")} label="link" />
    <CopyButton text={JSON.stringify(execution, null, 2)} label="JSON" />
    {execution.code && <CopyButton text={writeCurl(execution)} label="curl" />}
  </p>
);

// What changed between two versions of a skill.
import type { TargetedEvent } from "preact";
import { useState } from "preact/hooks";
import { get } from "../api/client.ts";
import { useLoad } from "../hooks/use-load.ts";
import { Choice, Field } from "../parts/fields.tsx";
import { Loaded } from "../parts/loading.tsx";
import { Diff } from "../parts/text-boxes.tsx";

interface SkillVersionsProps {
  name: string;
  session: string;
  /** The newest first. */
  versions: number[];
}

export function SkillVersions({ name, session, versions }: SkillVersionsProps) {
  const [newest = 1, previous] = versions;
  return (
    <section aria-labelledby="versions">
      <h2 id="versions">What changed</h2>
      {previous === undefined ? (
        <p class="quiet">There is one version. Saving the function again makes the next.</p>
      ) : (
        <Comparison name={name} session={session} versions={versions} start={{ old: previous, new: newest }} />
      )}
    </section>
  );
}

interface ComparisonProps extends SkillVersionsProps {
  /** The versions that are compared at first. */
  start: { old: number; new: number };
}

function Comparison({ name, session, versions, start }: ComparisonProps) {
  const [pair, setPair] = useState(start);
  const found = useLoad((signal) => get("/skills/{name}/diff", { name, ...pair, session }, signal), [name, pair.old, pair.new]);
  const choose = (side: "old" | "new") => (event: TargetedEvent<HTMLSelectElement>) =>
    setPair({ ...pair, [side]: Number(event.currentTarget.value) });
  const words = Object.fromEntries(versions.map((version) => [version, `version ${version}`]));
  return (
    <>
      <div class="filters">
        <Field label="From">
          <Choice of={versions} words={words} value={pair.old} onChange={choose("old")} />
        </Field>
        <Field label="To">
          <Choice of={versions} words={words} value={pair.new} onChange={choose("new")} />
        </Field>
      </div>
      <Loaded of={found}>{({ diff }) => (diff ? <Diff text={diff} /> : <p class="quiet">Nothing: both are the same.</p>)}</Loaded>
    </>
  );
}

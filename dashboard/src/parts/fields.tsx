// Controls of forms.
import { cloneElement, type GenericEventHandler, type VNode } from "preact";
import { useId } from "preact/hooks";
import { describeStatus } from "../text/format.ts";

interface FieldProps {
  label: string;
  hint?: string;
  /** Whether the field takes the width that is left. */
  grow?: boolean;
  children: VNode;
}

/** A control with its label. The hint is its description for screen readers, not a part of its name. */
export function Field({ label, hint, grow, children }: FieldProps) {
  const id = useId();
  const hintId = hint ? `${id}-hint` : undefined;
  return (
    <div class={grow ? "field grow" : "field"}>
      <label htmlFor={id}>{label}</label>
      {cloneElement(children, { id, "aria-describedby": hintId })}
      {hint && <small id={hintId}>{hint}</small>}
    </div>
  );
}

interface ChoiceProps<T extends string | number> {
  of: readonly T[];
  value: T;
  /** The texts of the options; an option without one is shown by its name. */
  words?: Partial<Record<T, string>>;
  name?: string;
  onChange: GenericEventHandler<HTMLSelectElement>;
  /** These two come from `Field`. */
  id?: string;
  "aria-describedby"?: string;
}

/** A choice of one option. A value from the address that is not among the options is shown, too. */
export const Choice = <T extends string | number>({ of, value, words = {}, ...more }: ChoiceProps<T>) => (
  <select value={value} {...more}>
    {[...new Set([...of, value])].map((option) => (
      <option key={option} value={option}>
        {words[option] ?? describeStatus(option)}
      </option>
    ))}
  </select>
);

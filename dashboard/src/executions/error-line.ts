// Which line of a program its error is about.

/** The number of the line, by a traceback of Python or a stack of TypeScript; null if none is named. */
export function findErrorLine(error: string): number | null {
  // The first place is in this program; later ones may be in programs that ran before in the same session.
  const places = [...error.matchAll(/File "(<code \d+>)", line (\d+)/g)];
  const own = places.filter(([, name]) => name === places[0]?.[1]).at(-1);
  const line = own?.[2] ?? /\bprogram\.ts:(\d+)/.exec(error)?.[1];
  return line ? Number(line) : null;
}

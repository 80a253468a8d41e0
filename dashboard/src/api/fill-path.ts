/** Fills the parameters into a path of the document; parameters that are not in the path become the query. */
export function fillPath(path: string, given: object): string {
  const rest = new Map(Object.entries(given));
  const filled = path.slice(1).replace(/\{(\w+)\}/g, (_, name: string) => {
    const value = encodeURIComponent(rest.get(name));
    rest.delete(name);
    return name === "path" ? value.replaceAll("%2F", "/") : value; // only the path of a file keeps its slashes
  });
  const query = [...rest].filter(([, value]) => value !== "" && value != null);
  return query.length ? `${filled}?${new URLSearchParams(query)}` : filled;
}

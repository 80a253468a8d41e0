// Shows all of a text that comes from outside. Characters that are invisible, or that reverse the text around them, are written
// as escapes. An approver must not be shown a file name that reads backwards, or a description with another one hidden in it.
import { options, type VNode } from "preact";

// The set of `src/gristmill/catalog/visible_text.py`, and line ends that only some programs treat as such. A test compares the two.
const HIDDEN = [
  "\\0-\\x08\\x0b-\\x0c\\x0e-\\x1f\\x7f-\\x9f", // controls except tab and line ends
  "\\xad\\u034f\\u061c\\u115f\\u1160\\u17b4\\u17b5\\u180b-\\u180f", // soft hyphen, joiners, fillers
  "\\u200b-\\u200f\\u2028-\\u202e\\u2060-\\u206f", // zero width, line separators, marks, overrides and isolates of direction
  "\\u3164\\ufe00-\\ufe0f\\ufeff\\uffa0\\ufff0-\\uffff", // fillers, variation selectors, byte order mark, noncharacters
  "\\ud800-\\udfff\\ue000-\\uf8ff", // halves of characters, private use
  "\\u{1bca0}-\\u{1bca3}\\u{1d173}-\\u{1d17a}", // controls of shorthand and of music
  "\\u{e0000}-\\u{e0fff}\\u{f0000}-\\u{10ffff}", // tags, more selectors, private planes
].join("");
// Ordinary emoji stay as they are: those of Unicode's own list, with their joiners and selectors, and one selector after a
// pictograph, which can only say how that is drawn. In everything else that looks like an emoji, hidden characters are escaped.
const EMOJI = "\\p{RGI_Emoji}(?![\\ufe00-\\ufe0f])|(?<=\\p{Extended_Pictographic})[\\ufe0e\\ufe0f](?![\\ufe00-\\ufe0f])";
const HIDDEN_CHARACTER = `\\r(?!\\n)|[${HIDDEN}]`;
const IN_GROUP = new RegExp(`(${EMOJI})|${HIDDEN_CHARACTER}`, "gv");
// The list of emoji is long, so it is used only where pictographs, or digits that could be keycaps, stand together.
const IN_TEXT = new RegExp(`([\\p{Emoji}\\p{Emoji_Component}\\ufe0e]{2,})|${HIDDEN_CHARACTER}`, "gu");

const escapeCharacter = (character: string, emoji?: string) => emoji ?? `\\u{${character.codePointAt(0)?.toString(16)}}`;
const isPlain = (text: string) => /^[ -~]*$/.test(text);

export const revealHidden = (text: string) =>
  text.replace(IN_TEXT, (character: string, group?: string) => {
    if (group === undefined) return escapeCharacter(character);
    return isPlain(group) ? group : group.replace(IN_GROUP, escapeCharacter);
  });

const revealChild = (child: unknown): unknown =>
  typeof child === "string" ? revealHidden(child) : Array.isArray(child) ? child.map(revealChild) : child;

const READ_ALOUD = ["title", "aria-label"]; // attributes that people read or hear
const before = options.vnode;

options.vnode = (vnode: VNode) => {
  // Only elements: the text that a component gets reaches an element, too.
  if (typeof vnode.type === "string") {
    const props = vnode.props as Record<string, unknown>;
    if (props.children !== undefined) props.children = revealChild(props.children);
    for (const name of READ_ALOUD) {
      const value = props[name];
      if (typeof value === "string") props[name] = revealHidden(value);
    }
  }
  before?.(vnode);
};

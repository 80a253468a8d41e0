// The output of a program, while it grows and afterwards.
import type { TargetedEvent } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { formatCount } from "../text/format.ts";

const NEAR = 24; // pixels: a reader this close to the end still follows it

/** A terminal would write such lines over each other. Here they stand below each other, so a progress bar hides nothing. */
const splitOverwritten = (text: string) => text.replace(/\r\n?/g, "\n");

interface OutputProps {
  text: string;
  isRunning: boolean;
  /** How many characters at the beginning the page no longer keeps. */
  cut?: number;
  /** How many events at the beginning the service no longer keeps. */
  dropped?: number;
}

/** Scrolls with its end, unless the reader has scrolled up. */
export function Output({ text, isRunning, cut = 0, dropped = 0 }: OutputProps) {
  const box = useRef<HTMLDivElement>(null);
  const isAtEnd = useRef(true);
  useEffect(() => {
    if (box.current && isAtEnd.current) box.current.scrollTop = box.current.scrollHeight;
  }, [text]);
  const onScroll = ({ currentTarget: it }: TargetedEvent<HTMLDivElement>) => {
    isAtEnd.current = it.scrollHeight - it.scrollTop - it.clientHeight < NEAR;
  };
  return (
    <>
      {dropped > 0 && (
        <p class="callout">
          The beginning is missing: {formatCount(dropped)} events (output and calls) are more than the service keeps of one run.
        </p>
      )}
      {cut > 0 && <p class="callout">The beginning is missing: {formatCount(cut)} characters are more than this page keeps.</p>}
      <div class="box output" ref={box} onScroll={onScroll} role="log" aria-label="Output" aria-busy={isRunning} tabIndex={0}>
        <pre>{text ? splitOverwritten(text) : isRunning ? "" : "No output."}</pre>
      </div>
    </>
  );
}

// The shell around every page: navigation, the state of the connection, and the page that the address names.
import type { TargetedMouseEvent } from "preact";
import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { get } from "../api/client.ts";
import type { Who } from "../api/shapes.ts";
import { onUnauthorized } from "../api/token.ts";
import { useRoute } from "../hooks/route.ts";
import { type Load, useLoad } from "../hooks/use-load.ts";
import { WhoContext } from "../hooks/who.ts";
import { Failure, Loading } from "../parts/loading.tsx";
import { Header } from "../parts/page-header.tsx";
import { SignInPage } from "../token/sign-in-page.tsx";
import { TokenPage } from "../token/token-page.tsx";
import { ConnectionLine } from "./connection-line.tsx";
import { focusMain } from "./focus-main.ts";
import { Navigation } from "./navigation.tsx";
import { choosePage } from "./pages.tsx";

const skipToPage = (event: TargetedMouseEvent<HTMLAnchorElement>) => {
  event.preventDefault();
  focusMain();
};

export function App() {
  const route = useRoute();
  const [round, setRound] = useState(0);
  const [isLocked, setLocked] = useState(false);
  const hasMoved = useRef(false);
  const who = useLoad((signal) => get("/whoami", {}, signal), [round]);
  const onTokenChange = useCallback(() => {
    setLocked(false);
    setRound((count) => count + 1);
  }, []);
  useEffect(() => {
    onUnauthorized.call = () => setLocked(true);
  }, []);
  useEffect(() => {
    if (hasMoved.current) focusMain({ preventScroll: true }); // on a new page, a screen reader starts at its beginning
    hasMoved.current = true;
    scrollTo(0, 0);
  }, [route.join("/")]);
  return (
    <WhoContext.Provider value={who.value || null}>
      <a class="skip" href="#main" onClick={skipToPage}>
        Skip to the page
      </a>
      <Navigation here={route[0] || ""} who={who.value} />
      <main id="main" tabIndex={-1}>
        <ConnectionLine />
        {route[0] === "sign-in" ? (
          <SignInPage secret={route[1] ?? ""} onChange={onTokenChange} />
        ) : isLocked || route[0] === "token" ? (
          <TokenPage key={round} isNeeded={isLocked} onChange={onTokenChange} />
        ) : who.value ? (
          <div key={round}>{choosePage(route, who.value)}</div>
        ) : (
          <Unknown who={who} />
        )}
      </main>
    </WhoContext.Provider>
  );
}

/** Until it is known who the user is, no page can be shown. */
const Unknown = ({ who }: { who: Load<Who> }) =>
  who.error ? (
    <>
      <Header title="Gristmill" tab="No answer" />
      <Failure error={who.error} again={who.again} />
    </>
  ) : (
    <Loading />
  );

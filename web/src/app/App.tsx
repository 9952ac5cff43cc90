import { type ComponentType, Suspense } from "react";
import { Redirect, Route, Router, Switch } from "wouter";
import { ForStrangers } from "../account/ForStrangers";
import { SignInPage } from "../account/SignInPage";
import { SignUpPage } from "../account/SignUpPage";
import { useMe } from "../api/session";
import { Failed, Loading } from "../ui/states";
import { Fence } from "./Fence";
import { MissingPage, MissingPlace } from "./MissingPage";
import { PAGES } from "./pages";
import { Shell } from "./Shell";
import { useWorkspaceId, useWorkspaces } from "./space";

/** All under /app: with an account, and the way to one. */
export function App() {
  return (
    <Router base="/app">
      <Switch>
        <Route path="/sign-in">
          <ForStrangers>
            <SignInPage />
          </ForStrangers>
        </Route>
        <Route path="/sign-up">
          <ForStrangers>
            <SignUpPage />
          </ForStrangers>
        </Route>
        <Route component={Members} />
      </Switch>
    </Router>
  );
}

function Members() {
  const me = useMe();
  if (me.isLoadingError) return <Failed error={me.error} retry={me.refetch} />;
  if (me.isPending) return <Loading />;
  if (me.data === null) {
    const wanted = location.pathname + location.search;
    const query = wanted === "/app" ? "" : `?next=${encodeURIComponent(wanted)}`;
    return <Redirect to={`/sign-in${query}`} replace />;
  }
  const pages = PAGES.filter((page) => !page.isForAdmins || me.data?.is_admin);
  return (
    <Shell me={me.data} pages={pages}>
      <Fence>
        <Suspense fallback={<Loading />}>
          <Switch>
            <Route path="/">
              <Redirect to="/links" replace />
            </Route>
            {pages
              .filter((page) => page.isOfSpace)
              .map(({ path, component }) => (
                <Route key={`w${path}`} path={`/w/:workspace${path}`}>
                  <InPlace page={component} />
                </Route>
              ))}
            {pages
              .filter((page) => !page.isOfWorkspace)
              .map(({ path, component }) => (
                <Route key={path} path={path} component={component} />
              ))}
            <Route component={MissingPage} />
          </Switch>
        </Suspense>
      </Fence>
    </Shell>
  );
}

/** A page of a workspace, for those who are in it. */
function InPlace({ page: Page }: { page: ComponentType }) {
  const workspaceId = useWorkspaceId();
  const { data, isFetching } = useWorkspaces();
  if (data && !data.some(({ id }) => id === workspaceId)) {
    return isFetching ? <Loading /> : <MissingPlace />;
  }
  return <Page />;
}

import { Component, type ReactNode } from "react";
import { useLocation } from "wouter";
import { app } from "../strings/app";
import { useTexts } from "../strings/language";
import { Unloaded } from "../ui/lazily";
import { Failed } from "../ui/states";

interface Props {
  children: ReactNode;
}

/** What breaks inside leaves everything around it standing; another path is tried anew. */
export function Fence({ children }: Props) {
  const [path] = useLocation();
  return <Boundary path={path}>{children}</Boundary>;
}

class Boundary extends Component<Props & { path: string }, { error: unknown }> {
  override state = { error: undefined };

  static getDerivedStateFromError(error: unknown) {
    return { error };
  }

  override componentDidUpdate(before: { path: string }) {
    if (before.path !== this.props.path) this.setState({ error: undefined });
  }

  override render() {
    const { error } = this.state;
    return error === undefined ? this.props.children : <Broken error={error} />;
  }
}

function Broken({ error }: { error: unknown }) {
  const words = useTexts(app);
  return (
    <>
      <h1 className="unseen">{words.stuck}</h1>
      <Failed
        error={error}
        text={error instanceof Unloaded ? words.unloaded : words.broken}
        verb={words.reload}
        retry={() => location.reload()}
      />
    </>
  );
}

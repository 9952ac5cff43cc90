import { Button } from "@mantine/core";
import { Link } from "wouter";
import { app } from "../strings/app";
import { useTexts } from "../strings/language";
import { Empty } from "../ui/states";
import { useTitle } from "../ui/title";

export function MissingPage() {
  const words = useTexts(app);
  return <Nowhere title={words.missing} text={words.missingText} />;
}

/** A workspace that is not there, or that one is not in: that is the same to who asks. */
export function MissingPlace() {
  const words = useTexts(app);
  return <Nowhere title={words.noWorkspace} text={words.noWorkspaceText} />;
}

function Nowhere(props: { title: string; text: string }) {
  const words = useTexts(app);
  useTitle(props.title);
  return (
    <>
      <h1 className="unseen">{props.title}</h1>
      <Empty icon="search" title={props.title} text={props.text}>
        <Button component={Link} href="/links">
          {words.toLinks}
        </Button>
      </Empty>
    </>
  );
}

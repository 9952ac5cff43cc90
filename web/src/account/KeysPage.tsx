import { Button } from "@mantine/core";
import { useState } from "react";
import { keys as texts } from "../strings/keys";
import { useTexts } from "../strings/language";
import { Card } from "../ui/Card";
import { CutNote } from "../ui/CutNote";
import { Icon } from "../ui/Icon";
import { PageHead } from "../ui/PageHead";
import { Empty, Failed, Loading } from "../ui/states";
import { KeyDialog } from "./KeyDialog";
import { KeyTable } from "./KeyTable";
import { useKeys } from "./keyQueries";

/** What programs sign in with. */
export default function KeysPage() {
  const words = useTexts(texts);
  const [isMaking, setMaking] = useState(false);
  return (
    <>
      <PageHead title={words.title}>
        <Button leftSection={<Icon name="plus" size={18} />} onClick={() => setMaking(true)}>
          {words.create}
        </Button>
      </PageHead>
      <List onNew={() => setMaking(true)} />
      {isMaking && <KeyDialog onClose={() => setMaking(false)} />}
    </>
  );
}

function List({ onNew }: { onNew: () => void }) {
  const words = useTexts(texts);
  const keys = useKeys();
  if (keys.isLoadingError) return <Failed error={keys.error} retry={keys.refetch} />;
  if (keys.isPending) return <Loading />;
  if (keys.data.length === 0) {
    return (
      <Empty icon="key" title={words.none} text={words.noneText}>
        <Button onClick={onNew}>{words.create}</Button>
      </Empty>
    );
  }
  return (
    <Card title={words.yours} text={words.text} isFull>
      <KeyTable keys={keys.data} />
      <CutNote of={keys.data} />
    </Card>
  );
}

import { Button } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { api, need, type Schemas } from "../api/client";
import { everyPage } from "../api/pages";
import { keys as texts } from "../strings/keys";
import { useTexts } from "../strings/language";
import { Card } from "../ui/Card";
import { Icon } from "../ui/Icon";
import { PageHead } from "../ui/PageHead";
import { Empty, Failed, Loading } from "../ui/states";
import { KeyDialog } from "./KeyDialog";
import { KeyTable } from "./KeyTable";

export type Key = Schemas["KeyRead"];

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
  const keys = useQuery({
    queryKey: ["keys"],
    queryFn: () =>
      everyPage(
        (query) => need(api.GET("/api/v1/keys", { params: { query } })),
        (page) => page.keys,
      ),
  });
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
    </Card>
  );
}

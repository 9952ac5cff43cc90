import { Button } from "@mantine/core";
import { useMe } from "../api/session";
import { account as texts } from "../strings/account";
import { app } from "../strings/app";
import { useTexts } from "../strings/language";
import { Card } from "../ui/Card";
import { Facts } from "../ui/Facts";
import { Icon } from "../ui/Icon";
import { PageHead } from "../ui/PageHead";
import { When } from "../ui/When";
import { QuotaCard } from "../workspaces/QuotaCard";
import { EndCard } from "./EndCard";
import { LookCard } from "./LookCard";
import { PasswordCard } from "./PasswordCard";

/** Oneself: who one is here, and the way out. */
export default function AccountPage() {
  const words = useTexts(texts);
  const { account: title } = useTexts(app);
  return (
    <>
      <PageHead title={title} />
      <YouCard />
      <PasswordCard />
      <LookCard />
      <QuotaCard workspaceId={null} />
      <Card
        title={words.export}
        text={words.exportText}
        acts={
          <Button
            component="a"
            href="/api/v1/me/export"
            download="kurz-account.jsonl"
            variant="default"
            leftSection={<Icon name="download" size={18} />}
          >
            {words.exportVerb}
          </Button>
        }
      />
      <EndCard />
    </>
  );
}

function YouCard() {
  const words = useTexts(texts);
  const { data: me } = useMe();
  if (!me) return null;
  return (
    <Card title={words.you} text={words.youText}>
      <Facts
        look="columns"
        of={{
          [words.email]: me.email,
          [words.rights]: me.is_admin ? words.isAdmin : words.isMember,
          [words.joined]: <When at={me.created_at} />,
        }}
      />
    </Card>
  );
}

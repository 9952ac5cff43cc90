import { system as texts } from "../strings/adminSystem";
import { useTexts } from "../strings/language";
import { Card } from "../ui/Card";
import { Facts } from "../ui/Facts";
import { useFormats } from "../ui/format";
import { Meter } from "../ui/Meter";
import type { System } from "./queries";
import styles from "./SystemPage.module.css";
import { useUnits } from "./units";

/** The numbers behind the health. */
export function SystemFacts({ system }: { system: System }) {
  return (
    <div className={styles.facts}>
      <Instance system={system} />
      <Database system={system} />
      <Clicks system={system} />
      <Memory system={system} />
      <Redis system={system} />
      <Feed system={system} />
      <Disk system={system} />
      <Settings system={system} />
    </div>
  );
}

interface Props {
  system: System;
}

function Instance({ system: { instance, measured_at } }: Props) {
  const words = useTexts(texts);
  const { number } = useFormats();
  const { span } = useUnits();
  const seconds = (Date.parse(measured_at) - Date.parse(instance.started_at)) / 1000;
  return (
    <Card title={words.instance} text={words.sinceStart}>
      <Facts
        of={{
          [words.version]: instance.version,
          [words.host]: <span className="mono">{instance.host}</span>,
          [words.uptime]: span(Math.max(Math.round(seconds), 1)),
          [words.workers]: words.workersOf(
            number(instance.workers),
            number(instance.workers_wanted),
          ),
          [words.jobsProcess]: instance.jobs ? words.runs : words.gone,
          [words.connections]: words.connectionsOf(
            number(instance.connections),
            number(instance.connections_cap),
          ),
          [words.closedEarly]: number(instance.connections_closed_early),
          [words.connectionsRefused]: number(instance.connections_refused),
          [words.requestsRefused]: number(instance.requests_refused),
          [words.redirects]: number(instance.redirects),
          [words.apiErrors]: number(instance.api_errors),
        }}
      />
    </Card>
  );
}

function Database({ system: { database } }: Props) {
  const words = useTexts(texts);
  const { number } = useFormats();
  const isPooled = database.engine === "PostgreSQL";
  return (
    <Card title={words.database}>
      <Facts
        of={{
          [words.engine]: [database.engine, database.version].filter(Boolean).join(" "),
          [words.schema]: database.schema_version ? database.schema_version : null,
          [words.problem]: database.problem ? database.problem : null,
          [words.pool]: isPooled
            ? words.poolOf(number(database.in_use), number(database.connections))
            : null,
          [words.waiting]: isPooled ? number(database.waiting) : null,
          [words.timeouts]: isPooled ? number(database.timeouts) : null,
          [words.replicas]: isPooled ? number(database.replicas) : null,
        }}
      />
    </Card>
  );
}

function Clicks({ system: { journal } }: Props) {
  const words = useTexts(texts);
  const { number } = useFormats();
  const { bytes, ago } = useUnits();
  const backlog = journal.backlog_bytes
    ? words.backlogOf(bytes(journal.backlog_bytes), words.files(journal.backlog_segments))
    : words.nothing;
  return (
    <Card title={words.clicks}>
      <Facts
        of={{
          [words.recorded]: number(journal.recorded),
          [words.backlog]: backlog,
          [words.oldest]: journal.oldest_seconds ? ago(journal.oldest_seconds) : null,
          [words.dropped]: journal.dropped
            ? words.droppedOf(number(journal.dropped_since_start), number(journal.dropped))
            : number(0),
          [words.errors]: number(journal.errors),
        }}
      />
    </Card>
  );
}

function Memory({ system: { memory } }: Props) {
  const words = useTexts(texts);
  const { number } = useFormats();
  const { bytes, percent } = useUnits();
  return (
    <Card title={words.memory}>
      <Facts
        of={{
          [words.hotLinks]: `${number(memory.links)} (${bytes(memory.bytes)})`,
          [words.hitRate]: memory.hit_rate === null ? words.noVisits : percent(memory.hit_rate),
          [words.lookups]: number(memory.lookups),
        }}
      />
    </Card>
  );
}

function Redis({ system: { redis } }: Props) {
  const words = useTexts(texts);
  const { number } = useFormats();
  if (!redis) return null;
  const kinds: Record<string, unknown> = words;
  return (
    <Card title={words.redis}>
      <Facts
        of={{
          [words.state]: redis.is_up ? words.up : words.out,
          [words.kind]: String(kinds[redis.kind] ?? redis.kind),
          [words.disconnected]: number(redis.workers_disconnected),
          [words.hits]: number(redis.hits),
          [words.errors]: number(redis.errors),
        }}
      />
    </Card>
  );
}

function Feed({ system: { feed } }: Props) {
  const words = useTexts(texts);
  const { number } = useFormats();
  const { ago } = useUnits();
  return (
    <Card title={words.feed}>
      <Facts
        of={{
          [words.lag]: feed.age_seconds ? ago(feed.age_seconds) : words.justNow,
          [words.staleFeed]: number(feed.workers_stale),
          [words.lost]: number(feed.lost_connections),
        }}
      />
    </Card>
  );
}

function Disk({ system: { disk } }: Props) {
  const words = useTexts(texts);
  const { bytes } = useUnits();
  if (!disk) return null;
  const used = disk.total_bytes ? 1 - disk.free_bytes / disk.total_bytes : 1;
  return (
    <Card title={words.disk}>
      <Facts
        of={{
          [words.folder]: <span className="mono">{disk.folder}</span>,
          [words.free]: words.freeOf(bytes(disk.free_bytes), bytes(disk.total_bytes)),
        }}
      />
      <Meter share={used} />
    </Card>
  );
}

function Settings({ system: { settings } }: Props) {
  const words = useTexts(texts);
  const isPublic = settings.access === "public";
  return (
    <Card title={words.settings}>
      <Facts
        of={{
          [words.access]: isPublic ? words.public : words.private,
          [words.baseUrl]: settings.base_url ?? words.notSet,
          [words.proxies]: settings.trusted_proxies.join(", ") || words.notSet,
          [words.limits]: settings.are_limits_on ? words.on : words.off,
          [words.checks]: settings.are_checks_on ? words.on : words.off,
          [words.archive]: settings.archive ?? words.notSet,
          [words.contact]: settings.abuse_contact ?? words.notSet,
        }}
      />
    </Card>
  );
}

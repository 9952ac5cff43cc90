import { health } from "../strings/adminHealth";
import { system as texts } from "../strings/adminSystem";
import { useTexts } from "../strings/language";
import { Card } from "../ui/Card";
import { Facts } from "../ui/Facts";
import { useFormats } from "../ui/format";
import { Meter } from "../ui/Meter";
import { When } from "../ui/When";
import type { System } from "./queries";
import styles from "./SystemPage.module.css";
import { useUnits } from "./units";

/** The numbers behind the health. */
export function SystemFacts({ system }: { system: System }) {
  const say = useSay();
  const { words, names } = say;
  const { backup, disk, redis } = system;
  return (
    <div className={styles.facts}>
      <Card title={words.instance} text={words.sinceStart}>
        <Facts of={factsOfInstance(system, say)} />
      </Card>
      <Card title={names.database}>
        <Facts of={factsOfDatabase(system, say)} />
      </Card>
      <Card title={names.clicks}>
        <Facts of={factsOfClicks(system, say)} />
      </Card>
      <Card title={words.memory}>
        <Facts of={factsOfMemory(system, say)} />
      </Card>
      {redis && (
        <Card title={names.redis}>
          <Facts of={factsOfRedis(redis, say)} />
        </Card>
      )}
      <Card title={names.feed}>
        <Facts of={factsOfFeed(system, say)} />
      </Card>
      {disk && (
        <Card title={names.disk}>
          <Facts of={factsOfDisk(disk, say)} />
          <Meter share={disk.total_bytes ? 1 - disk.free_bytes / disk.total_bytes : 1} />
        </Card>
      )}
      {backup && (
        <Card title={names.backups}>
          <Facts of={factsOfBackup(backup, say)} />
        </Card>
      )}
      <Card title={words.settings}>
        <Facts of={factsOfSettings(system, say)} />
      </Card>
    </div>
  );
}

type Say = ReturnType<typeof useSay>;

function useSay() {
  const words = useTexts(texts);
  return { words, names: useTexts(health), number: useFormats().number, ...useUnits() };
}

function factsOfInstance({ instance, measured_at }: System, { words, number, span }: Say) {
  const seconds = (Date.parse(measured_at) - Date.parse(instance.started_at)) / 1000;
  return {
    [words.version]: instance.version,
    [words.host]: <span className="mono">{instance.host}</span>,
    [words.uptime]: span(Math.max(Math.round(seconds), 1)),
    [words.workers]: words.workersOf(number(instance.workers), number(instance.workers_wanted)),
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
  };
}

function factsOfDatabase({ database }: System, { words, number }: Say) {
  const pool = {
    [words.pool]: words.poolOf(number(database.in_use), number(database.connections)),
    [words.waiting]: number(database.waiting),
    [words.timeouts]: number(database.timeouts),
    [words.replicas]: number(database.replicas),
  };
  return {
    [words.engine]: [database.engine, database.version].filter(Boolean).join(" "),
    [words.schema]: database.schema_version || null,
    [words.problem]: database.problem || null,
    ...(database.engine === "PostgreSQL" && pool),
  };
}

function factsOfClicks({ journal }: System, { words, number, bytes, ago }: Say) {
  return {
    [words.recorded]: number(journal.recorded),
    [words.backlog]: journal.backlog_bytes
      ? words.backlogOf(bytes(journal.backlog_bytes), words.files(journal.backlog_segments))
      : words.nothing,
    [words.oldest]: journal.oldest_seconds ? ago(journal.oldest_seconds) : null,
    [words.dropped]: journal.dropped
      ? words.droppedOf(number(journal.dropped_since_start), number(journal.dropped))
      : number(0),
    [words.errors]: number(journal.errors),
  };
}

function factsOfMemory({ memory }: System, { words, number, bytes, percent }: Say) {
  return {
    [words.hotLinks]: `${number(memory.links)} (${bytes(memory.bytes)})`,
    [words.hitRate]: memory.hit_rate === null ? words.noVisits : percent(memory.hit_rate),
    [words.lookups]: number(memory.lookups),
  };
}

function factsOfRedis(redis: NonNullable<System["redis"]>, { words, number }: Say) {
  const kinds: Record<string, unknown> = words;
  return {
    [words.status]: redis.is_up ? words.up : words.out,
    [words.kind]: String(kinds[redis.kind] ?? redis.kind),
    [words.disconnected]: number(redis.workers_disconnected),
    [words.hits]: number(redis.hits),
    [words.errors]: number(redis.errors),
  };
}

function factsOfFeed({ feed }: System, { words, number, ago }: Say) {
  return {
    [words.lag]: feed.age_seconds ? ago(feed.age_seconds) : words.justNow,
    [words.staleFeed]: number(feed.workers_stale),
    [words.lost]: number(feed.lost_connections),
  };
}

function factsOfDisk(disk: NonNullable<System["disk"]>, { words, bytes }: Say) {
  return {
    [words.folder]: <span className="mono">{disk.folder}</span>,
    [words.free]: words.freeOf(bytes(disk.free_bytes), bytes(disk.total_bytes)),
  };
}

function factsOfBackup(backup: NonNullable<System["backup"]>, { words, bytes, span }: Say) {
  return {
    [words.backupTarget]: <span className="mono">{backup.target}</span>,
    [words.lastBackup]: backup.last_good_at ? <When at={backup.last_good_at} /> : words.never,
    [words.backupSize]: backup.last_bytes === null ? null : bytes(backup.last_bytes),
    [words.interval]: span(backup.interval_seconds),
    [words.lastFailure]: backup.failure,
  };
}

function factsOfSettings({ settings }: System, { words, names }: Say) {
  return {
    [words.access]: settings.access === "public" ? words.public : words.private,
    [names.address]: settings.base_url ?? words.notSet,
    [words.proxies]: settings.trusted_proxies.join(", ") || words.notSet,
    [names.limits]: settings.are_limits_on ? words.on : words.off,
    [words.checks]: settings.are_checks_on ? words.on : words.off,
    [words.archive]: settings.archive ?? words.notSet,
    [words.contact]: settings.abuse_contact ?? words.notSet,
  };
}

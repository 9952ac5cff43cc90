import { Button } from "@mantine/core";
import { useState } from "react";
import { isSignUpOpen } from "../api/server";
import { admin } from "../strings/admin";
import { reports as texts } from "../strings/adminReports";
import { useTexts } from "../strings/language";
import { Icon } from "../ui/Icon";
import { Tag } from "../ui/Tag";
import { When } from "../ui/When";
import { DecideDialog } from "./DecideDialog";
import type { Group } from "./groups";
import { type Report, useEmails } from "./queries";
import styles from "./ReportsPage.module.css";

/** A link that was reported: what it is, what people say, and the decision. */
export function ReportGroup({ group }: { group: Group }) {
  const words = useTexts(texts);
  const [asked, setAsked] = useState<"upheld" | "dismissed" | null>(null);
  const { first, reports } = group;
  // Where previews are for people with an account, they need the session, which is kept here alone.
  const hasPreview = isSignUpOpen || first.short_url.startsWith(`${location.origin}/`);
  const categories = [...new Set(reports.map(({ category }) => category))];
  return (
    <article className={styles.group}>
      <div className={styles.groupHead}>
        <h3 className="mono">{first.short_url.replace(/^https?:\/\//, "")}</h3>
        <span className={styles.tags}>
          {categories.map((category) => (
            <span key={category} className={styles.category}>
              {words[category]}
            </span>
          ))}
          <Tag>{words.times(reports.length)}</Tag>
        </span>
        {hasPreview && (
          <a
            href={`${first.short_url}+`}
            target="_blank"
            rel="noreferrer"
            className={styles.preview}
            aria-label={words.previewOf(first.short_code)}
          >
            {words.preview}
            <Icon name="open" size={16} />
          </a>
        )}
      </div>
      <p className={styles.destination} title={words.notALink}>
        <span>{words.ledTo}</span> <span className="mono">{first.location}</span>
      </p>
      <ul className={styles.words} aria-label={words.said}>
        {reports.map((report) => (
          <Words key={report.id} report={report} />
        ))}
      </ul>
      {first.state === "open" ? (
        <div className={styles.acts}>
          <Button
            variant="default"
            aria-label={words.dismissOf(first.short_code)}
            onClick={() => setAsked("dismissed")}
          >
            {words.dismiss}…
          </Button>
          <Button
            color="bad"
            aria-label={words.upholdOf(first.short_code)}
            onClick={() => setAsked("upheld")}
          >
            {words.uphold}…
          </Button>
        </div>
      ) : (
        <Decision report={reports.find(({ note }) => note) ?? first} />
      )}
      {asked && <DecideDialog group={group} state={asked} onClose={() => setAsked(null)} />}
    </article>
  );
}

function Words({ report }: { report: Report }) {
  const words = useTexts(texts);
  return (
    <li>
      <p className={report.message ? styles.message : styles.noMessage}>
        {report.message ?? words.noWords}
      </p>
      <p className={styles.meta}>
        {words[report.category]} · <When at={report.reported_at} />
        {report.contact && <> · {words.contact(report.contact)}</>}
      </p>
    </li>
  );
}

/** The note stands with one of those that were decided together. */
function Decision({ report }: { report: Report }) {
  const words = useTexts(texts);
  const { operator } = useTexts(admin);
  const emailOf = useEmails();
  return (
    <p className={styles.meta}>
      {words.decided} {report.decided_at && <When at={report.decided_at} />} ·{" "}
      {emailOf(report.decided_by) ?? operator}
      {report.note && (
        <>
          {" "}
          · {words.note}: {report.note}
        </>
      )}
    </p>
  );
}

import styles from "./Meter.module.css";

/** How much of something is used, from 0 to 1; words beside it say the same. */
export function Meter(props: { share: number; tone?: "good" | "warning" | "bad" | "accent" }) {
  return (
    <div className={styles.meter} data-tone={props.tone} aria-hidden="true">
      <div style={{ width: `${100 * Math.min(1, props.share)}%` }} />
    </div>
  );
}

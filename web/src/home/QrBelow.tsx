import { lazy, Suspense } from "react";
import styles from "./HomePage.module.css";

const Qr = lazy(() => import("../ui/Qr"));

/** The QR code of a link, below it. */
export function QrBelow({ link }: { link: { short_url: string; short_code: string } }) {
  return (
    <div className={styles.qr}>
      <Suspense fallback={null}>
        <Qr url={link.short_url} name={link.short_code} />
      </Suspense>
    </div>
  );
}

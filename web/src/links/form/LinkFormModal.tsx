import type { ComponentProps } from "react";
import { Dialog } from "../../ui/Dialog";
import styles from "./LinkForm.module.css";

/** The dialog of a link: all of the screen on a phone. */
export function LinkFormModal(props: ComponentProps<typeof Dialog>) {
  return (
    <Dialog
      size={640}
      isLong
      classNames={{
        header: styles.head ?? "",
        title: styles.heading ?? "",
        body: styles.body ?? "",
      }}
      {...props}
    />
  );
}

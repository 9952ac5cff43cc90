import { type ReactNode, useEffect, useId, useState } from "react";
import * as storage from "../../api/storage";
import { Icon } from "../../ui/Icon";
import styles from "./LinkForm.module.css";

/** A part of the form that is folded away until somebody wants it; the browser remembers. `isNeeded`:
 *  there is something in it that has to be seen. */
export function LinkFormFold(props: {
  name: string;
  title: string;
  isNeeded?: boolean;
  children: ReactNode;
}) {
  const id = useId();
  const key = `kurz.form.${props.name}`;
  const [isOpen, setOpen] = useState(storage.read(key) === "open");
  const isShown = isOpen || props.isNeeded === true;
  useEffect(() => {
    if (props.isNeeded) setOpen(true); // and it stays: somebody is about to type there
  }, [props.isNeeded]);
  const toggle = () => {
    storage.write(key, isShown ? null : "open");
    setOpen(!isShown);
  };
  return (
    <div className={styles.fold}>
      <button
        type="button"
        className={styles.toggle}
        aria-expanded={isShown}
        aria-controls={id}
        onClick={toggle}
      >
        <Icon name={isShown ? "down" : "next"} size={16} />
        {props.title}
      </button>
      <div id={id} hidden={!isShown}>
        {isShown && props.children}
      </div>
    </div>
  );
}
